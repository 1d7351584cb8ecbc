"""`export-mobile compare`: its flags and its run. The work is in `exporters/comparison`."""

import argparse
import os
from pathlib import Path

from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.comparison.request import CompareRequest
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.request_choices import parse_size, parse_targets
from models_tf.checkpoints.atomic_files import write_files
from models_tf.errors import InputError
from models_tf.folders.output_folder import absolute
from models_tf.folders.output_path import check_path

DESCRIPTION = (
    "Compare exports: size, accuracy with its interval and latency of every file, the frontier, and the picks."
)
EXAMPLES = (
    "export-mobile compare export-mobile-out/*",
    "export-mobile compare small large --max-size 200KB --format html --output compare.html",
)
FORMATS = ("table", "markdown", "html", "json")


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("reports", nargs="+", type=Path, metavar="REPORT_OR_DIR", help="export folders, or their report.json")
    add("--format", choices=FORMATS, help="what to write (default: table, or by the ending of --output)")
    add("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    add("--output", type=Path, metavar="FILE", help="write to a file in place of the terminal")
    add("--force", action="store_true", help="replace FILE if it exists")
    limits = parser.add_argument_group("limits of the picks")
    limits.add_argument("--max-size", metavar="SIZE", help="largest file, such as 200KB (1 KB = 1024 bytes)")
    limits.add_argument("--max-latency", dest="max_latency_ms", type=float, metavar="MS", help="longest time of a row")
    limits.add_argument("--min-accuracy", type=float, metavar="POINTS", help="lowest accuracy, such as 90")
    limits.add_argument("--target", metavar="LIST", help="compare only files of these formats, such as tflite")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    values = request_values(options, CompareRequest)
    values["max_size_bytes"] = None if options.max_size is None else parse_size(options.max_size)
    values["target"] = parse_targets(options.target or "")
    wanted, form = CompareRequest(**values), _form(options.format, options.output)
    if options.output is not None:
        _check_output(options.output, force=options.force)
    elif form == "html":
        raise InputError("--format html is a file: give --output FILE. Received: none.")
    from exporters.comparison.run import compare

    found = compare(wanted)
    if form == "table" and options.output is None:
        from exporters.comparison.text import blocks

        terminal.show(blocks(found))
        return EXIT_PASS
    content = {"table": found.summary, "markdown": found.to_markdown, "html": found.to_html, "json": found.to_json}
    text = content[form]().rstrip("\n") + "\n"
    if options.output is None:
        show = terminal.json if form == "json" else terminal.show
        show(text.removesuffix("\n"))
        return EXIT_PASS
    output = absolute(options.output)
    write_files(output.parent, {output.name: text.encode(errors="backslashreplace")})
    for note in found.notes:
        terminal.note(f"note: {note}")
    terminal.show(f"written: {options.output}")
    return EXIT_PASS


def _form(given: str | None, output: Path | None) -> str:
    endings = {".md": "markdown", ".html": "html", ".htm": "html", ".json": "json"}
    return given or (endings.get(output.suffix.lower(), "table") if output is not None else "table")


def _check_output(output: Path, *, force: bool) -> None:
    check_path(output)
    if output.is_dir():
        raise InputError(f"--output of compare is a file. Received: {output}, a folder.")
    if not output.parent.is_dir():
        raise InputError(f"--output must lie in a folder that exists. Received: {output}.")
    if os.path.lexists(output) and not force:
        raise InputError(f"{output} exists. Use --force to replace it, or choose another --output.")
