"""The tokenizers in Java and JavaScript equal the `tokenizers` package: ids, segments, texts, cuts, places, words."""

import functools
import json
import os
import random
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import normalizers

from exporters.shipped import device_tokenizer
from support import hostile_strings, tokenizer_data, tokenizer_kinds, tokenizer_strings, tokenizers_elsewhere
from support.real_checkpoints import data_folder
from support.tokenizers_elsewhere import (
    LANGUAGES,
    PAIR,
    PIECES,
    Request,
    command,
    compile_java,
    differences,
    missing,
    read_answers,
    write_requests,
)

# Together a few thousand strings here and 100,000 in the slow set.
FEW, MANY = 300, 6_700
# Those whose models differ; the data is English, so that others would show nothing new.
OF_DATA = ("uncased", "albert")
OF_LONG = ("uncased", "albert", "t5")
SECONDS = 1800
# 49,582 reviews take ten minutes: every fifth here, and all of them with EXPORT_MOBILE_EVERY_TEXT=1.
STEPS = {"imdb": 5}
Run = Callable[[Mapping[str, Sequence[Request]]], dict[str, list]]


def runner(language: str, factory: pytest.TempPathFactory, made: Mapping[str, bytes] | None = None) -> Run:
    """Requests by name of the kind -> answers, all in one process; `made` are other kinds than those of the tests."""
    if missing(language):
        pytest.skip(missing(language))
    folder = factory.mktemp(language)
    classes = compile_java(folder) if language == "java" else None

    def answers(requests: Mapping[str, Sequence[Request]]) -> dict[str, list]:
        jobs: list[Path] = []
        for i, (name, some) in enumerate(requests.items()):
            job = [folder / f"{i}.json", folder / f"{i}.requests", folder / f"{i}.answers"]
            job[0].write_bytes((made or tokenizer_kinds.kinds())[name])
            write_requests(job[1], some)
            jobs += job
        subprocess.run([*command(language, classes), *map(str, jobs)], check=True, timeout=SECONDS)
        return {name: list(read_answers(folder / f"{i}.answers")) for i, name in enumerate(requests)}

    return answers


