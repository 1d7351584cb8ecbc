"""Damaged and unsupported tokenizer.json in Java and JavaScript: one clear line, never a crash or an endless loop."""

import base64
import json
import random
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support import tokenizer_kinds
from support.tokenizers_elsewhere import (
    ENCODE,
    LANGUAGES,
    PAIR,
    PIECES,
    WORDS,
    Request,
    command,
    compile_java,
    missing,
    read_answers,
    write_requests,
)

SECONDS = 300
TEXTS = ("The film was g\xf6\xf6d, \u65e5\u672c [MASK].", "a\u0301\u0323 b \ud800 \U0001f600\u200d")
REQUESTS = [
    Request(kind=ENCODE, texts=TEXTS[:1]),
    Request(kind=PAIR, texts=TEXTS, max_len=9),
    Request(kind=WORDS, texts=TEXTS),
    *(Request(kind=PIECES, texts=(text,)) for text in TEXTS),
]
Load = Callable[[Sequence[bytes]], list[list]]


@pytest.fixture(scope="module", params=LANGUAGES)
def load(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Load:
    """The answers for each file, or one message; a crash fails."""
    language = request.param
    if missing(language):
        pytest.skip(missing(language))
    folder = tmp_path_factory.mktemp(language)
    classes = compile_java(folder) if language == "java" else None
    write_requests(folder / "requests", REQUESTS)

    def answers(files: Sequence[bytes]) -> list[list]:
        jobs: list[str] = []
        for i, data in enumerate(files):
            (folder / f"{i}.json").write_bytes(data)
            jobs += [f"{i}.json", "requests", f"{i}.answers"]
        done = subprocess.run(
            [*command(language, classes), *jobs],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return [list(read_answers(folder / f"{i}.answers")) for i in range(len(files))]

    return answers


def small(kind: str = "other prefix") -> dict[str, Any]:
    return json.loads(tokenizer_kinds.kinds()[kind])


def changed(kind: str, path: Sequence[str | int], value: object) -> bytes:
    """The file of a kind with another value at a place."""
    document: Any = small(kind)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document).encode()


def nested(levels: int) -> object:
    step: dict = {"type": "Lowercase"}
    for _ in range(levels):
        step = {"type": "Sequence", "normalizers": [step]}
    return step


def broken_map(change: Callable[[bytearray], object]) -> bytes:
    data = bytearray(tokenizer_kinds.published_map())
    change(data)
    return changed("xlm-roberta", ["normalizer", "precompiled_charsmap"], base64.b64encode(data).decode())


WORDPIECE, UNIGRAM = "other prefix", "ties"
# What is wrong -> the file, and what the message must say.
CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "must"),
    "not UTF-8": (lambda: b'{"model": "\xff"}', ""),
    "another document": (lambda: b"[1, 2]", "must be an object"),
    "no model": (lambda: b"{}", "tokenizer.json.model must be an object"),
    "BPE": (lambda: changed(WORDPIECE, ["model", "type"], "BPE"), "must be WordPiece or Unigram. Received: \"BPE\""),
    "a gap in the ids": (lambda: changed(WORDPIECE, ["model", "vocab", "good"], 999), "from 0 without gaps"),
    "an id twice": (lambda: changed(WORDPIECE, ["model", "vocab", "good"], 1), "from 0 without gaps"),
    "a text for an id": (lambda: changed(WORDPIECE, ["model", "vocab", "good"], "1"), "must be a whole number"),
    "a fraction for an id": (lambda: changed(WORDPIECE, ["model", "vocab", "good"], 1.5), "must be a whole number"),
    "no unknown token": (lambda: changed(WORDPIECE, ["model", "unk_token"], "[NO]"), "the unknown token \"[NO]\""),
    "an array for the vocabulary": (lambda: changed(WORDPIECE, ["model", "vocab"], []), "must be an object"),
    "half a character": (lambda: changed(UNIGRAM, ["model", "vocab", 4], ["\ud800", -1.0]), "whole characters"),
    "bytes as tokens": (lambda: changed(UNIGRAM, ["model", "byte_fallback"], True), "byte_fallback must be false"),
    "no unknown id": (lambda: changed(UNIGRAM, ["model", "unk_id"], None), "unk_id must be a whole number"),
    "an unknown id beyond": (lambda: changed(UNIGRAM, ["model", "unk_id"], 5000), "unk_id must be a number below"),
    "a score of text": (lambda: changed(UNIGRAM, ["model", "vocab", 4], ["q", "1"]), "must be a number"),
    "a piece without score": (lambda: changed(UNIGRAM, ["model", "vocab", 4], ["q"]), "a piece and its score"),
    "a piece twice": (lambda: changed(UNIGRAM, ["model", "vocab", 4], ["<unk>", -1.0]), "another piece"),
    "Nmt": (lambda: changed(WORDPIECE, ["normalizer"], {"type": "Nmt"}), "Received: \"Nmt\""),
    "deep nesting": (lambda: changed(WORDPIECE, ["normalizer"], nested(3000 // 12)), "at most 100 levels"),
    "very deep nesting": (lambda: b'{"model":' + b"[" * 500_000, ""),
    "a pattern": (
        lambda: changed(WORDPIECE, ["normalizer"], {"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}),
        "must be a text or one of the patterns",
    ),
    "ByteLevel": (lambda: changed(WORDPIECE, ["pre_tokenizer"], {"type": "ByteLevel"}), "Received: \"ByteLevel\""),
    "a long sign": (lambda: changed(UNIGRAM, ["pre_tokenizer", "replacement"], "__"), "must be one character"),
    "RobertaProcessing": (
        lambda: changed(WORDPIECE, ["post_processor"], {"type": "RobertaProcessing"}),
        "must be TemplateProcessing or BertProcessing. Received: \"RobertaProcessing\"",
    ),
    "no template": (lambda: changed(WORDPIECE, ["post_processor"], None), "must be TemplateProcessing"),
    "a template without text": (lambda: changed(UNIGRAM, ["post_processor", "single"], []), "a template with A once"),
    "a special token that is not there": (
        lambda: changed(UNIGRAM, ["post_processor", "special_tokens", "[SEP]", "ids"], [5000]),
        "must be an id below",
    ),
    "another id of an added token": (lambda: changed(WORDPIECE, ["added_tokens", 2, "id"], 77), "must have the id 2"),
    "an added token twice": (lambda: changed(WORDPIECE, ["added_tokens", 2, "content"], "[SEP]"), "must"),
    "a flag of text": (lambda: changed(WORDPIECE, ["added_tokens", 2, "lstrip"], "no"), "must be true or false"),
    "a map that is not base 64": (
        lambda: changed("xlm-roberta", ["normalizer", "precompiled_charsmap"], "AAA*"), "must be in base 64"
    ),
    "an empty map": (lambda: broken_map(bytearray.clear), "must be a character map"),
    "half a map": (lambda: broken_map(lambda data: data.__delitem__(slice(90_000, None))), "inside of itself"),
    "a map that points outside": (
        lambda: broken_map(lambda data: data.__setitem__(slice(4, 8), b"\x00\xfc\xff\xff")), "no unit beyond"
    ),
    "a map without its texts": (
        lambda: broken_map(lambda data: data.__delitem__(slice(4 + int.from_bytes(data[:4], "little") + 3, None))),
        "texts in its 3 bytes",
    ),
}  # fmt: skip


def is_clear(message: str) -> bool:
    """One line that says what is expected and what was received."""
    return "\n" not in message and "must " in message and "Received: " in message and message.endswith(".")


def test_what_is_damaged_or_unsupported_is_named_in_one_line(load: Load):
    found = load([make() for make, _ in CASES.values()])
    for (name, (_, part)), answers in zip(CASES.items(), found, strict=True):
        assert len(answers) == 1, name
        assert isinstance(answers[0], str), name
        assert is_clear(answers[0]), f"{name}: {answers[0]}"
        assert part in answers[0], f"{name}: {answers[0]}"


def test_a_file_that_ends_anywhere_is_refused(load: Load):
    data = json.dumps(small(WORDPIECE)).encode()
    ends = random.Random(8).sample(range(len(data)), 150)
    for end, answers in zip(ends, load([data[:end] for end in ends]), strict=True):
        assert len(answers) == 1, end
        assert is_clear(answers[0]), f"{end}: {answers[0]}"


def test_any_other_value_anywhere_is_refused_or_taken_but_never_a_crash(load: Load):
    rng = random.Random(9)
    files = [altered(small(rng.choice((WORDPIECE, UNIGRAM, "t5"))), rng) for _ in range(120)]
    answers = load(files)
    refused = [found[0] for found in answers if len(found) == 1]
    assert all(map(is_clear, refused)), [message for message in refused if not is_clear(message)][:3]
    assert len(refused) > 30  # so that the alterations are not all harmless


def test_a_map_with_other_bytes_is_refused_or_taken_but_never_a_crash(load: Load):
    rng = random.Random(10)

    def change(data: bytearray) -> None:
        for _ in range(rng.choice((1, 5, 200))):
            data[rng.randrange(len(data))] = rng.randrange(256)

    answers = load([broken_map(change) for _ in range(30)])
    refused = [found[0] for found in answers if len(found) == 1]
    assert all(map(is_clear, refused)), [message for message in refused if not is_clear(message)][:3]
    assert refused


def altered(document: Any, rng: random.Random) -> bytes:
    """Another value at a place that is reached by random steps."""
    values = (None, True, -1, 1.5, 1e300, 10**12, "", "x", [], {}, [[]], {"type": "x"}, "\u2581")
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = rng.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
        elif rng.random() < 0.2:
            del place[key]
            return json.dumps(document).encode()
        else:
            place[key] = rng.choice(values)
            return json.dumps(document).encode()
