"""Files of `--mediapipe` in MediaPipe's own TextClassifier, which tokenizes the texts itself.

Texts on which its tokenizer agrees with the `tokenizers` package get our answers. On others the tokens differ, and they
get the answers that our file gives for MediaPipe's tokens: the rules by which they differ are written down here.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, normalizers

from exporters import ExportRequest, export
from exporters.formats import artifacts, base
from exporters.formats.base import load_runner
from exporters.formats.graph import Graph, MediaPipeForm
from quantize.recipe import RECIPES
from support import mediapipe, tiny_files
from support.real_checkpoints import data_folder, minilm_sst2
from support.tiny_models import CONVERTED_WORDS, numbers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(mediapipe.missing()), reason=f"needs {mediapipe.missing()}"),
]

LABELS = ("no", "yes", "perhaps")
NAMES = ("ids", "mask", "segments")
# MediaPipe has a build of LiteRT of its own. Float sums may be in another order, which is 1e-6 of a probability; an
# int8 value on the edge may go to the step beside, which moves a logit some ten wide by hundredths.
ATOL = {"float32": 1e-5, "fp16": 1e-5}
INT8_ATOL = 0.02
TEXTS = 200
SAME = [
    "",
    " ",
    "What a GREAT film!",
    "don't stop, can't stop",
    "call 555-0199 at 7:45 for $1,234.50",
    "I love it 😀😀 👍🏽",
    "这部电影很好看",
    "日本語のテキスト",
    "“quoted” — dash… ¡no!",
    "^ ` ~ | € ©",
    "a\tb\nc",
    "bad " * 300,
    "x" * 300,
]
OTHERWISE = [
    "a café with crème brûlée, très bon",  # accents stay
    "naïve Zoë",
    "e\u0301te\u0301",
    "ÉTÉ ÜBER Ω ΑΒΓ İstanbul",  # only A to Z are lowered
    "한국어 영화",  # syllables are not taken apart
    "हिन्दी फिल्म",
    "good\u200bbad good\u00adbad a\x07b",  # controls stay
    "[UNK] good [SEP] bad [MASK]",  # no special tokens
]


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int4", "int8-dynamic", "int8", "int8-full"])
def test_every_recipe_of_a_small_bert_answers_in_mediapipe_what_it_answers_here(recipe, tmp_path):
    network, vocabulary = tiny_files.graph("outliers"), numbers(CONVERTED_WORDS)
    form = MediaPipeForm(name="tiny", labels=LABELS, vocabulary=vocabulary)
    graph = Graph(name="model", function=network, inputs=network.inputs, any_length=network.any_length, mediapipe=form)
    _, made = artifacts.convert(graph, base.get("tflite")).quantize(RECIPES[recipe], tiny_files.calibration)
    path = tmp_path / made.name
    path.write_bytes(made.content)
    generator = np.random.default_rng(0)
    rows = [generator.integers(4, CONVERTED_WORDS, length) for length in (*range(15), 40)]
    texts = [" ".join(str(word - 4) for word in row) for row in rows]
    ids, mask = np.zeros((2, len(rows), tiny_files.LENGTH), np.int32)
    for number, row in enumerate(rows):
        tokens = [2, *row[: tiny_files.LENGTH - 2], 3]
        ids[number, : len(tokens)], mask[number, : len(tokens)] = tokens, 1
    feed = {"ids": ids, "mask": mask, "segments": np.zeros_like(ids)}
    expected = load_runner(path, inputs=NAMES)(feed)["probabilities"]
    found = mediapipe.scores(path, texts, LABELS)
    assert np.abs(found - expected).max() <= ATOL.get(recipe, INT8_ATOL)
    assert np.ptp(expected) > 0.1  # the rows do differ


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """MiniLM-L6, trained on SST-2, in int8."""
    made = tmp_path_factory.mktemp("minilm") / "out"
    request = ExportRequest(
        checkpoint=minilm_sst2(),
        eval_data=data_folder("sst2", "dev.tsv"),
        eval_rows=200,
        mediapipe=True,
        target="tflite",
        max_seq_len=64,
        output=made,
    )
    assert export(request).passed
    return made


def ours(folder: Path, texts: list[str], tokenizer: Tokenizer | None = None) -> np.ndarray:
    tokenizer = tokenizer or Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(64)
    tokenizer.enable_padding(length=64)
    rows = tokenizer.encode_batch(texts)
    columns = ([row.ids for row in rows], [row.attention_mask for row in rows], [row.type_ids for row in rows])
    feed = {name: np.array(values, np.int32) for name, values in zip(NAMES, columns, strict=True)}
    return load_runner(folder / "mediapipe_int8.tflite", inputs=NAMES)(feed)["probabilities"]


def theirs(folder: Path, texts: list[str]) -> np.ndarray:
    labels = json.loads((folder / "model.json").read_text(encoding="utf-8"))["labels"]
    return mediapipe.scores(folder / "mediapipe_int8.tflite", texts, labels)


@pytest.mark.exhaustive
def test_200_texts_of_sst2_get_our_labels_and_scores(folder):
    with data_folder("sst2", "dev.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [row["sentence"] for row in rows][:TEXTS]
    found, expected = theirs(folder, texts), ours(folder, texts)
    np.testing.assert_array_equal(found.argmax(1), expected.argmax(1))
    assert np.abs(found - expected).max() <= INT8_ATOL


@pytest.mark.exhaustive
def test_hard_texts_get_our_labels_and_scores(folder):
    found, expected = theirs(folder, SAME), ours(folder, SAME)
    for text, one, other in zip(SAME, found, expected, strict=True):
        assert np.abs(one - other).max() <= INT8_ATOL, text[:40]


@pytest.mark.exhaustive
def test_texts_that_mediapipe_tokenizes_otherwise_differ_by_their_tokens_alone(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False
    )
    lowered = [re.sub("[A-Z]", lambda letter: letter[0].lower(), text) for text in OTHERWISE]
    found, expected = theirs(folder, OTHERWISE), ours(folder, lowered, tokenizer)
    for text, one, other in zip(OTHERWISE, found, expected, strict=True):
        assert np.abs(one - other).max() <= INT8_ATOL, text
    assert np.abs(found - ours(folder, OTHERWISE)).max(axis=1).max() > 0.1  # or there is nothing to tell
