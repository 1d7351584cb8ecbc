"""An mkdocs hook that makes pages of the documentation site from other files (see mkdocs.yml).

README, CHANGELOG, CONTRIBUTING and SECURITY become pages; so do the examples, the measurements in docs/results and the
public names of `exporters`. The schema of the report is published as it is. Links between files become links between
pages. Writes nothing into docs/.
"""

import json
import re
from pathlib import Path
from typing import Any

import exporters

ROOT = Path(__file__).parents[1]
COPIED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LANGUAGES = {".py": "python", ".kt": "kotlin", ".cc": "cpp", ".txt": "cmake"}
SCHEMAS = "exporters/report/schema"
NO_COMMAND = "see the page that shows it"


def on_files(files: Any, config: Any) -> Any:
    """Adds our pages to the list of mkdocs."""
    from mkdocs.structure.files import File

    pages = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in COPIED.items()}
    pages |= {"examples.md": examples(), "results.md": results(), "api.md": api()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=page_links(text)))
    for path in sorted((ROOT / SCHEMAS).glob("*.json")):
        files.append(File.generated(config, f"schema/{path.name}", content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return page_links(markdown)


def page_links(text: str) -> str:
    """Turns links between files of the repository into links between pages."""
    text = re.sub(r"\]\((?:\.\./)?examples[^)#]*\)", "](examples.md)", text)
    for source, page in COPIED.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(source)}", f"]({page}", text)
    return text.replace("](docs/", "](").replace(f"](../{SCHEMAS}/", "](schema/")


def examples() -> str:
    """Every example in full."""
    parts = ["# Examples", "The files of `examples/` in the repository."]
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in LANGUAGES:
            code = path.read_text(encoding="utf-8").rstrip()
            parts += [f"## {path.relative_to(ROOT / 'examples')}", f"```{LANGUAGES[path.suffix]}\n{code}\n```"]
    return "\n\n".join(parts) + "\n"


def results() -> str:
    """The measurements and the commands that made them."""
    lines = [
        "# Results",
        "",
        "What the figures on these pages come from. Tests compare the pages with these files.",
        "",
        "| file | made by |",
        "|---|---|",
    ]
    for path in sorted((ROOT / "docs/results").glob("*.json")):
        command = json.loads(path.read_text(encoding="utf-8")).get("command")
        lines.append(f"| [{path.name}](results/{path.name}) | {f'`{command}`' if command else NO_COMMAND} |")
    return "\n".join(lines) + "\n"


def api() -> str:
    """The public names with their docstrings: functions first, then what they take and raise."""
    names = sorted(exporters.__all__, key=lambda name: (not name[0].islower(), name))
    entries = "\n\n".join(f"::: exporters.{name}" for name in names)
    return (
        "# Python API\n\nEach command is a function that takes a request, whose fields are the command's flags: "
        "`from exporters import ExportRequest, export`.\n\n" + entries + "\n"
    )
