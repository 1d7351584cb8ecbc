"""The C++ core, through its C interface, against the golden file and the Python reference."""

import numpy as np
import pytest

from models_tf import limits
from models_tf.errors import InputError
from models_tf.ops.projection import reference
from models_tf.ops.projection.config import MAGIC, ProjectionConfig
from models_tf.ops.projection.library import HostProjection, default_config_text, library_path, parse_error
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
from support.projection_strings import CONFIGS, COUNT, around, cases


@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_core_gives_the_golden_features(case, dtype):
    features, lengths = HostProjection(config_of(case)).project(texts_of(case), case["seed"], dtype)
    assert features.dtype == dtype
    assert lengths.tolist() == case["lengths"]
    np.testing.assert_array_equal(features, np.array(features_of(case, dtype), dtype).reshape(features.shape))


@pytest.mark.parametrize("entry", BEHAVIOURS, ids=name_of)
def test_core_behaves_as_published(entry):
    features, lengths = HostProjection(config_of(entry)).project(texts_of(entry))
    check_behaviour(entry, features.tolist(), lengths.tolist())


@pytest.mark.parametrize("entry", HASH_CODES, ids=name_of)
def test_core_gives_the_golden_hash_codes(entry):
    codes = HostProjection(config_of(entry)).hash_codes(entry["token"])
    assert [f"{code:016x}" for code in codes] == entry["codes"]


@pytest.mark.parametrize("entry", NORMALIZED, ids=name_of)
def test_core_normalizes_as_the_original(entry):
    assert HostProjection(config_of(entry)).normalize(entry["text"]) == entry["expected"].encode()


@pytest.mark.parametrize("entry", SPLITS, ids=name_of)
def test_core_splits_as_the_original(entry):
    tokens = HostProjection(config_of(entry)).split(entry["text"])
    assert tokens == [token.encode() for token in entry["tokens"]]


def test_core_agrees_with_the_reference_on_20000_generated_strings():
    compared = 0
    for seed, config, texts in cases():
        host = HostProjection(config)
        for start in range(0, len(texts), 50):
            batch = texts[start : start + 50]
            features, lengths = host.project(batch, seed)
            expected, expected_lengths = reference.project(config, batch, seed)
            assert lengths.tolist() == expected_lengths, config
            for text, got, want in zip(batch, features.tolist(), expected, strict=True):
                assert got == want, (config, text)
            compared += len(batch)
    assert compared == COUNT == 20_000


def test_float_output_agrees_with_the_reference():
    for seed, config, texts in cases():
        batch = texts[:40]
        features, _ = HostProjection(config).project(batch, seed, "float32")
        expected, _ = reference.project(config, batch, seed, "float32")
        np.testing.assert_array_equal(features, np.array(expected, np.float32))


@pytest.mark.parametrize("room", [16, 17, 18, 19, 20, 31, 64])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"split": "characters"},
        {"split": "spaces_compatible", "max_tokens": 3},
        {"features": "mixed", "token_separators": "aB", "presence_feature": True, "pad_to": 9},
        {"normalize_repetition": True, "normalize_spaces": True, "doc_size_levels": 4, "add_eos": True},
    ],
    ids=str,
)
def test_core_agrees_with_the_reference_on_strings_that_end_around_max_bytes(room, settings):
    config = ProjectionConfig(feature_size=16, max_bytes=room, **settings)
    texts = around(room, 400)
    features, lengths = HostProjection(config).project(texts)
    expected, expected_lengths = reference.project(config, texts)
    assert lengths.tolist() == expected_lengths
    for text, got, want in zip(texts, features.tolist(), expected, strict=True):
        assert got == want, text


@pytest.mark.parametrize("room", [16, 17, 40])
def test_max_bytes_reads_a_text_as_a_zero_padded_buffer(room):
    settings = {"feature_size": 16, "presence_feature": True, "pad_to": 12}
    texts = around(room, 400)
    limited = HostProjection(ProjectionConfig(max_bytes=room, **settings))
    features, lengths = limited.project(texts)
    in_buffers = limited.project([text[:room].ljust(room, b"\0") for text in texts])
    cut_before = HostProjection(ProjectionConfig(**settings)).project(
        [reference.limit_bytes(limited.config, text) for text in texts]
    )
    for same_features, same_lengths in (in_buffers, cut_before):
        np.testing.assert_array_equal(same_features, features)
        np.testing.assert_array_equal(same_lengths, lengths)
    assert np.any(HostProjection(ProjectionConfig(**settings)).project(texts)[1] != lengths)