@pytest.fixture(scope="module", params=LANGUAGES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One language."""
    return runner(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """All languages: what takes long is the package itself, which then answers once."""
    return [runner(language, tmp_path_factory) for language in LANGUAGES]


@functools.cache
def backend(name: str) -> Backend:
    return Backend.from_buffer(tokenizer_kinds.kinds()[name])


def assert_equal(runs: Sequence[Run], requests: Mapping[str, Sequence[Request]]) -> None:
    answers = [run(requests) for run in runs]
    for name, some in requests.items():
        found = differences(backend(name), some, [answer[name] for answer in answers])
        shown = "\n".join(f"{request}\nexpected {wanted}\nreceived {got}" for request, wanted, got in found[:3])
        assert not found, f"{name}: {len(found)} of {len(some)} differ, such as\n{shown[:4000]}"


def generated(count: int) -> dict[str, Sequence[Request]]:
    return {name: tokenizer_strings.requests(count, seed) for seed, name in enumerate(tokenizer_kinds.names())}


def test_names_of_the_kinds_are_complete():
    assert tuple(tokenizer_kinds.kinds()) == tokenizer_kinds.names()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_language_refuses_is_what_android_and_demo_refuse(tmp_path_factory, language: str):
    """Every kind of part that the `tokenizers` package has."""
    made = tokenizer_kinds.every_part()
    answers = runner(language, tmp_path_factory, made)({name: [Request(kind=PIECES, texts=("a",))] for name in made})
    refused = {name for name, found in answers.items() if isinstance(found[0], str)}
    assert refused == {name for name, data in made.items() if device_tokenizer.missing(json.loads(data))}
    assert {"Nmt", "Replace by a pattern", "BPE", "Punctuation", "RobertaProcessing"} <= refused
    assert not {"NFC", "Metaspace", "Unigram", "TemplateProcessing"} & refused


@pytest.mark.slow
def test_generated_strings_have_equal_tokens(run: Run):
    assert_equal([run], generated(FEW))


@pytest.mark.parametrize("language", LANGUAGES)
def test_characters_are_composed_alike(tmp_path_factory, language: str):
    """Every character that has parts, its parts, and parts of several in any order; each has a token of its own."""
    rng, composing = random.Random(8), tokenizer_kinds.composing()
    parts = sorted({part for own in composing.values() for part in own})
    marks = [part for part in parts if 0x300 <= part < 0x370 or 0x1100 <= part < 0x1200]
    texts = ["".join(composing), *("".join(map(chr, own)) for own in composing.values())]
    for _ in range(6000):
        chosen = rng.choices(parts, k=rng.randint(1, 3)) + rng.choices(marks, k=rng.randint(1, 6))
        chosen += [ord(rng.choice(list(composing)[:2000]))] * rng.randint(0, 1)
        rng.shuffle(chosen)
        texts.append("".join(map(chr, chosen)))
    requests = [Request(kind=PIECES, texts=(text,)) for text in texts]
    made = {name: tokenizer_kinds.every_composed_character(getattr(normalizers, name)()) for name in ("NFC", "NFKC")}
    answers = runner(language, tmp_path_factory, made)(dict.fromkeys(made, requests))
    for name, data in made.items():
        assert differences(Backend.from_buffer(data), requests, [answers[name]]) == []


def test_hostile_strings_have_equal_tokens(run: Run):
    """Halves of pairs, broken UTF-8, controls, directions, marks without end: no language throws, and all agree."""
    texts = [tokenizers_elsewhere.as_utf16(text) for text in hostile_strings.strings(400)]
    requests = [Request(kind=PIECES, texts=(text,)) for text in texts]
    requests += [Request(kind=tokenizers_elsewhere.ENCODE, texts=(text,), max_len=16) for text in texts]
    assert_equal([run], dict.fromkeys(OF_LONG, requests))


@pytest.mark.slow
def test_texts_of_the_data_have_equal_tokens(run: Run):
    root = data_folder(tokenizer_data.SETS[0]).parent
    requests = [one for name in tokenizer_data.SETS for one in tokenizer_data.requests(root, name, 60)]
    assert_equal([run], dict.fromkeys(OF_DATA, requests))


@pytest.mark.exhaustive
def test_100_000_generated_strings_have_equal_tokens(runs: list[Run]):
    requests = generated(MANY)
    assert sum(map(len, requests.values())) >= 100_000
    assert_equal(runs, requests)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", tokenizer_data.SETS)
def test_all_texts_of_the_data_have_equal_tokens(runs: list[Run], name: str):
    step = 1 if os.environ.get("EXPORT_MOBILE_EVERY_TEXT") else STEPS.get(name, 1)
    requests = tokenizer_data.requests(data_folder(name).parent, name, step=step)
    assert_equal(runs, dict.fromkeys(OF_DATA, requests))


@pytest.mark.exhaustive
def test_texts_of_a_megabyte_have_equal_tokens(runs: list[Run]):
    assert_equal(runs, dict.fromkeys(OF_LONG, tokenizer_strings.long_requests()))


def test_places_are_those_of_the_text(run: Run):
    """By hand, since the comparison converts the package's places itself."""
    text = "\U0001f600 Café\U0001f600s\u0301, naïve"
    (row,) = run({"uncased": [Request(kind=PIECES, texts=(text,))]})["uncased"]
    units = text.encode("utf-16-le")
    shown = [units[2 * start : 2 * end].decode("utf-16-le") for start, end in zip(row[4], row[5], strict=True)]
    assert "".join(shown) == "\U0001f600Café\U0001f600s,naïve"
    assert shown[-2:] == [",", "naïve"]


@pytest.mark.parametrize("kind", ["uncased", "mpnet"])
def test_the_tokens_of_a_passage_are_known_whatever_its_segment(run: Run, kind: str):
    """By hand, since an answer is looked for among them: MPNet gives both texts the segment 0."""
    passage = "Anna lives in Rome."
    (row,) = run({kind: [Request(kind=PAIR, texts=("Who is in Rome?", passage))]})[kind]
    _, _, segments, texts, starts, ends, _, _ = row
    assert set(segments[texts == 1]) == {int(kind == "uncased")}
    shown = [passage[start:end] for start, end in zip(starts[texts == 1], ends[texts == 1], strict=True)]
    assert "".join(shown) == passage.replace(" ", "")
    special = [i for i, text in enumerate(texts) if text < 0]
    assert len(special) == (4 if kind == "mpnet" else 3)


@pytest.mark.parametrize("length", [-1, 0, 2])
def test_a_length_without_room_for_text_is_refused(run: Run, length: int):
    (message,) = run({"uncased": [Request(kind=0, texts=("a",), max_len=length)]})["uncased"]
    assert message == (
        f"The sequence length must be at least 3: 2 special tokens and one of the text. Received: {length}."
    )
