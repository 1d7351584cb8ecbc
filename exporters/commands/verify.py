"""`export-mobile verify`: its flags and its run. The work is in `exporters/integrity`."""

import argparse
import contextlib
import os
from pathlib import Path

from exporters.commands import flags
from exporters.commands.parser import PROGRAM, Parser
from exporters.commands.request_values import request_values
from exporters.console.native_log import quiet_native_output
from exporters.console.terminal import Terminal
from exporters.integrity.request import VerifyRequest
from exporters.integrity.result import VerifyResult

DESCRIPTION = (
    "Check that a folder is what export-mobile wrote: every file of its manifest.json, and no other. "
    "Exit code 0 if it is, 5 if a file is missing, changed or extra, or differs when it is made again."
)
EXAMPLES = (
    "export-mobile verify export-mobile-out/prado-snips-int8",
    "export-mobile verify out --rebuild --json",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="a folder that export, compress or profile wrote")
    add(
        "--rebuild",
        action="store_true",
        help="also make the export again from the request in its report, and compare the bytes (needs [export])",
    )
    flags.add_json(parser, "the result")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = VerifyRequest(**request_values(options, VerifyRequest))
    result = _rebuilt(wanted, options) if wanted.rebuild else _verified(wanted)
    if options.json:
        terminal.json(result.to_json())
    else:
        terminal.show(result.lines())
    if not result.passed:
        terminal.error(PROGRAM, f"expected {wanted.folder} as it was written. Received: {_count(result)}.")
    return result.exit_code


def _verified(wanted: VerifyRequest) -> VerifyResult:
    from exporters.integrity.run import verify

    return verify(wanted)


def _rebuilt(wanted: VerifyRequest, options: argparse.Namespace) -> VerifyResult:
    """An export is heavy: its progress is shown, and what its libraries say is not."""
    from exporters.integrity.run import verify

    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    with quiet_native_output(enabled=not options.debug) as streams, contextlib.closing(Terminal(*streams)) as own:
        return verify(wanted, progress=own.progress(quiet=options.json, held=not options.debug))


def _count(result: VerifyResult) -> str:
    kinds = [problem.kind for problem in result.problems]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
