"""Rows of token models: answers of every head, chunks, and what is made up without data."""

import dataclasses

import numpy as np
import pytest

from exporters.data.token_rows import TokenReader, TokenRows
from exporters.request import ExportRequest
from models_tf.encoder.config import EncoderConfig
from models_tf.errors import InputError
from support.tiny_models import TOKENS, tiny_tokenizer

LENGTH = 9
CONFIG = EncoderConfig(
    vocab_size=len(TOKENS),
    hidden_size=8,
    num_layers=1,
    num_heads=2,
    intermediate_size=8,
    embedding_size=8,
    bottleneck_size=8,
)
MASK = np.array([[1, 1, 0], [1, 1, 1]], np.int32)


def reader(task: str = "classification", *, tokenizer: bool = True, **fields) -> TokenReader:
    return TokenReader(
        columns=ExportRequest(model="mobilebert", checkpoint="folder", **fields).columns,
        task=task,
        labels=("no", "yes"),
        vocab_size=CONFIG.vocab_size,
        pairs=True,
        max_seq_len=LENGTH,
        tokenizer=tiny_tokenizer() if tokenizer else None,
    )


def plain() -> TokenRows:
    return TokenRows(inputs={"ids": MASK, "mask": MASK, "segments": 0 * MASK}, keys=["a", "b"])


def test_without_a_task_answers_are_all_that_stands_for_a_token():
    hidden, pooled = np.arange(12.0).reshape(2, 3, 2), np.array([[90.0, 91.0], [92.0, 93.0]])
    answers = plain().answers({"hidden": hidden, "pooled": pooled})
    assert answers.tolist() == [[0, 1], [2, 3], [6, 7], [8, 9], [10, 11], [90, 91], [92, 93]]


def test_rows_without_a_task_have_no_score():
    assert not plain().labelled
    with pytest.raises(ValueError, match="without a task"):
        plain().score({}, seed=0)


def test_chunks_hold_all_inputs_by_name():
    chunks = list(plain().chunks(1))
    assert [chunk["mask"].tolist() for chunk in chunks] == [[[1, 1, 0]], [[1, 1, 1]]]
    assert set(chunks[0]) == {"ids", "mask", "segments"}


def test_taken_rows_keep_inputs_keys_and_task(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("text\tlabel\ngood film\tyes\nbad\tno\nthe play\tyes\n")
    rows = reader().read(path)
    assert rows.labelled
    assert rows.one_segment
    taken = rows.take([2, 0])
    assert taken.keys == ["the play", "good film"]
    np.testing.assert_array_equal(taken.inputs["ids"], rows.inputs["ids"][[2, 0]])
    logits = np.array([[0.0, 1.0], [0.0, 1.0]], np.float32)
    assert taken.score({"logits": logits}, seed=0).value == 100.0


def test_pairs_are_two_segments(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("one\ttwo\tlabel\ngood\tbad\tyes\nfilm\tfilm\tno\n")
    rows = reader(text_column="one", text_pair_column="two").read(path)
    assert not rows.one_segment


@pytest.mark.parametrize("task", ["classification", "regression", "token-classification", "question-answering", "base"])
@pytest.mark.parametrize("tokenizer", [True, False])
def test_generated_rows_fit_the_model_and_can_be_compared(task, tokenizer):
    made = reader(task, tokenizer=tokenizer)
    first, again, other = (made.generate(seed) for seed in (1, 1, 2))
    ids, mask = first.inputs["ids"], first.inputs["mask"]
    assert ids.shape == (64, LENGTH)
    assert 0 <= ids.min() <= ids.max() < CONFIG.vocab_size
    assert {int(length) for length in mask.sum(axis=1)} >= {LENGTH}
    assert not ids[mask == 0].any()
    np.testing.assert_array_equal(ids, again.inputs["ids"])
    assert (ids != other.inputs["ids"]).any()
    assert not first.labelled
    shapes = {
        "classification": {"logits": (64, 2)},
        "regression": {"logits": (64, 1)},
        "token-classification": {"logits": (64, LENGTH, 2)},
        "question-answering": {"start_logits": (64, LENGTH), "end_logits": (64, LENGTH)},
        "base": {"hidden": (64, LENGTH, 4), "pooled": (64, 4)},
    }
    answers = first.answers({name: np.ones(shape, np.float32) for name, shape in shapes[task].items()})
    assert answers.ndim == 2


def test_random_weights_cannot_read_texts(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("text\tlabel\ngood\tyes\n")
    with pytest.raises(InputError, match="need a tokenizer"):
        reader(tokenizer=False).read(path)


def test_a_base_model_reads_texts_and_no_labels(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("text\ngood film\nbad\n")
    rows = reader("base").read_texts(path)
    assert rows.keys == ["good film", "bad"]
    with pytest.raises(InputError, match="a base model has none"):
        reader("base").read(path)


class Counting:
    """A tokenizer that counts the texts that it is asked for."""

    def __init__(self) -> None:
        self.tokenizer, self.texts = tiny_tokenizer(), 0

    def encode(self, texts, *arguments, **options):
        self.texts += len(texts)
        return self.tokenizer.encode(texts, *arguments, **options)


def test_only_the_rows_that_are_picked_are_tokenized(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("text\n" + "".join(f"good film {i}\n" for i in range(50)))
    whole, counting = reader().read_texts(path), Counting()
    some = dataclasses.replace(reader(), tokenizer=counting).read_texts(path, lambda count: [3, count - 1])
    assert counting.texts == 2
    assert some.keys == ["good film 3", "good film 49"]
    np.testing.assert_array_equal(some.inputs["ids"], whole.inputs["ids"][[3, 49]])
