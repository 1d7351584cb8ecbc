"""`AndroidResult`: what was written into an app, and what its owner does next."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

# As in examples/android/gradle/libs.versions.toml, which gives the reason; a test compares them.
LITERT = "com.google.ai.edge.litert:litert:2.1.5"
MIN_SDK = 23
_CALLS = {
    "Classifier": 'classify("play some jazz")',
    "Scorer": 'score("a text")',
    "Tagger": 'tag("wake me at seven")',
    "Answerer": 'answer("Who?", "A passage.")',
}


@dataclass(frozen=True, kw_only=True)
class AndroidResult:
    """`written` and `removed` are paths relative to `output`."""

    output: Path
    package: str
    class_name: str
    kind: str
    pairs: bool
    file: str
    assets: str
    library: bool
    written: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def call(self) -> str:
        """A call of the written class, in Kotlin."""
        call = _CALLS[self.kind]
        if self.pairs and self.kind in ("Classifier", "Scorer"):
            call = call.removesuffix(")") + ', "another text")'
        return f"{self.class_name}(context).use {{ it.{call} }}"

    def lines(self) -> list[str]:
        java = [name for name in self.written if name.endswith(".java")]
        shown = [name for name in self.written if name not in java]
        source = (
            f"library: {len(java)} Java files in {self.output / 'src/main/java/exportmobile'}"
            if self.library
            else "library: not written; the app needs the module exportmobile of examples/android"
        )
        return [
            *(f"wrote {self.output / name}" for name in shown),
            *(f"removed {self.output / name}" for name in self.removed),
            source,
            "next:",
            f'  1. in the dependencies of {self.output}\'s Gradle script: implementation("{LITERT}")',
            f"  2. minSdk {MIN_SDK} or later there, and google() in the repositories of the settings script",
            f"  3. off the main thread: {self.call}",
            "  4. once on a phone: selfTest().passed() must be true",
        ]

    def to_json(self) -> str:
        values = dataclasses.asdict(self) | {"output": str(self.output), "dependency": LITERT, "min_sdk": MIN_SDK}
        return json.dumps(values | {"call": self.call}, indent=2, ensure_ascii=False)
