"""Two real BERT checkpoints give in Keras, and as float32 files, what they give in PyTorch.

all-MiniLM-L6-v2 on sentences, and MiniLM-L6 fine-tuned on SST-2 on all 872 rows of its dev set.
"""

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from exporters import ExportRequest, export
from exporters.formats.base import load_runner
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.model import Encoder
from models_tf.tokenizers.tokenizer import Tokenizer
from support.real_checkpoints import MINILM_SST2, data_folder, minilm, minilm_sst2

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ROOT = Path(__file__).parents[2]
# float32 through six layers of sums over at most 1536 products, weights of a trained model.
TOLERANCE = 1e-4
LENGTH = 64
TEXTS = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "Two men pushed carts through the woods; neither of them spoke.",
    "How do I reset my password?",
    "I forgot my password, what can I do?",
    "The quarterly figures of 2023 were 12.5 % below what had been expected, wrote the Financial Times on Tuesday.",
    "Zürich, São Paulo and 東京 are cities.",
    "no",
    "",
    "It 's not a bad film , merely an unnecessary one -- and nobody who has seen the first will ask for more of it . "
    * 4,
]
PAIRS = [*TEXTS[1:], TEXTS[0]]


@pytest.fixture(scope="module")
def folder() -> Path:
    return minilm()


@pytest.fixture(scope="module")
def origin(folder: Path) -> EncoderCheckpoint:
    return checkpoint.load(folder, model="bert")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return transformers.BertModel.from_pretrained(folder).eval()


def encoded(origin: EncoderCheckpoint, pairs: list[str] | None = None) -> dict[str, np.ndarray]:
    return Tokenizer.from_files(origin.tokenizer_files).encode(TEXTS, pairs, max_len=LENGTH)


def in_pytorch(model: Any, given: dict[str, np.ndarray]) -> Any:
    with torch.inference_mode():
        return model(
            input_ids=torch.from_numpy(given["ids"]).long(),
            attention_mask=torch.from_numpy(given["mask"]).long(),
            token_type_ids=torch.from_numpy(given["segments"]).long(),
            output_hidden_states=True,
        )


def embeddings(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """As the model's authors make them: the mean over tokens, then length 1."""
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_the_vocabulary_gives_the_ids_of_transformers(folder: Path, origin: EncoderCheckpoint) -> None:
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    for pairs in (None, PAIRS):
        settings = {"truncation": True, "max_length": LENGTH, "padding": "max_length", "return_tensors": "np"}
        theirs = tokenizer(TEXTS, pairs, **settings)
        ours = encoded(origin, pairs)
        for mine, other in (("ids", "input_ids"), ("mask", "attention_mask"), ("segments", "token_type_ids")):
            np.testing.assert_array_equal(ours[mine], theirs[other])


@pytest.mark.parametrize("pairs", [None, PAIRS], ids=["one text", "pairs"])
def test_every_hidden_state_of_minilm_equals_pytorch(
    origin: EncoderCheckpoint, model: Any, pairs: list[str] | None
) -> None:
    given = encoded(origin, pairs)
    assert given["mask"].min() == 0
    assert given["mask"][-1].min() == 1  # padded rows and a full one
    theirs = in_pytorch(model, given)
    ours = Encoder(origin.config, origin.head, origin.tensors)
    found = ours.activations(*(tf.constant(given[key]) for key in ("ids", "mask", "segments")))
    assert len(found.hidden_states) == len(theirs.hidden_states) == 7
    for mine, other in zip(found.hidden_states, theirs.hidden_states, strict=True):
        assert relative(mine.numpy(), other.numpy()) < TOLERANCE
    assert relative(found.outputs["pooled"].numpy(), theirs.pooler_output.numpy()) < TOLERANCE


def test_sentences_of_minilm_are_as_near_to_each_other_as_in_pytorch(origin: EncoderCheckpoint, model: Any) -> None:
    given = encoded(origin)
    ours = Encoder(origin.config, origin.head, origin.tensors)
    hidden = ours(*(tf.constant(given[key]) for key in ("ids", "mask", "segments")))["hidden"].numpy()
    mine = embeddings(hidden, given["mask"])
    theirs = embeddings(in_pytorch(model, given).last_hidden_state.numpy(), given["mask"])
    # Cosines are sums of 384 products of numbers that are right to 1e-6.
    np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-5)
    near = mine @ mine.T - 2 * np.eye(len(TEXTS))
    # Trained weights, read rightly, know what belongs together: food and bread, both passwords.
    assert [near[i].argmax() for i in (0, 1, 4, 5)] == [1, 0, 5, 4]


@pytest.mark.exhaustive
def test_float32_files_of_minilm_equal_pytorch(
    folder: Path, origin: EncoderCheckpoint, model: Any, tmp_path: Path
) -> None:
    request = ExportRequest(
        model="bert", checkpoint=folder, task="base", quantize="float32", max_seq_len=LENGTH, output=tmp_path / "out"
    )
    report = export(request)
    assert report.passed
    assert report.model["task"] == "base"
    given = encoded(origin, PAIRS)
    theirs = in_pytorch(model, given)
    tokens = given["mask"] > 0
    for name in ("model_float32.tflite", "model_float32.onnx"):
        found = load_runner(tmp_path / "out" / name, inputs=tuple(report.model["inputs"]))(given)
        # What stands at padded places is nobody's: the bounded mask changes it.
        assert relative(found["hidden"][tokens], theirs.last_hidden_state.numpy()[tokens]) < TOLERANCE
        assert relative(found["pooled"], theirs.pooler_output.numpy()) < TOLERANCE
        mine = embeddings(found["hidden"], given["mask"])
        others = embeddings(theirs.last_hidden_state.numpy(), given["mask"])
        np.testing.assert_allclose(mine @ mine.T, others @ others.T, atol=1e-5)


@pytest.mark.exhaustive
def test_all_rows_of_sst2_get_the_same_answer_in_pytorch_in_keras_and_from_float32_files(tmp_path: Path) -> None:
    """By the benchmark's own code, so that docs/results/bert_dense.json is what a run gives."""
    folder, data = minilm_sst2(), data_folder("sst2", "dev.tsv")
    measure = runpy.run_path(str(ROOT / "benchmarks" / "dense_bert.py"))["measure"]
    found = measure(folder, data, tmp_path, max_seq_len=64)
    assert found["rows"] == 872
    results = {result["stage"]: result for result in found["results"]}
    assert set(results) == {"PyTorch", "Keras", "float32 tflite", "float32 onnx"}
    assert results["PyTorch"]["right"] == results["Keras"]["right"] == 783
    assert results["Keras"]["differ"] == 0
    for name in ("float32 tflite", "float32 onnx"):
        # An answer whose two logits are nearer to each other than rounding may turn.
        assert results[name]["differ"] <= 1


def test_the_recorded_run_is_of_these_weights_and_shows_the_same_answers() -> None:
    recorded = json.loads((ROOT / "docs" / "results" / "bert_dense.json").read_text(encoding="utf-8"))
    assert recorded["sha256"] == MINILM_SST2
    assert recorded["rows"] == 872
    by_stage = {result["stage"]: result for result in recorded["results"]}
    assert by_stage["PyTorch"]["right"] == by_stage["Keras"]["right"] == 783
    page = (ROOT / "docs" / "bert.md").read_text(encoding="utf-8")
    for stage, result in by_stage.items():
        assert result["differ"] <= (0 if stage == "Keras" else 1)
        assert f"| {stage} | {result['right']} | {result['differ']} | {result['max_abs']:.2g} |" in page
