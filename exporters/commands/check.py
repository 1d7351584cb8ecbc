"""`export-mobile check`: its flags and its run. The work is in `exporters/checking`."""

import argparse
from pathlib import Path

from exporters.checking.request import CheckRequest
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.request import parse_size
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.errors import InputError

DESCRIPTION = (
    "Score model files that were exported before, and fail when they got worse. "
    "Exit codes: 0 pass, 2 bad input, 3 accuracy, 4 size or latency, 6 not the recipe that its name says."
)
EXAMPLES = (
    "export-mobile check model --data dev.tsv --baseline baseline.json --update-baseline",
    "export-mobile check model --data dev.tsv --baseline baseline.json --max-drop 0.5 --max-size 200KB",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", type=Path, metavar="PATH", help="a .tflite or .onnx file, or an export folder with all of its files")
    add("--data", type=Path, metavar="FILE", help=f"{flags.LABELLED_HELP} (default: those of the bundled model)")
    add("--baseline", type=Path, metavar="FILE", help="compare with what an earlier check wrote here")
    add("--update-baseline", action="store_true", help="write --baseline from the files as they are now")
    add("--against", type=Path, metavar="PATH", help="compare with this file or folder instead of a baseline")
    add("--max-drop", type=float, metavar="POINTS", help="most that may be lost beyond chance (default 0)")
    add("--strict", action="store_true", help="judge the bare difference on these rows, chance or not")
    add("--max-size", metavar="SIZE", help="largest file allowed, such as 200KB (1 KB = 1024 bytes)")
    add("--max-latency-ratio", type=float, metavar="N", help="most time allowed, as a multiple of the other's: 1.2")
    flags.add_json(parser, "the result")
    rows = parser.add_argument_group("rows")
    rows.add_argument("--rows", type=int, metavar="N", help="use only the first N rows (default: all)")
    flags.add_columns(rows)
    rows.add_argument(
        "--label-separator", metavar="TEXT", help=f"separator between labels of one row (default {DEFAULT_SEPARATOR})"
    )
    rows.add_argument("--seed", type=int, metavar="N", help="seed for resampling rows (default 0)")
    ci = parser.add_argument_group("for CI servers")
    ci.add_argument("--junit", type=Path, metavar="FILE", help="also write the verdicts as JUnit XML")
    ci.add_argument("--github", action="store_true", help="print annotations and append to the job summary")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    values = request_values(options, CheckRequest)
    if options.max_size is not None:
        values["max_size_bytes"] = parse_size(options.max_size)
    request = CheckRequest(**values)
    if options.junit is not None:
        flags.check_output_file(options.junit, "--junit")
    from exporters.checking import github, junit, text
    from exporters.checking.run import check
    from models_tf.checkpoints.atomic_files import write_files

    try:
        result = check(request, progress=terminal.progress(quiet=options.json, held=True))
    except InputError as error:  # a CI server shows why, too
        message = error.as_written or str(error)
        if options.junit is not None:
            write_files(options.junit.parent, {options.junit.name: junit.not_checked(message).encode()})
        if options.github and not options.json:
            terminal.show(github.not_checked(message))
        raise
    if options.junit is not None:
        write_files(options.junit.parent, {options.junit.name: junit.junit(result).encode()})
    if options.github:
        github.write_summary(result)
    if options.json:
        terminal.json(result.to_json())
    else:
        terminal.show(text.blocks(result))
    if options.github and not options.json:
        terminal.show(github.annotations(result))
    return result.exit_code
