"""`export-mobile android`: its flags and its run. The work is in `exporters/app_code`."""

import argparse
from pathlib import Path

from exporters.app_code.request import AndroidRequest
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS

DESCRIPTION = (
    "Make an export part of an Android app: the files that it needs as assets, a typed Kotlin class, and the Java "
    "library that reads texts. No native code, no NDK. Needs no TensorFlow."
)
EXAMPLES = (
    "export-mobile android export-mobile-out/prado-snips-int8 --package com.example.app --output MyProject/app",
    "export-mobile android out --package com.example.app --class-name Intents --output app --force",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="a folder that an export wrote")
    add("--package", required=True, metavar="NAME", help="Java package of the Kotlin class, such as com.example.app")
    add("--output", type=Path, required=True, metavar="APP", help="folder of the app module, with build.gradle.kts")
    add("--class-name", metavar="NAME", help="name of the Kotlin class (default: of the model, as PradoClassifier)")
    add(
        "--no-library",
        action="store_true",
        help="leave out the Java library, for apps that have the module exportmobile",
    )
    add("--force", action="store_true", help="also replace files that somebody changed or wrote")
    flags.add_json(parser, "the result")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from exporters.app_code.run import android

    result = android(AndroidRequest(**request_values(options, AndroidRequest)))
    if options.json:
        terminal.json(result.to_json())
    else:
        terminal.show(result.lines())
    return EXIT_PASS
