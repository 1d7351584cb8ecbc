"""Writes the Unicode tables of the Java and the JavaScript tokenizer, as the `tokenizers` package has them.

python tools/generate_tokenizer_tables.py [FOLDER]: the folder of the checkout, this one by default. One text for both
languages, of numbers in base 32; `Characters.java` and `characters.js` read it.
"""

import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tokenizer_properties import Properties, find_properties

JAVA = Path("examples/android/exportmobile/src/main/java/exportmobile/UnicodeTables.java")
JAVASCRIPT = Path("examples/web/tokenizer/unicode_tables.js")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
# A Java constant takes 65,535 bytes; lines of this length keep the files readable for tools that show changes.
_CONSTANT, _LINE = 60_000, 100


def encode(found: Properties) -> str:
    """The sections, in the order in which the readers expect them; each starts with its number of entries."""
    numbers: list[int] = []
    for codes in (
        found.whitespace,
        found.removed,
        found.chinese,
        found.nonspacing,
        found.combining,
        found.punctuation,
        found.word,
    ):
        _add_runs(numbers, dict.fromkeys(codes, 0), values=False)
    single = {code: parts[0] for code, parts in found.lower.items() if len(parts) == 1}
    _add_lower(numbers, single)
    _add_parts(numbers, {code: parts for code, parts in found.lower.items() if len(parts) != 1})
    _add_parts(numbers, {code: parts for code, parts in found.canonical.items() if not _is_syllable(code, parts)})
    _add_parts(numbers, found.compatible)
    _add_runs(numbers, dict.fromkeys(_joined(found), 0), values=False)
    _add_runs(numbers, found.combining_class, values=True)
    _add_runs(numbers, found.grapheme, values=True)
    return "".join(map(_digits, numbers))


def _joined(found: Properties) -> list[int]:
    """Those that the readers make of what is before the last part and of that part; not syllables, by arithmetic."""
    codes = [code for code in found.composed if not _is_syllable(code, found.canonical[code])]
    pairs: dict[tuple[int, int], int] = {}
    for code in sorted(codes, key=lambda code: len(found.canonical[code])):
        first, *between, last = found.canonical[code]
        for part in between:
            first = pairs[first, part]
        if pairs.setdefault((first, last), code) != code:
            message = f"U+{code:04X} must be made of two that no other is made of."
            raise AssertionError(message)
    return codes


def _digits(number: int) -> str:
    text = ""
    while number >= 32:
        text += _DIGITS[32 + (number & 31)]
        number >>= 5
    return text + _DIGITS[number]


def _signed(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def _add_runs(numbers: list[int], table: Mapping[int, int], *, values: bool) -> None:
    """Runs of equal values: the distance from the end of the last run, the length less 1, the value."""
    runs: list[list[int]] = []
    for code in sorted(table):
        if runs and code == runs[-1][1] + 1 and table[code] == runs[-1][2]:
            runs[-1][1] = code
        else:
            runs.append([code, code, table[code]])
    numbers.append(len(runs))
    end = 0
    for first, last, value in runs:
        numbers += [first - end, last - first, *([value] if values else [])]
        end = last + 1


def _add_lower(numbers: list[int], table: Mapping[int, int]) -> None:
    """Runs in steps of 1 or 2 with one distance to the small letter."""
    runs: list[list[int]] = []
    for code in sorted(table):
        distance = table[code] - code
        if runs and distance == runs[-1][3]:
            first, last, step, _ = runs[-1]
            if code - last == step or (first == last and code - last == 2):
                runs[-1][1:3] = [code, code - last]
                continue
        runs.append([code, code, 1, distance])
    numbers.append(len(runs))
    end = 0
    for first, last, step, distance in runs:
        numbers += [first - end, (last - first) // step, step, _signed(distance)]
        end = last


def _add_parts(numbers: list[int], table: Mapping[int, tuple[int, ...]]) -> None:
    """What a code point becomes: the distance from the last one, the number of parts, each as a difference."""
    numbers.append(len(table))
    end = 0
    for code in sorted(table):
        numbers += [code - end, len(table[code])]
        last = code
        for part in table[code]:
            numbers.append(_signed(part - last))
            last = part
        end = code


def _is_syllable(code: int, parts: tuple[int, ...]) -> bool:
    """Whether the parts are those that arithmetic gives for a Hangul syllable; the readers compute them."""
    number = code - 0xAC00
    if not 0 <= number < 11172:
        return False
    expected = (0x1100 + number // 588, 0x1161 + number % 588 // 28, 0x11A7 + number % 28)
    if parts != expected[: 3 if number % 28 else 2]:
        message = f"U+{code:04X} must be decomposed by arithmetic. Received: {parts}."
        raise AssertionError(message)
    return True


def java_source(text: str) -> str:
    """A class of string constants."""
    constants = []
    for start in range(0, len(text), _CONSTANT):
        lines = _lines(text[start : start + _CONSTANT])
        constants.append("    out.append(\n        " + "\n            + ".join(f'"{line}"' for line in lines) + ");\n")
    return (
        f"// Written by tools/generate_tokenizer_tables.py from tokenizers {version('tokenizers')}; do not edit.\n"
        "package exportmobile;\n\n"
        "/** Unicode tables as the `tokenizers` package has them, in base 32; {@link Characters} reads them. */\n"
        "final class UnicodeTables {\n"
        "  private UnicodeTables() {}\n\n"
        "  static String text() {\n"
        f"    StringBuilder out = new StringBuilder({len(text)});\n"
        f"{''.join(constants)}"
        "    return out.toString();\n"
        "  }\n"
        "}\n"
    )


def javascript_source(text: str) -> str:
    """A module with one string."""
    joined = " +\n  ".join(f'"{line}"' for line in _lines(text))
    return (
        f"// Written by tools/generate_tokenizer_tables.py from tokenizers {version('tokenizers')}; do not edit.\n"
        "// Unicode tables as the `tokenizers` package has them, in base 32; characters.js reads them.\n"
        f"export const UNICODE_TABLES =\n  {joined};\n"
    )


def _lines(text: str) -> Iterable[str]:
    return [text[start : start + _LINE] for start in range(0, len(text), _LINE)]


def main(folder: Path) -> None:
    text = encode(find_properties())
    for path, source in ((JAVA, java_source(text)), (JAVASCRIPT, javascript_source(text))):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(source)
        sys.stdout.write(f"{path}: {len(source)} bytes\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