def test_the_largest_max_bytes_cuts_there():
    config = ProjectionConfig(feature_size=16, max_bytes=1 << 20)
    texts = [b"x" * (1 << 20) + b" y", b"x" * ((1 << 20) - 2) + b" \xc3\xa9", b"x" * (1 << 20)]
    features, lengths = HostProjection(config).project(texts)
    assert lengths.tolist() == [1, 1, 1]
    assert features.tolist() == reference.project(config, texts)[0]


def test_threads_do_not_change_the_result():
    config = ProjectionConfig(feature_size=64, features="mixed", distortion=0.5)
    texts = [f"text number {i} of some" for i in range(300)]
    one, _ = HostProjection(config).project(texts, 5, threads=1)
    three, _ = HostProjection(config).project(texts, 5, threads=3)
    np.testing.assert_array_equal(one, three)


def test_defaults_are_the_same_in_cpp_and_python():
    pairs = dict(pair.split("=") for pair in default_config_text().removeprefix(MAGIC).split(";"))
    settings = ProjectionConfig().to_dict()
    assert list(pairs) == list(settings)
    for name, value in settings.items():
        text = str(int(value)) if isinstance(value, bool) else str(value)
        assert pairs[name] == (text if not isinstance(value, float) else f"{value:g}"), name


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.to_text()[len(MAGIC) :][:40])
def test_config_text_is_read_back(config):
    assert parse_error(config.to_text()) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must start with"),
        ("projection2:feature_size=4", "must start with"),
        ("projection1:colour=red", "Unknown projection setting. Received: 'colour'."),
        ("projection1:feature_size", "key=value"),
        ("projection1:;", "key=value"),
        ("projection1:feature_size=", "cannot be read"),
        ("projection1:feature_size=16x", "cannot be read"),
        ("projection1:feature_size=99999999999", "cannot be read"),
        ("projection1:feature_size=16;feature_size=16", "twice"),
        ("projection1:feature_size=7", "must be even"),
        ("projection1:feature_size=0", "must be even"),
        ("projection1:feature_size=8192", "2 to 4096"),
        ("projection1:feature_size=6;features=mixed", "multiple of 4"),
        ("projection1:feature_size=2;all_caps_feature=1", "at least 4"),
        ("projection1:hash=md5", "`hash` has a value that cannot be read. Received: 'md5'."),
        ("projection1:add_bos=yes", "cannot be read"),
        ("projection1:max_tokens=0", "`max_tokens`"),
        ("projection1:pad_to=1;add_eos=1", "`pad_to`"),
        ("projection1:pad_to=-3", "`pad_to`"),
        ("projection1:feature_size=4096;pad_to=16385", "must be at most 67108864 (the limit feature_bytes)"),  # F11
        ("projection1:max_bytes=15", "`max_bytes` must be 0 or 16 to 1048576. Received: 15."),
        ("projection1:max_bytes=-1", "`max_bytes`"),
        ("projection1:max_bytes=1048577", "`max_bytes`"),
        ("projection1:word_novelty_bits=8", "`word_novelty_bits`"),
        ("projection1:doc_size_levels=17", "`doc_size_levels`"),
        ("projection1:distortion=1.5", "`distortion`"),
        ("projection1:distortion=nan", "`distortion`"),
        ("projection1:vocabulary=abc;alphabetic_only=1", "exclude each other"),
        ("projection1:vocabulary=a%FF", "must be UTF-8"),
        ("projection1:vocabulary=a%4", "%XX"),
        ("projection1:vocabulary=a b", "%XX"),
        ("projection1:token_separators=%C3%A9", "must be ASCII"),
        (b"projection1:feature_size=\xff\x00\xfe", "%XX"),
    ],
)
def test_bad_config_text_is_refused_in_one_line(text, message):
    error = parse_error(text)
    assert message in error
    assert "\n" not in error
    assert error.isprintable()


