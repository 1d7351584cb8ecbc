"""The command line: picks the command and turns its outcome into one line and an exit code.

`export-mobile` with flags exports; every other command is named. Each is a module of this package with `DESCRIPTION`,
`EXAMPLES`, `add_arguments(parser)` and `run(options, terminal)`, which returns the exit code or raises. Imports nothing
heavy until the work starts, so that `--help` and usage errors answer at once.
"""

import argparse
import contextlib
import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any, Protocol, cast

from exporters import system_limits
from exporters.commands.parser import PROGRAM, Parser
from exporters.console import interrupt
from exporters.console import terminal as console
from exporters.console.native_log import open_closed_streams, quiet_native_output
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_INPUT, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_PASS, ExportError
from models_tf import extras, limits, registry
from models_tf.errors import InputError, naming_flags
from models_tf.folders import open_folders, temporary

DISTRIBUTION = "export-mobile"
EXPORT = "export"
# In the order of `--help`.
COMMANDS = {
    EXPORT: "the default: export a checkpoint and verify the files",
    "train": "train a model on your own data",
    "compress": "make a BERT checkpoint smaller",
    "ablate": "measure accuracy without each head or layer",
    "profile": "measure what each part of a token model costs",
    "explain": "show which words a token-dropping model keeps",
    "inspect": "show what a .tflite or .onnx file holds and what runtimes do with it",
    "bench": "measure how long model files take, side by side",
    "check": "score shipped files and fail when they got worse",
    "ledger": "run the same rows through every runtime and compare the answers",
    "compare": "compare exports by size, accuracy and latency",
    "android": "make an export part of an Android app",
    "verify": "check that a folder is what an export wrote",
    "demo": "try exported models on a page in the browser, or write that page",
    "setup": "fetch a runtime that other commands use",
    "models": "list the models",
    "clean": "find and remove what killed runs left behind",
    "completion": "print a shell completion script",
}
# These need only the base install.
LIGHT = (
    "android", "bench", "check", "compare", "inspect", "ledger", "verify", "demo", "setup", "models", "clean",
    "completion",
)  # fmt: skip


class Command(Protocol):
    """What the module of a command offers."""

    DESCRIPTION: str
    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: Parser) -> None: ...

    def run(self, options: argparse.Namespace, terminal: Terminal) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code. Changes no signal handler: `exporters/__main__.py` does."""
    open_closed_streams()
    open_folders.forget()
    interrupt.tell_outcome(told=False)
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        try:
            code = _dispatch(arguments)
        except SystemExit as leave:  # argparse after --help
            code = EXIT_PASS if leave.code is None else int(leave.code)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output is gone, as with `| head`
        _drop_stdout()
        return EXIT_PASS
    except KeyboardInterrupt:
        return _fail("interrupted", EXIT_INTERRUPTED, debug)
    except InputError as error:
        return _fail(str(error), EXIT_INPUT, debug)
    except ModuleNotFoundError as error:
        known = extras.explain(error)
        return _unforeseen(error, debug) if known is None else _fail(str(known), EXIT_INPUT, debug)
    except OSError as error:
        _drop_stdout()
        return _fail(_describe(error), EXIT_INPUT, debug)
    except MemoryError:
        return _fail("not enough memory. Try a smaller --max-seq-len.", EXIT_INPUT, debug)
    except ExportError as error:
        return _fail(str(error), error.exit_code, debug)
    except Exception as error:  # noqa: BLE001 - the one place that turns an unforeseen error into a line
        return _unforeseen(error, debug)


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        raise InputError(f"nothing to do: try `{command(EXPORT).EXAMPLES[0]}`, or {PROGRAM} --help.")
    name = EXPORT
    if not arguments[0].startswith("-"):
        name = arguments.pop(0)
        if name not in COMMANDS:
            raise InputError(
                f"Unknown command: expected {', '.join(COMMANDS)}, or flags to export. Received: {name}."
                + registry.nearest(name, tuple(COMMANDS))
            )
    typed = [PROGRAM, *([] if name == EXPORT else [name]), *arguments]
    options = parser_of(name).read(arguments)
    if getattr(options, "version", False):
        return _version()
    options.command = shlex.join(typed)
    limits.check_environment()
    heavy = name not in LIGHT
    if heavy:
        purpose = "An export" if name == EXPORT else f"{PROGRAM} {name}"
        extras.require(extras.EXPORT, purpose)
        system_limits.check(purpose)
        from exporters.console.sockets import import_http_without_a_socket

        import_http_without_a_socket()
    with quiet_native_output(enabled=heavy and not options.debug) as streams:
        terminal = Terminal(*streams)
        with (
            contextlib.closing(terminal),
            temporary.own_place(),
            naming_flags(),
            limits.override(**limits.parse(options.limit)),
        ):
            code = command(name).run(options, terminal)
            interrupt.tell_outcome(told=True)
            return code


def command(name: str) -> Command:
    """The module of a command, imported on demand."""
    return cast("Command", importlib.import_module(f"exporters.commands.{name}"))


def parser_of(name: str) -> Parser:
    """The parser of one command."""
    module = command(name)
    if name != EXPORT:
        parser = Parser(name=name, description=module.DESCRIPTION, examples=module.EXAMPLES)
        _fill(parser, name)
        return parser
    from exporters.commands import export

    others = "\n".join(f"  export-mobile {other:<12} {summary}" for other, summary in COMMANDS.items())
    epilog = f"{export.EPILOG}\ncommands (each has a --help):\n{others}\n\n{export.EXIT_CODES}"
    parser = Parser(description=module.DESCRIPTION, examples=module.EXAMPLES, epilog=epilog)
    _fill(parser, name).add_argument("--version", action="store_true", help="print the version")
    return parser


def _fill(parser: Parser, name: str) -> Any:
    """Adds the flags of a command and the shared ones; returns the group of the latter."""
    command(name).add_arguments(parser)
    return parser.add_help_and_debug()


def _version() -> int:
    from importlib import metadata

    try:
        print(f"{PROGRAM} {metadata.version(DISTRIBUTION)}")
    except metadata.PackageNotFoundError:
        print(f"{PROGRAM} (not installed)")
    for package in ("exporters", "models_tf", "quantize"):
        owners = sorted(set(metadata.packages_distributions().get(package, [])) - {DISTRIBUTION})
        if owners:
            print(
                f"{PROGRAM}: warning: {', '.join(owners)} also owns the import name {package!r}. "
                f"Install {DISTRIBUTION} in an environment of its own.",
                file=sys.stderr,
            )
    return EXIT_PASS


def _describe(error: OSError) -> str:
    place = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{place}. {open_folders.outcome()}"


def _drop_stdout() -> None:
    """Python would otherwise try to flush again at exit, and complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unforeseen(error: Exception, debug: bool) -> int:
    hint = "" if debug else " Run again with --debug for the trace, and please report it."
    return _fail(f"internal error: {type(error).__name__}: {str(error).rstrip('.')}.{hint}", EXIT_INTERNAL, debug)


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        console.show_trace(sys.stderr, traceback.format_exc())
    console.error(sys.stderr, PROGRAM, message)
    return code


if __name__ == "__main__":
    sys.exit(main())
