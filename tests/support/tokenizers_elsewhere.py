"""The tokenizers in Java and JavaScript: requests for their test programs, and what `tokenizers` answers to the same.

A file of requests has 32-bit numbers, high byte first: kind, maximum length, number of texts, and for each text its
number of UTF-16 units and the units. The answer to one: number of tokens, number of words, seven rows of tokens (ids,
mask, segments, texts, starts, ends, words), one of words (first pieces); or -1, a number of bytes and a message.
"""

import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Backend

from models_tf.data.text import clean_text

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "examples/android/exportmobile/src/main/java/exportmobile"
WEB = ROOT / "examples/web"
NATIVE = ROOT / "tests/native"
KINDS = ENCODE, PAIR, WORDS, PIECES = range(4)
LANGUAGES = ("java", "javascript")
_SECONDS = 1800
_ROWS = 7  # of tokens


@dataclass(frozen=True, kw_only=True)
class Request:
    """`texts`: one, two for PAIR, any number for WORDS; PIECES has no maximum length."""

    kind: int
    texts: tuple[str, ...]
    max_len: int = 64


def missing(language: str) -> str:
    """Why the tests of a language cannot run, or nothing."""
    programs = ("java", "javac") if language == "java" else ("node",)
    absent = [program for program in programs if shutil.which(program) is None]
    return f"needs {absent[0]} on the PATH" if absent else ""


def compile_java(folder: Path) -> Path:
    """Compiles the tokenizer and the test program for Java 8, as Android needs it; warnings are errors."""
    options = ["-Xlint:all,-options,-serial", "-Werror", "--release", "8", "-encoding", "UTF-8"]
    # What the program needs is found on the source path: other classes of the library need Android's.
    places = ["-sourcepath", JAVA.parent, "-d", folder]
    subprocess.run(["javac", *options, *places, NATIVE / "TokenizerOnJvm.java"], check=True, timeout=_SECONDS)
    return folder


def command(language: str, classes: Path | None) -> list[str]:
    if language == "java":
        return ["java", "-Xss512k", "-cp", str(classes), "exportmobile.TokenizerOnJvm"]
    return ["node", str(NATIVE / "tokenizer_on_node.mjs"), str(WEB)]


def as_utf16(text: str) -> str:
    """The text as Java and JavaScript see it: two halves of a pair that stand together are one character."""
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def write_requests(path: Path, requests: Sequence[Request]) -> None:
    with path.open("wb") as file:
        for request in requests:
            file.write(struct.pack(">iii", request.kind, request.max_len, len(request.texts)))
            for text in request.texts:
                units = text.encode("utf-16-be", "surrogatepass")
                file.write(struct.pack(">i", len(units) // 2) + units)


def read_answers(path: Path) -> Iterator[list[np.ndarray] | str]:
    """Eight rows for each request, or a message."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        tokens, words = struct.unpack_from(">ii", data, at)
        at += 8
        if tokens < 0:
            yield data[at : at + words].decode()
            at += words
            continue
        numbers = np.frombuffer(data, ">i4", _ROWS * tokens + words, at)
        at += 4 * len(numbers)
        yield [*numbers[: _ROWS * tokens].reshape(_ROWS, tokens), numbers[_ROWS * tokens :]]


def expected(backend: Backend, request: Request) -> list[np.ndarray]:
    """What the package answers, with places in UTF-16 units."""
    texts = [clean_text(text) for text in request.texts]
    if request.kind == PIECES:
        backend.no_truncation()
        row = backend.encode(texts[0], add_special_tokens=False)
    else:
        backend.enable_truncation(request.max_len, strategy="longest_first")
        if request.kind == WORDS:
            row = backend.encode(texts, is_pretokenized=True)
        else:
            row = backend.encode(*texts)
    return _rows(row, request)


def _rows(row: Encoding, request: Request) -> list[np.ndarray]:
    size = len(row.ids)
    spans = np.array(row.offsets, np.int64).reshape(size, 2)
    words = np.array([-1 if word is None else word for word in row.word_ids], np.int64)
    special = words < 0
    units = [_unit_places(text) for text in request.texts]
    places = np.full((size, 2), -1, np.int64)
    texts = np.array([-1 if text is None else text for text in row.sequence_ids], np.int64)
    if request.kind in (WORDS, PAIR):
        written = words if request.kind == WORDS else texts
        for i in np.flatnonzero(~special):
            places[i] = units[written[i]][spans[i]]
    else:
        places[~special] = units[0][spans[~special]]
    first = np.full(len(request.texts) if request.kind == WORDS else 0, -1)
    if request.kind == WORDS:
        for position in reversed(range(size)):
            if words[position] >= 0:
                first[words[position]] = position
    return [np.array(row.ids), np.ones(size), np.array(row.type_ids), texts, *places.T, words, first]


def _unit_places(text: str) -> np.ndarray:
    if text.isascii():
        return np.arange(len(text) + 1)
    wide = np.array([ord(character) > 0xFFFF for character in text], np.int64)
    return np.concatenate(([0], np.cumsum(wide + 1)))


def differences(
    backend: Backend, requests: Sequence[Request], answers: Sequence[Sequence[list[np.ndarray] | str]]
) -> list[tuple[Request, object, object]]:
    """Requests that one of several did not answer as the package does, with both answers."""
    found: list[tuple[Request, object, object]] = []
    for request, *received in zip(requests, *answers, strict=True):
        wanted = expected(backend, request)
        for answer in received:
            if isinstance(answer, str):
                found.append((request, wanted, answer))
            elif not all(map(np.array_equal, wanted, answer)):
                found.append((request, [row.tolist() for row in wanted], [row.tolist() for row in answer]))
    return found
