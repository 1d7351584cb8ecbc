"""The command: `export-mobile` with options exports; `train` and `models` are subcommands.

Turns every outcome into one line and an exit code (`--debug` shows the trace). Imports nothing heavy until the
work starts, so that `--help` and usage errors answer at once. Leaves out what an export does: `pipeline.py`.
"""

import argparse
import contextlib
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from exporters import request
from exporters.commands import compression_flags as compression
from exporters.console.native_log import open_closed_streams, quiet_native_output
from exporters.console.progress import Progress
from exporters.errors import EXIT_INPUT, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_PASS, ExportError
from models_tf import extras, registry
from models_tf.errors import InputError
from models_tf.folders import open_folders
from models_tf.folders.output_folder import check_free
from quantize import recipe as recipes

PROGRAM = "export-mobile"
DISTRIBUTION = "export-mobile"
EXAMPLE = "export-mobile --model prado --quantize int8"

_RECIPES = "\n".join(f"  {entry.name:<13} {entry.description}" for entry in recipes.RECIPES.values())
_EPILOG = f"""\
recipes of --quantize:
{_RECIPES}

example:
  {EXAMPLE}

other commands:
  export-mobile models            list the models
  export-mobile train --help      train one on your own data
  export-mobile profile --help    what each part of a token model costs
  export-mobile compress --help   make a BERT checkpoint smaller
  export-mobile ablate --help     accuracy without each head or layer
  export-mobile explain --help    which words a model that drops tokens keeps

exit codes:
  0 pass   1 internal error   2 usage or bad input
  3 accuracy (--max-drop)   4 size (--max-size)   5 parity   6 scheme not reached
  The files and the report are written for 3 to 6 too; nothing is written for 1 and 2.
"""


class _Parser(argparse.ArgumentParser):
    """Usage errors are one line."""

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith(("?", ".")) else "."
        raise InputError(f"{message}{end} See {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command; returns the exit code."""
    open_closed_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        try:
            code = _dispatch(arguments)
        except SystemExit as leave:  # argparse after --help
            code = EXIT_PASS if leave.code is None else int(leave.code)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        _drop_stdout()
        return EXIT_PASS
    except KeyboardInterrupt:
        return _fail("interrupted", EXIT_INTERRUPTED, debug)
    except InputError as error:
        return _fail(str(error), EXIT_INPUT, debug)
    except ModuleNotFoundError as error:
        known = extras.explain(error)
        if known is None:
            return _unforeseen(error, debug)
        return _fail(str(known), EXIT_INPUT, debug)
    except OSError as error:
        _drop_stdout()
        return _fail(_describe(error), EXIT_INPUT, debug)
    except MemoryError:
        return _fail("not enough memory. Try a smaller --max-seq-len.", EXIT_INPUT, debug)
    except ExportError as error:
        return _fail(str(error), error.exit_code, debug)
    except Exception as error:  # noqa: BLE001 - the one place where an unforeseen error becomes a line for the user
        return _unforeseen(error, debug)


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        raise InputError(f"nothing to do: try `{EXAMPLE}`, or {PROGRAM} --help.")
    command = arguments[0]
    if not command.startswith("-"):
        if command not in _COMMANDS:
            names = tuple(_COMMANDS)
            raise InputError(
                f"Unknown command: expected {', '.join(names)}, or options to export. Received: {command}."
                + registry.nearest(command, names)
            )
        return _COMMANDS[command](arguments[1:])
    return _export(arguments)


def _export(arguments: list[str]) -> int:
    parser = _export_parser()
    options = _parse(parser, arguments)
    if options.version:
        return _version()
    wanted = _request(options)
    extras.require(extras.EXPORT, "An export")
    check_free(wanted.output_folder, force=wanted.force, inputs=wanted.inputs)
    # An export runs small graphs once or twice: a GPU only costs time to start.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    with quiet_native_output(enabled=not options.debug) as (stdout, stderr):
        progress = Progress(stream=stderr, quiet=options.json, held=not options.debug)
        progress.line(f"{PROGRAM} {wanted.quantize} for {', '.join(wanted.target)}, into {wanted.output_folder}")
        from exporters.pipeline import export

        report = export(wanted, progress=progress, command=shlex.join([PROGRAM, *arguments]))
        with contextlib.suppress(BrokenPipeError):  # nobody reads: the exit code still tells
            stdout.write(report.to_json() + "\n" if options.json else report.summary())
            stdout.flush()
        for failure in report.failures:
            stderr.write(f"{PROGRAM}: {failure.gate} gate failed: {failure.message}\n")
        return report.exit_code


def _subcommand(name: str, module: str) -> Callable[[list[str]], int]:
    """A command whose flags, description and work are in a module that is imported when it is called."""

    def run(arguments: list[str]) -> int:
        command = importlib.import_module(module)
        parser = _Parser(prog=f"{PROGRAM} {name}", description=command.DESCRIPTION, allow_abbrev=False)
        command.add_arguments(parser)
        parser.add_argument("--debug", action="store_true", help="show the trace of an error")
        options = _parse(parser, arguments)
        extras.require(extras.EXPORT, f"{PROGRAM} {name}")
        options.command = shlex.join([PROGRAM, name, *arguments])
        with quiet_native_output(enabled=not options.debug) as (stdout, stderr):
            return int(command.run(options, stdout, stderr))

    return run


def _models(arguments: list[str]) -> int:
    parser = _Parser(prog=f"{PROGRAM} models", description="List the models.", allow_abbrev=False)
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    _parse(parser, arguments)
    for entry in registry.MODELS.values():
        tasks = f" (bundled: {', '.join(entry.tasks)})" if entry.tasks else ""
        print(f"{entry.name:<12} {entry.summary}{tasks}")
    return EXIT_PASS


# How the command shows things, and the text of a size: the request has neither.
_NOT_OF_REQUEST = ("json", "debug", "version", "max_size")

_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "train": _subcommand("train", "exporters.commands.train"),
    "compress": _subcommand("compress", "exporters.commands.compress"),
    "ablate": _subcommand("ablate", "exporters.commands.ablate"),
    "profile": _subcommand("profile", "exporters.commands.profile"),
    "explain": _subcommand("explain", "exporters.commands.explain"),
    "models": _models,
}


