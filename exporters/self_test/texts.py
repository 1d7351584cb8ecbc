"""The texts of examples.json: rows of the data, and six that are hard to read."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

COUNT = 16
# Where an example comes from; the hard ones say what is hard about them.
DATA, PLAIN, GENERATED = "data", "plain", "generated"
# Longer rows would make the file of an app large.
LONGEST = 4000
_LONG_SENTENCE = ("the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "and", "does", "not", "stop")
_HARD = {
    "empty": "",
    "accents": "Où est le café à São Paulo? Ça coûte 5 €, naïve Zoë.",
    "emoji": "😀 great 👍🏽 日本語 🎵",
    "upper case": "PLAY THE NEW SONG BY ABBA NOW!!!",
    "digits": "call 555-0199 at 7:45 on 12/31/2026 for $1,234.50",
}
_LONG = "very long"
# For models without data, or with few rows.
_PLAIN = (
    "What a lovely film!",
    "will it rain in Boston tomorrow",
    "book a table for two at seven",
    "play some jazz, please",
    "Nobody liked it.",
    "where is the next station",
    "add this song to my running list",
    "the service was slow and the food was cold",
    "wake me up at six",
    "a quiet place with a view",
)
_ROWS = COUNT - len(_HARD) - 1
SECOND = "It is in the second text, after the first one."


def hard(max_seq_len: int) -> dict[str, str]:
    """By what is hard about them; the long one does not fit into the model."""
    words = itertools.islice(itertools.cycle(_LONG_SENTENCE), max_seq_len + len(_LONG_SENTENCE))
    return _HARD | {_LONG: " ".join(words)}


def filled(found: Sequence[T], origin: str, plain: Callable[[str], T]) -> list[tuple[str, T]]:
    """What was found in the data, each with its origin, and as many plain texts as there are places left."""
    taken = [(origin, one) for one in dict.fromkeys(found)]
    return [*taken, *((PLAIN, plain(text)) for text in _PLAIN[: _ROWS - len(taken)])]


def spread(lengths: Sequence[int]) -> list[int]:
    """Rows of the data to show, by the lengths of their texts: evenly spaced, without very long ones."""
    fitting = [row for row, length in enumerate(lengths) if length <= LONGEST]
    wanted = min(_ROWS, len(fitting))
    return [fitting[place * len(fitting) // wanted] for place in range(wanted)]
