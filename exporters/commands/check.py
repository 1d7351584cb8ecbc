"""`export-mobile check`: its flags and its run. The work is in `exporters/checking`."""

import argparse
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from exporters.arch_check.request import ARCHES, CheckArchRequest
from exporters.checking.request import CheckRequest
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.request_choices import parse_size
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.errors import InputError

if TYPE_CHECKING:
    from exporters.arch_check.result import CheckArchResult
    from exporters.checking.result import CheckResult
    from exporters.report.tables import Table

DESCRIPTION = (
    "Score model files that were exported before, and fail when they got worse. "
    "With --arch, compare the answers of an emulated phone processor with this machine's. "
    "Exit codes: 0 pass, 2 bad input, 3 accuracy, 4 size, latency or instructions, 5 other answers on --arch, "
    "6 not the recipe that its name says."
)
EXAMPLES = (
    "export-mobile check model --data dev.tsv --baseline baseline.json --update-baseline",
    "export-mobile check model --data dev.tsv --baseline baseline.json --max-drop 0.5 --max-size 200KB",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", type=Path, metavar="PATH", help="a .tflite or .onnx file, or an export folder with all of its files")
    default = "(default: those of the bundled model; with --arch those of examples.json)"
    add("--data", type=Path, metavar="FILE", help=f"{flags.LABELLED_HELP} {default}")
    add("--baseline", type=Path, metavar="FILE", help="compare with what an earlier check wrote here")
    add("--update-baseline", action="store_true", help="write --baseline from the files as they are now")
    add("--against", type=Path, metavar="PATH", help="compare with this file or folder instead of a baseline")
    add("--max-drop", type=float, metavar="POINTS", help="most that may be lost beyond chance (default 0)")
    add("--strict", action="store_true", help="judge the bare difference on these rows, chance or not")
    add("--max-size", metavar="SIZE", help="largest file allowed, such as 200KB (1 KB = 1024 bytes)")
    add("--max-latency-ratio", type=float, metavar="N", help="most time allowed, as a multiple of the other's: 1.2")
    flags.add_json(parser, "the result")
    processor = parser.add_argument_group("on another processor, in an emulator (export-mobile setup arm64)")
    processor.add_argument(
        "--arch", metavar="NAME", help=f"run the files on {', '.join(ARCHES)}; rows of --data, else of examples.json"
    )
    processor.add_argument(
        "--max-instruction-ratio",
        type=float,
        metavar="N",
        help="most instructions of an inference, as a multiple of the baseline's (default 1.05)",
    )
    rows = parser.add_argument_group("rows")
    rows.add_argument("--rows", type=int, metavar="N", help="use only the first N rows (default: all)")
    flags.add_columns(rows)
    rows.add_argument(
        "--label-separator", metavar="TEXT", help=f"separator between labels of one row (default {DEFAULT_SEPARATOR})"
    )
    flags.add_label_threshold(rows)
    rows.add_argument("--seed", type=int, metavar="N", help="seed for resampling rows (default 0)")
    ci = parser.add_argument_group("for CI servers")
    ci.add_argument("--junit", type=Path, metavar="FILE", help="also write the verdicts as JUnit XML")
    ci.add_argument("--github", action="store_true", help="print annotations and append to the job summary")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    if options.junit is not None:
        flags.check_output_file(options.junit, "--junit")
    if options.arch is not None:
        return _run_arch(options, terminal)
    if options.max_instruction_ratio is not None:
        raise InputError("--max-instruction-ratio counts on another processor: give --arch. Received: none.")
    values = request_values(options, CheckRequest)
    if options.max_size is not None:
        values["max_size_bytes"] = parse_size(options.max_size)
    request = CheckRequest(**values)
    from exporters.checking import github, junit, text
    from exporters.checking.run import check

    with _told(options, terminal):
        result = check(request, progress=terminal.progress(quiet=options.json, held=True))
    return _show(
        options,
        terminal,
        result,
        junit=lambda: junit.junit(result),
        markdown=lambda: text.markdown(result),
        blocks=lambda: text.blocks(result),
        annotations=lambda: github.annotations(result),
    )


def _run_arch(options: argparse.Namespace, terminal: Terminal) -> int:
    for name in ("against", "max_drop", "strict", "max_size", "max_latency_ratio", "label_threshold", "seed"):
        if getattr(options, name) not in (None, False):
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} judges scores, which --arch does not measure. Received: both.")
    request = CheckArchRequest(**request_values(options, CheckArchRequest))
    from exporters.arch_check import text
    from exporters.arch_check.run import check_arch
    from exporters.checking import github, junit

    with _told(options, terminal):
        result = check_arch(request, progress=terminal.progress(quiet=options.json, held=True))
    headlines = {file.name: text.headline(file) for file in result.files}
    return _show(
        options,
        terminal,
        result,
        junit=lambda: junit.document(text.junit_cases(result)),
        markdown=lambda: text.markdown(result),
        blocks=lambda: text.blocks(result),
        annotations=lambda: github.lines_of(result, headlines, result.notes),
    )


@contextlib.contextmanager
def _told(options: argparse.Namespace, terminal: Terminal) -> Iterator[None]:
    """A CI server shows why a check could not run, too."""
    from exporters.checking import github, junit

    try:
        yield
    except InputError as error:
        message = error.as_written or str(error)
        if options.junit is not None:
            _write(options.junit, junit.not_checked(message))
        if options.github and not options.json:
            terminal.commands([github.not_checked(message)])
        raise


def _show(
    options: argparse.Namespace,
    terminal: Terminal,
    result: "CheckResult | CheckArchResult",
    *,
    junit: Callable[[], str],
    markdown: Callable[[], str],
    blocks: "Callable[[], list[str | Table]]",
    annotations: Callable[[], list[str]],
) -> int:
    from exporters.checking import github

    if options.junit is not None:
        _write(options.junit, junit())
    if options.github:
        github.write_text(markdown())
    if options.json:
        terminal.json(result.to_json())
    else:
        terminal.show(blocks())
    if options.github and not options.json:
        terminal.commands(annotations())
    return result.exit_code


def _write(path: Path, text: str) -> None:
    from models_tf.checkpoints.atomic_files import write_files

    write_files(path.parent, {path.name: text.encode()})
