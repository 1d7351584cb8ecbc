"""The Python reference against the golden file, and its own promises."""

import random

import pytest

from models_tf.ops.projection import reference
from models_tf.ops.projection.config import HASHES, ProjectionConfig
from models_tf.ops.projection.unicode_tables import UNICODE_VERSION
from support.projection_golden import (
    BEHAVIOURS,
    CASES,
    HASH_CODES,
    NORMALIZED,
    SPLITS,
    check_behaviour,
    config_of,
    features_of,
    name_of,
    texts_of,
)


@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_reference_gives_the_golden_features(case, dtype):
    features, lengths = reference.project(config_of(case), texts_of(case), case["seed"], dtype)
    assert lengths == case["lengths"]
    assert features == features_of(case, dtype)


@pytest.mark.parametrize("entry", BEHAVIOURS, ids=name_of)
def test_reference_behaves_as_published(entry):
    check_behaviour(entry, *reference.project(config_of(entry), texts_of(entry)))


@pytest.mark.parametrize("entry", HASH_CODES, ids=name_of)
def test_reference_gives_the_golden_hash_codes(entry):
    config = config_of(entry)
    codes = reference.hash_codes(config, entry["token"], config.feature_size)
    assert [f"{code:016x}" for code in codes] == entry["codes"]


@pytest.mark.parametrize("entry", NORMALIZED, ids=name_of)
def test_reference_normalizes_as_the_original(entry):
    assert reference.normalize(config_of(entry), entry["text"].encode()) == entry["expected"].encode()


@pytest.mark.parametrize("entry", SPLITS, ids=name_of)
def test_reference_splits_as_the_original(entry):
    tokens = reference.split(config_of(entry), entry["text"].encode())
    assert tokens == [token.encode() for token in entry["tokens"]]


def test_golden_file_covers_every_hash_and_both_byte_modes():
    seen = {(config_of(entry).hash, config_of(entry).bytes) for entry in HASH_CODES}
    assert {name for name, _ in seen} == set(HASHES)
    assert {("murmur", "signed"), ("murmur", "unsigned")} <= seen


def test_golden_file_holds_all_published_vectors():
    published = [entry for entry in CASES if entry["source"] == "reference"]
    assert (len(published), len(BEHAVIOURS), len(HASH_CODES), len(NORMALIZED), len(SPLITS)) == (34, 33, 40, 32, 20)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"play some music", b"play some music"),
        (b"play some songs!", b"play some songs!"),
        (b"play some songs! and more", b"play some songs!"),
        ("play some song é".encode(), b"play some song "),
        ("play some son é!".encode(), "play some son é".encode()),
        ("play some son 日".encode(), b"play some son "),
        ("play some so 日".encode(), "play some so 日".encode()),
        ("play some so 😀".encode(), b"play some so "),
        ("play some s 😀".encode(), "play some s 😀".encode()),
        (b"play some son \xe2\xf0", b"play some son "),
        (b"play some so \xe2\xf0", b"play some so \xe2"),
        (b"play some so \xf0\xe2\xc3", b"play some so "),
        (b"play some son \xe2", b"play some son "),  # shorter than the buffer
        (b"play some so \xf0 x", b"play some so "),  # what stands behind a lead byte is not looked at
        (b"play some \xe2", b"play some \xe2"),
        (b"play some so\xc1\xf5\x80\xff", b"play some so\xc1\xf5\x80\xff"),  # none of them a lead byte
        (b"play\0\0", b"play"),
        (b"play\0it \0", b"play\0it "),
        (b"play some so\0\0\0\xc3\xa9", b"play some so"),
        (b"\0" * 16 + b"text", b""),
        (b"\0", b""),
        (b"", b""),
    ],
)
def test_max_bytes_keeps_what_a_buffer_holds(data, expected):
    assert reference.limit_bytes(ProjectionConfig(max_bytes=16), data) == expected
    assert reference.limit_bytes(ProjectionConfig(), data) == data


@pytest.mark.parametrize("room", [16, 17, 18, 19, 64])
def test_max_bytes_keeps_the_whole_characters_of_valid_text(room):
    config = ProjectionConfig(max_bytes=room)
    rng = random.Random(room)
    for _ in range(500):
        data = "".join(rng.choice("ab é日😀\0") for _ in range(rng.randint(0, room + 4))).encode()
        assert reference.limit_bytes(config, data) == data[:room].decode("utf-8", "ignore").encode().rstrip(b"\0")


def test_lower_case_is_the_simple_mapping():
    assert UNICODE_VERSION == "14.0.0"
    lower, _, _ = reference.lower_and_filter(ProjectionConfig(), "İẞÀ\u212aȺǅ𐐀".encode())
    assert lower == "ißàk\u2c65ǆ𐐨"


def test_alphabetic_is_wider_than_letters():
    # U+0345 is a combining mark and U+2160 a number, both Alphabetic; U+0301 is a mark that is not.
    assert [reference.is_alphabetic(c) for c in "aZé\u0345\u2160日\u03011!_ "] == [True] * 6 + [False] * 5


def test_alphabetic_filter_keeps_letters_and_spaces():
    config = ProjectionConfig(feature_size=8, alphabetic_only=True)
    assert reference.lower_and_filter(config, b"A1 b!")[0] == "a b"


def test_same_seed_gives_the_same_typos_and_another_seed_others():
    config = ProjectionConfig(feature_size=64, distortion=1.0)
    texts = ["several words that can be changed"] * 2
    first, _ = reference.project(config, texts, 3)
    assert first == reference.project(config, texts, 3)[0]
    assert first != reference.project(config, texts, 4)[0]
    assert first[0] != first[1], "rows of a batch must get different typos"


def test_typos_come_as_often_as_asked_and_change_one_character():
    words = [f"word{i}" for i in range(2000)]
    typos = [reference.distort(word, 0.25, reference.RandomStream(i)) for i, word in enumerate(words)]
    changed = sum(a != b for a, b in zip(words, typos, strict=True))
    # 0.25 of 2000 is 500 with a standard deviation of 19; some moves and copies give the word back, so less.
    assert 400 < changed < 560
    assert {len(b) - len(a) for a, b in zip(words, typos, strict=True)} == {-1, 0, 1}