@pytest.mark.parametrize(
    "settings",
    [
        {"feature_size": 7},
        {"feature_size": 5000},
        {"feature_size": 6, "features": "mixed"},
        {"feature_size": 2, "first_cap_feature": True},
        {"hash": "md5"},
        {"max_tokens": 0},
        {"pad_to": 2, "add_bos": True, "add_eos": True},
        {"feature_size": 4096, "pad_to": 1 << 20},
        {"max_bytes": 15},
        {"max_bytes": -1},
        {"max_bytes": (1 << 20) + 1},
        {"max_bytes": 16.0},
        {"word_novelty_bits": 8},
        {"doc_size_levels": -1},
        {"distortion": 1.01},
        {"vocabulary": "a", "alphabetic_only": True},
        {"token_separators": "é"},
        {"feature_size": True},
    ],
    ids=str,
)
def test_python_config_refuses_what_the_core_refuses(settings):
    with pytest.raises(ValueError, match="Received:"):
        ProjectionConfig(**settings)


def test_the_limit_of_features_can_be_changed_for_the_core_and_for_python():
    """F11: a limit has a name, and one variable changes it everywhere."""
    settings, text = {"feature_size": 16, "pad_to": 8}, "projection1:feature_size=16;pad_to=8"
    with limits.override(feature_bytes=127):
        assert "at most 127 (the limit feature_bytes). Received: 128." in parse_error(text)
        with pytest.raises(ValueError, match=r"at most 127 \(the limit feature_bytes\)\. Received: 128\."):
            ProjectionConfig(**settings)
    with limits.override(feature_bytes=128):
        assert HostProjection(ProjectionConfig(**settings)).project(["a"])[0].shape == (1, 8, 16)


def test_empty_batch_and_empty_texts_give_no_rows():
    host = HostProjection(ProjectionConfig(feature_size=8))
    features, lengths = host.project([])
    assert (features.shape, lengths.shape) == ((0, 0, 8), (0,))
    features, lengths = host.project(["", "   ", b""])
    assert (features.shape, lengths.tolist()) == ((3, 0, 8), [0, 0, 0])


def test_nul_is_an_ordinary_character():
    host = HostProjection(ProjectionConfig(feature_size=64))
    features, lengths = host.project(["a\0b c", "a c"])
    assert lengths.tolist() == [2, 2]
    assert (features[0, 0] != features[1, 0]).any()
    np.testing.assert_array_equal(features[0, 1], features[1, 1])


def test_token_counts_up_to_its_first_invalid_byte():
    host = HostProjection(ProjectionConfig(feature_size=64))
    features, lengths = host.project([b"ab\xffcd ef", "ab ef", b"\xff ef", "<null> ef", "\ud800x ef"])
    assert lengths.tolist() == [2] * 5
    np.testing.assert_array_equal(features[0], features[1])
    np.testing.assert_array_equal(features[2], features[3])
    np.testing.assert_array_equal(features[4], features[3])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"features": "mixed"},
        {"hash": "xfixhash8"},
        {"hash": "unicodehash16"},
        {"normalize_repetition": True, "normalize_spaces": True, "token_separators": "x"},
        {"split": "characters", "max_tokens": 10},
        {"distortion": 1.0},
    ],
    ids=str,
)
def test_a_megabyte_in_one_token_has_a_defined_result(settings):
    config = ProjectionConfig(feature_size=8, presence_feature=True, **settings)
    text = b"xyzzy\xc3\xa9" * 150_000
    features, lengths = HostProjection(config).project([text])
    expected, expected_lengths = reference.project(config, [text])
    assert lengths.tolist() == expected_lengths
    assert features.tolist() == expected


def test_all_lower_case_and_alphabetic_characters_agree_with_the_reference():
    text = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000).encode()
    for settings in ({"alphabetic_only": True}, {"all_caps_feature": True, "first_cap_feature": True}):
        config = ProjectionConfig(feature_size=16, hash="xfixhash32", **settings)
        for start in range(0, len(text), 1 << 20):
            piece = text[start : start + (1 << 20)]
            assert HostProjection(config).project([piece])[0].tolist() == reference.project(config, [piece])[0]


def test_a_missing_library_is_reported_in_one_line():
    with pytest.raises(
        InputError, match=r"libexport_mobile_nothing\.\w+ is missing in .*pip install -e \..*C\+\+17 compiler"
    ):
        library_path("nothing")


def test_one_text_instead_of_a_sequence_is_refused():
    with pytest.raises(InputError, match="sequence of texts"):
        HostProjection(ProjectionConfig()).project("one text")
