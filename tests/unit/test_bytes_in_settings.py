"""What a bytes-in graph can express, its sizes, and its tables against the plain Python reference."""

import dataclasses

import numpy as np
import pytest

from exporters.bytes_in import tables
from exporters.bytes_in.settings import MAX_BYTES, MIN_BYTES, BytesIn, default_max_bytes, unsupported
from models_tf.errors import InputError
from models_tf.ops.projection import reference
from models_tf.ops.projection.config import ProjectionConfig

CONFIG = ProjectionConfig(feature_size=64, features="mixed", pad_to=8, max_bytes=64, presence_feature=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"hash": "xfixhash8"},
        {"hash": "unicodehash16"},
        {"bytes": "signed"},
        {"split": "characters"},
        {"split": "spaces_compatible"},
        {"max_tokens": 3},
        {"normalize_repetition": True},
        {"add_bos": True},
        {"add_eos": True},
        {"word_novelty_bits": 2},
        {"doc_size_levels": 4},
        {"first_cap_feature": True},
        {"all_caps_feature": True},
        {"feature_size": 36},
    ],
)
def test_a_setting_that_cannot_be_expressed_is_named_in_one_line(settings):
    config = dataclasses.replace(CONFIG, **settings)
    ((name, value),) = settings.items()
    assert unsupported(config) == [f"{name}={value}"]
    with pytest.raises(InputError) as refused:
        BytesIn(config=config)
    assert f"{name}={value}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_other_setting_of_the_projection_is_expressed():
    config = dataclasses.replace(
        CONFIG,
        features="words",
        vocabulary="abc",
        normalize_spaces=True,
        token_separators="'-.",
        presence_feature=False,
    )
    assert unsupported(config) == []
    assert unsupported(dataclasses.replace(CONFIG, alphabetic_only=True)) == []


@pytest.mark.parametrize("max_bytes", [0, MAX_BYTES + 1])
def test_too_few_and_too_many_bytes_are_refused(max_bytes):
    with pytest.raises(InputError, match=rf"--max-bytes must be {MIN_BYTES} to {MAX_BYTES}.*Received: {max_bytes}"):
        BytesIn(config=dataclasses.replace(CONFIG, max_bytes=max_bytes))


@pytest.mark.parametrize(
    ("tokens", "texts", "bytes_"),
    [
        (32, [], 256),
        (32, [b"a" * 40], 256),
        (32, [b"a" * 40, b"a" * 257], 320),
        (32, [b"longer_word " * 1000], 384),  # 32 words end after 383 bytes
        (2, [b"  aa  bb  " + b"c" * 500], 64),
        (8, [b"a" * 60 + b" " * 30 + b"b" * 10 + b" c"], 128),
        (32, ["ä".encode() * 150], 320),
        (4096, [], 32_768),
        (32, [b"a" * 10**6], 512),
        (4096, [b"a" * 10**6], MAX_BYTES),
    ],
)
def test_the_default_room_holds_what_is_read_of_every_text(tokens, texts, bytes_):
    assert default_max_bytes(tokens, texts) == bytes_


VOCABULARY = dataclasses.replace(CONFIG, vocabulary="abcdkßéд日\x00")
ALPHABETIC = dataclasses.replace(CONFIG, alphabetic_only=True)


@pytest.mark.parametrize("config", [CONFIG, VOCABULARY, ALPHABETIC], ids=["all", "vocabulary", "alphabetic"])
def test_the_table_of_characters_equals_the_reference_for_every_code_point(config):
    table = tables.character_table(config)
    codes = np.array([code for code in range(0x110000) if not 0xD800 <= code < 0xE000])
    known = np.minimum(codes, table.limit)
    kinds = table.kind[table.page[known // tables.PAGE].astype(int) * tables.PAGE + known % tables.PAGE].astype(int)
    kept, lower = kinds > 0, codes + table.delta[kinds]
    # One token for each code point; spaces would split.
    for code, stays, becomes in zip(codes.tolist(), kept.tolist(), lower.tolist(), strict=True):
        word = reference.lower_and_filter(config, chr(code).encode())[0]
        assert word == (chr(becomes) if stays else ""), hex(code)
        if stays:
            assert becomes <= table.highest


def test_only_tables_with_characters_that_grow_need_more_room():
    assert tables.character_table(CONFIG).growth
    assert not tables.character_table(VOCABULARY).growth


def test_the_table_of_bytes_starts_a_sequence_as_strict_utf8_does():
    table = tables.byte_table("'-")
    for lead in range(256):
        for second in range(0, 256, 3):
            data = bytes([lead, second, 0x80, 0x80])[: max(1, int(table.length[lead]))]
            fits = table.length[lead] and table.low[lead] <= second <= table.high[lead]
            assert bool(fits) == (reference.valid_prefix(data) != ""), data


def test_fields_hold_the_four_features_of_a_byte_and_their_sums():
    fields = tables.feature_fields()
    features = np.array([reference.expand([byte], 4) for byte in range(256)])
    picked = np.random.default_rng(0).integers(0, 256, 127)
    total = int(fields[picked].astype(np.int64).sum()) + 0x80808080
    received = np.array([total & 0xFFFFFFFF], np.uint32).view(np.uint8).astype(int) - 128
    np.testing.assert_array_equal(received, features[picked].sum(axis=0))
