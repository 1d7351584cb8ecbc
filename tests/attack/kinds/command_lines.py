"""Command lines: flags of the parsers with values that nobody types."""

import argparse
import functools
import itertools
import random
from pathlib import Path

from exporters.commands import main
from tests.attack import materials
from tests.attack.case import FREE, Case
from tests.attack.outcome import Kind, Outcome
from tests.attack.values import number, text

# `setup` fetches programs; `demo` without --output serves a page until it is ended.
LEFT_OUT = ("setup",)
# Real values, so that some command lines get far.
REAL = ("bert", "prado", "rows.tsv", "rows.conll", "export-bert", "export-prado", "squad.json")
WORK = ("export", "train", "ablate", "profile", "ledger")


def line(rng: random.Random, folder: Path) -> Outcome:
    """A command with two to six of its flags, and one of nobody's."""
    case = Case.of("command lines", folder)
    name = rng.choices([*_commands()], [0.3 if command in WORK else 1 for command in _commands()])[0]
    for real in REAL:
        materials.copy(real, case.inputs)
    words: list[str] = [] if name == main.EXPORT and rng.random() < 0.7 else [name]
    for action in rng.sample(_flags(name), min(len(_flags(name)), rng.randint(1, 6))):
        if action.option_strings:
            words.append(rng.choice(action.option_strings))
        if action.nargs == 0:
            continue
        words += [_value(rng, action) for _ in range(rng.choice((1, 1, 1, 1, 0, 2)))]
    if rng.random() < 0.15:
        words.insert(
            rng.randrange(len(words) + 1),
            rng.choice(("--", "-", "--=", "---x", "-x", "--model=", "@file", "", "\udcff")),
        )
    if name == "demo":
        words += ["--output", str(case.output)]
    words = [word for word in words if "\0" not in word]
    encoded = [word.encode("utf-8", "surrogatepass" if "\ud800" in word else "surrogateescape") for word in words]
    # A CI server reads in it why nothing was checked.
    reports = [file for flag, file in itertools.pairwise(words) if name == "check" and flag == "--junit"]
    return case.run(" ".join(words)[:150], encoded, inputs=FREE, reports=reports)


@functools.cache
def _commands() -> tuple[str, ...]:
    return tuple(name for name in main.COMMANDS if name not in LEFT_OUT)


@functools.cache
def _flags(name: str) -> list[argparse.Action]:
    unwanted = ("--debug", "--open", "--adb", "--rebuild")
    return [action for action in main.parser_of(name)._actions if not set(action.option_strings) & set(unwanted)]


def _value(rng: random.Random, action: argparse.Action) -> str:
    choice = rng.random()
    if choice < 0.25 and action.choices:
        return str(rng.choice(list(action.choices)))
    if choice < 0.5:
        return rng.choice((*REAL, "export-bert/model_int8.onnx", "new"))
    if choice < 0.75:
        return str(number(rng))
    return rng.choice(
        (text(rng), "a=b", "=", "0,0", "1,2,3", ":", "top:1", "0:0;", "x" * 5000, "int8", "tflite", "1e999")
    )


KINDS: dict[str, Kind] = {"command lines": line}
SHARES = {"command lines": 4}
