"""Tables of the docs from what `peers.py` wrote: all files, the floor, ratios, and int8 of BERT beside plain tools.

    python benchmarks/peer_table.py RESULT PAGE...

Each PAGE gets the tables that it has a place for, between `<!-- peers: NAME -->` and `<!-- end: NAME -->`.
"""

import argparse
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

OURS = "export-mobile"
LENGTHS = ("16", "64", "128")
# The length that ratios are taken at.
AT = "64"
# Standard errors below float32 at which a file still counts as accurate.
ACCURATE = (0.5, 1.0)

Document = dict[str, Any]
File = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("pages", type=Path, nargs="+")
    options = parser.parse_args()
    document = json.loads(options.result.read_text(encoding="utf-8"))
    for page in options.pages:
        page.write_text(fill(page.read_text(encoding="utf-8"), document), encoding="utf-8")


def fill(page: str, document: Document) -> str:
    """The page with its tables made anew."""
    for name, make in TABLES.items():
        begin, end = f"<!-- peers: {name} -->\n", f"<!-- end: {name} -->"
        lines = "".join(f"{line}\n" for line in make(document))
        page = re.sub(
            f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, t=begin + lines + end: t, page, flags=re.DOTALL
        )
    return page


def _file(document: Document, tool: str, runtime: str, recipe: str) -> File | None:
    wanted = {"tool": tool, "runtime": runtime, "recipe": recipe}
    return next((file for file in document["files"] if wanted.items() <= file.items()), None)


def _ms(entry: dict[str, Any], at: str) -> float:
    return float(entry["latency_ms"][at]["median"])


def _shown(found: dict[str, float]) -> str:
    return f"{found['median']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def _table(head: str, rows: list[list[str]]) -> list[str]:
    columns = [word.strip() for word in head.split("|")]
    lines = [f"| {' | '.join(cells)} |" for cells in (columns, *rows)]
    return [lines[0], "|" + "---|" * len(columns), *lines[1:]]


def files(document: Document) -> list[str]:
    head = f"made by | runtime | recipe | bytes | right of {document['rows']} | as PyTorch | 16 tokens | 64 tokens"
    rows = []
    for file in document["files"]:
        tool = f"**{OURS}**" if file["tool"] == OURS else file["tool"]
        shown = [_shown(file["latency_ms"][at]) for at in (*LENGTHS, "real")]
        shown[-1] += "" if file["any_length"] else ", padded"
        rows.append([tool, file["runtime"], file["recipe"], f"{file['size_bytes']:,}", str(file["right"])])
        rows[-1] += [str(file["agreement"]), *shown]
    lines = _table(f"{head} | 128 tokens | real lengths", rows)
    return lines + [
        f"\nLeft out: {entry['tool']}, {entry['recipe']}: {entry['reason']}" for entry in document["left_out"]
    ]


def floor(document: Document) -> list[str]:
    rows = []
    for entry in document["floor"]:
        file = _file(document, OURS, entry["runtime"], entry["recipe"])
        share = [f"{_ms(entry, at) / _ms(file, at):.2f}" if file else "" for at in LENGTHS]
        rows.append([entry["runtime"], entry["recipe"], *(_shown(entry["latency_ms"][at]) for at in LENGTHS), *share])
    head = " | ".join(f"{at} tokens" for at in LENGTHS) + " | " + " | ".join(f"share at {at}" for at in LENGTHS)
    return _table(f"runtime | recipe | {head}", rows)


def accurate(document: Document, errors: float) -> int:
    """How many rows a file has right that is at most so many standard errors below float32."""
    base = next(file for file in document["files"] if file["recipe"] == "float32")
    return math.ceil(base["right"] - errors * base["standard_error"] / 100 * document["rows"])


def best(document: Document, *, ours: bool, right: int, at: str = AT) -> File | None:
    """The fastest file with at least so many rows right."""
    found = [file for file in document["files"] if (file["tool"] == OURS) == ours and file["right"] >= right]
    return min(found, key=lambda file: _ms(file, at), default=None)


def ratios(document: Document) -> list[tuple[str, float]]:
    """What is compared -> ratio of the medians. What was not measured is left out."""
    found = []
    for runtime in ("LiteRT", "ONNX Runtime"):
        base = _file(document, OURS, runtime, "float32")
        for recipe in ("int8-dynamic", "int4", "int8"):
            file = _file(document, OURS, runtime, recipe)
            if file and base:
                found.append((f"{runtime}: {recipe} / float32, {AT} tokens", _ms(file, AT) / _ms(base, AT)))
        products = {entry["recipe"]: _ms(entry, AT) for entry in document["floor"] if entry["runtime"] == runtime}
        if {"int8", "float32"} <= products.keys():
            name = f"{runtime}: products alone, int8 / float32, {AT} tokens"
            found.append((name, products["int8"] / products["float32"]))
    ours = _file(document, OURS, "ONNX Runtime", "int8-dynamic")
    for tool in ("quantize_dynamic", "quantize_dynamic, tuned"):
        peer = _file(document, tool, "ONNX Runtime", "int8-dynamic")
        if ours and peer:
            found.append((f"ONNX Runtime: int8-dynamic / {tool}, {AT} tokens", _ms(ours, AT) / _ms(peer, AT)))
    for errors in ACCURATE:
        limit = accurate(document, errors)
        for at, where in ((AT, f"{AT} tokens"), ("real", "real lengths")):
            mine, theirs = (best(document, ours=own, right=limit, at=at) for own in (True, False))
            if mine and theirs:
                name = f"best of ours / best peer, at least {limit} right, {where}: {_name(mine)} / {_name(theirs)}"
                found.append((name, _ms(mine, at) / _ms(theirs, at)))
    for runtime in ("LiteRT", "ONNX Runtime"):
        file = _file(document, OURS, runtime, "int8")
        if file:
            found.append(
                (f"{runtime}: int8, real lengths / {LENGTHS[-1]} tokens", _ms(file, "real") / _ms(file, LENGTHS[-1]))
            )
    return found


def _name(file: File) -> str:
    return ", ".join((file["tool"], file["runtime"], file["recipe"]))


def shown_ratios(document: Document) -> list[str]:
    return _table("what | ratio", [[name, f"{value:.2f}"] for name, value in ratios(document)])


def int8(document: Document) -> list[str]:
    """Ours and plain tools; time against our float32 file in the same runtime."""
    rows = []
    tools = (OURS, "TFLiteConverter", "ai-edge-quantizer", "quantize_dynamic", "quantize_static")
    for runtime in ("LiteRT", "ONNX Runtime"):
        base = _file(document, OURS, runtime, "float32")
        for recipe in ("float32", "int8-dynamic", "int8"):
            for file in filter(None, (_file(document, tool, runtime, recipe) for tool in tools)):
                strong = "**" if file["tool"] == OURS and recipe == "int8" else ""
                right = f"{strong}{file['right']}{strong} ({file['accuracy']:.2f} %)"
                ratio = f"{_ms(file, AT) / _ms(base, AT):.2f}" if base else ""
                size = f"{file['size_bytes']:,}"
                rows.append([runtime, recipe, file["tool"], size, right, str(file["agreement"]), ratio])
    head = f"runtime | recipe | made by | bytes | rows right of {document['rows']} | same answer as PyTorch"
    return _table(f"{head} | time against float32", rows)


TABLES: dict[str, Callable[[Document], list[str]]] = {
    "files": files,
    "floor": floor,
    "ratios": shown_ratios,
    "int8": int8,
}


if __name__ == "__main__":
    main()
