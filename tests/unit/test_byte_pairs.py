"""Byte-level tokens, as RoBERTa has them: from tokenizer.json, or from vocab.json and merges.txt."""

import json

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.tokenizers.files import BYTE_PAIRS, SENTENCEPIECE
from models_tf.tokenizers.tokenizer import Tokenizer
from support.byte_pairs import TEXTS, byte_pairs

FILES = byte_pairs()
PAIR = {name: FILES[name] for name in ("vocab.json", "merges.txt")}
HARD = (*TEXTS, "", "   spaces  inside ", "\u0000\ufffd", "<s> inside </s>", "x" * 500, "e\u0301\u200d")


def test_both_forms_of_files_give_what_transformers_gives(tmp_path):
    transformers = pytest.importorskip("transformers")
    for name, content in PAIR.items():
        (tmp_path / name).write_bytes(content)
    theirs = transformers.RobertaTokenizerFast.from_pretrained(tmp_path)
    for files in (PAIR, {"tokenizer.json": FILES["tokenizer.json"]}):
        ours = Tokenizer.from_files(files)
        assert ours.kind == BYTE_PAIRS
        assert (ours.cls_id, ours.pad_id, ours.sep_id, ours.unk_id) == (0, 1, 2, 3)
        texts = [text for text in HARD if "\u0000" not in text]  # ours are cleaned of it
        for pairs in (None, texts[::-1]):
            found = ours.encode(texts, pairs, max_len=600)
            expected = theirs(texts, pairs, padding="max_length", max_length=600, return_tensors="np")
            np.testing.assert_array_equal(found["ids"], expected["input_ids"])
            np.testing.assert_array_equal(found["mask"], expected["attention_mask"])
            assert not found["segments"].any()  # RoBERTa has one segment, for pairs, too


def test_words_know_where_they_begin():
    ours = Tokenizer.from_files(PAIR)
    encoded = ours.encode_words([["Anna", "lives", "in", "Berlin"]], max_len=40)
    first = encoded.first[0]
    assert first[0] == 1
    assert (np.diff(first) > 0).all()


def test_an_app_gets_tokenizer_json_alone():
    ours = Tokenizer.from_files(PAIR)
    assert set(ours.files()) == {"tokenizer.json"}
    again = Tokenizer.from_files(ours.files())
    assert again.same_vocabulary(ours)
    np.testing.assert_array_equal(*(one.encode(list(TEXTS), max_len=64)["ids"] for one in (ours, again)))


def test_special_tokens_of_a_vocabulary_without_settings_are_those_that_it_has():
    """XLM-RoBERTa's tokenizer.json is SentencePiece with RoBERTa's names."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581a", -1.0), ("b", -2.0)]
    ours = Tokenizer.from_files({"tokenizer.json": Backend(models.Unigram(pieces, unk_id=3)).to_str().encode()})
    assert ours.kind == SENTENCEPIECE
    assert (ours.cls_id, ours.pad_id, ours.sep_id, ours.unk_id) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vocab.json": b"["}, "vocab.json must be JSON"),
        ({"vocab.json": b"[1]"}, "an object of pieces and their numbers"),
        ({"vocab.json": b'{"a": "b"}'}, "an object of pieces and their numbers"),
        ({"vocab.json": b'{"a": -1}'}, "an object of pieces and their numbers"),
        ({"merges.txt": b"\xff\n"}, "merges.txt must be UTF-8"),
        ({"merges.txt": b"#version: 0.2\na b c\n"}, "line 2 must be two pieces"),
        ({"merges.txt": b"nowhere else\n"}, "pairs of pieces of vocab.json"),
        ({"vocab.json": json.dumps({"<s>": 0, "<pad>": 1, "</s>": 2, "a": 3}).encode(), "merges.txt": b""}, "'<unk>'"),
        ({"tokenizer_config.json": b'{"add_prefix_space": 3}'}, "`add_prefix_space` must be true or false"),
    ],
)
def test_files_that_are_damaged_are_one_line(changes, words):
    with pytest.raises(InputError, match=words) as caught:
        Tokenizer.from_files({**PAIR, **changes})
    assert "\n" not in str(caught.value)


def test_one_of_the_two_files_is_not_enough():
    with pytest.raises(InputError, match=r"vocab.json and merges.txt\. Received: vocab.json\."):
        Tokenizer.from_files({"vocab.json": PAIR["vocab.json"]})