def _export_parser() -> _Parser:
    parser = _Parser(
        prog=PROGRAM,
        description="Export a text model for phones, quantize it, and verify the files.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--model", metavar="NAME", help=f"{', '.join(registry.MODELS)} (default {request.DEFAULT_MODEL})")
    add(
        "--task",
        metavar="NAME",
        help=f"which bundled model: {', '.join(registry.MODELS['prado'].tasks)}; or what a token model does: "
        f"{', '.join(request.TOKEN_TASKS)} (default: what its head says)",
    )
    add(
        "--checkpoint",
        type=Path,
        metavar="DIR",
        help="a folder that `export-mobile train` wrote; for token models a Hugging Face folder or hub id too",
    )
    add("--random-init", action="store_true", help="token models: untrained weights, for size and speed work")
    add("--preset", metavar="NAME", help=f"sizes of --random-init, the first by default: {registry.presets()}")
    add(
        "--quantize",
        default=request.DEFAULT_RECIPE,
        metavar="RECIPE",
        help=f"{', '.join(recipes.RECIPES)} (default int8)",
    )
    add("--target", default=",".join(request.TARGETS), metavar="LIST", help="tflite,onnx (default both)")
    add("--eval-data", type=Path, metavar="FILE", help="labelled rows (.tsv .csv .jsonl, or .gz of them) for accuracy")
    add("--eval-rows", type=int, metavar="N", help="measure on the first N rows only (default: on all)")
    add("--calibration-data", type=Path, metavar="FILE", help="rows for int8 ranges (default: a part of --eval-data)")
    add("--text-column", metavar="NAME", help="column with the text (default text, sentence or utterance)")
    add("--text-pair-column", metavar="NAME", help="column with the second text of sentence pairs, for token models")
    add("--label-column", metavar="NAME", help="column with the label (default label, intent, class or category)")
    add(
        "--label-separator",
        default=request.DEFAULT_SEPARATOR,
        metavar="TEXT",
        help="between labels of multi-label rows (default |)",
    )
    add(
        "--max-seq-len", type=int, metavar="N", help="tokens of the exported graph (default: as trained here, else 128)"
    )
    add("--fold", default="full", metavar="MODE", help=f"token models, exact rewrites: {', '.join(request.FOLDS)}")
    add("--no-fold", dest="fold", action="store_const", const="off", help="the same as --fold off")
    add(
        "--output",
        type=Path,
        metavar="DIR",
        help=f"folder to write (default {request.OUTPUT_ROOT}/MODEL-TASK_OR_CHECKPOINT-RECIPE)",
    )
    add("--force", action="store_true", help="replace an output folder that an export wrote before")
    add("--json", action="store_true", help="print the report as JSON, and nothing else")
    add("--seed", type=int, default=0, metavar="N", help="of calibration rows and random choices (default 0)")
    add("--max-size", metavar="SIZE", help="gate: no model file larger, such as 200KB (of 1024)")
    add("--max-drop", type=float, metavar="POINTS", help="gate: accuracy lost by quantization, such as 0.5")
    add("--debug", action="store_true", help="show the trace of an error, and what the libraries print")
    add("--version", action="store_true", help="print the version")
    group = parser.add_argument_group("BERT, made smaller before it is exported (see export-mobile compress)")
    compression.add_compression(group)
    group.add_argument(
        "--importance-data",
        type=Path,
        metavar="FILE",
        help="labelled rows to choose by (default: --calibration-data; never those of --eval-data)",
    )
    return parser


def _parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        flags = tuple(parser._option_string_actions)  # noqa: SLF001 - argparse has no public list of its flags
        parser.error(f"Unknown argument. Received: {unknown[0]}.{registry.nearest(unknown[0], flags)}")
    return options


def _request(options: argparse.Namespace) -> request.ExportRequest:
    left_out = (*_NOT_OF_REQUEST, *compression.FLAGS)
    values = {name: value for name, value in vars(options).items() if name not in left_out}
    values["compression"] = compression.from_args(options) if compression.is_given(options) else None
    values["vocab_data"] = tuple(options.vocab_data or ())
    values["target"] = request.parse_targets(options.target)
    values["max_size_bytes"] = None if options.max_size is None else request.parse_size(options.max_size)
    return request.ExportRequest(**values)


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
    """What could not be written would be tried again, and complained about, when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unforeseen(error: Exception, debug: bool) -> int:
    hint = "" if debug else " Run again with --debug for the trace, and please report it."
    return _fail(f"internal error: {type(error).__name__}: {str(error).rstrip('.')}.{hint}", EXIT_INTERNAL, debug)


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    line = " ".join(message.split())  # a library's message may have several lines
    with contextlib.suppress(BrokenPipeError, ValueError):
        print(f"{PROGRAM}: {line}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
