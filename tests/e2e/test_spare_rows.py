"""A word embedding with a few more rows than there are tokens, as DeBERTa-v3's has: every command takes it, an export
and a training say so, and pruning drops the rows that no token has.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import (
    AblateRequest,
    CompressRequest,
    ExplainRequest,
    ExportRequest,
    TrainRequest,
    ablate,
    compress,
    explain,
    export,
    train,
)
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.vocabulary import in_vocabulary_of
from models_tf.compress.settings import Compression
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.tokenizers.tokenizer import Tokenizer
from support.network_runs import outputs, relative_error
from support.spiece_files import DEBERTA_TOKENS, deberta_model
from support.tiny_models import DEBERTA_V2, LABELS, VOCABULARY, write_checkpoint
from support.token_training import Lines

SPARE = 12
ROWS = DEBERTA_TOKENS + SPARE
NOTE = (
    f"The word embedding has {ROWS} rows for {DEBERTA_TOKENS} tokens: {SPARE} of them have no token and are never read."
)
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "position_buckets")
WORDS = ("film", "good", "bad", "the", "Anna", "caf\u00e9")


def write_deberta(folder: Path, **changes: Any) -> Path:
    write_checkpoint(folder, "deberta-v2", vocab_size=ROWS, **changes)
    (folder / "vocab.txt").unlink()
    (folder / "spm.model").write_bytes(deberta_model())
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_deberta(tmp_path_factory.mktemp("spare") / "whole")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    labels = LABELS["classification"]
    texts = (f"{WORDS[i % 6]} {WORDS[i % 5]}\t{labels[i % 3]}\n" for i in range(30))
    path.write_text("text\tlabel\n" + "".join(texts), encoding="utf-8")
    return path


def exported(folder: Path, output: Path, **changes: Any) -> Any:
    report = export(ExportRequest(checkpoint=folder, quantize="float32", target=("onnx",), output=output, **changes))
    report.raise_for_failures()
    return report


def answers(of: checkpoint.EncoderCheckpoint) -> dict[str, np.ndarray]:
    inputs = Tokenizer.from_files(of.tokenizer_files).encode(WORDS, max_len=12)
    network = Network(config=of.config, head=of.head, tensors=of.tensors)
    return outputs(network, {name.removeprefix("input_"): value for name, value in inputs.items()})


def test_an_export_says_so_and_its_files_know_the_tokens_alone(folder, rows, tmp_path):
    report = exported(folder, tmp_path / "out", eval_data=rows)
    assert NOTE in report.notes
    assert json.loads((tmp_path / "out" / "model.json").read_text())["tokenizer"]["vocab_size"] == DEBERTA_TOKENS


def test_pruning_drops_the_rows_and_keeps_the_answers(folder, rows, tmp_path):
    asked = Compression(prune_vocab=True)
    compress(CompressRequest(checkpoint=folder, vocab_data=(rows,), compression=asked, output=tmp_path / "small"))
    small = checkpoint.load(tmp_path / "small")
    assert Tokenizer.from_folder(tmp_path / "small").vocab_size == small.config.vocab_size < DEBERTA_TOKENS
    assert not (tmp_path / "small" / "spm.model").exists()
    assert relative_error(answers(small), answers(checkpoint.load(folder))) == 0.0
    report = exported(folder, tmp_path / "out", compression=asked, vocab_data=(rows,))
    assert not any("word embedding" in note for note in report.notes)


def test_a_training_says_so_and_its_checkpoint_is_exported(folder, rows, tmp_path):
    request = TrainRequest(
        model="deberta-v2", checkpoint=folder, train=rows, dev=rows, output=tmp_path / "new", epochs=1, max_seq_len=12
    )
    progress = Lines()
    trained = train(request, progress=progress)
    assert progress.lines.count(NOTE) == 1
    assert checkpoint.load(trained.output).config.vocab_size == ROWS
    assert NOTE in exported(trained.output, tmp_path / "out").notes
    progress, pruning = Lines(), Compression(prune_vocab=True)
    made = train(dataclasses.replace(request, compression=pruning, output=tmp_path / "pruned"), progress=progress)
    assert NOTE not in progress.lines
    assert checkpoint.load(made.output).config.vocab_size < DEBERTA_TOKENS


@pytest.mark.parametrize("how", [{}, {"hidden_weight": 1.0}, {"init_from_teacher": True}], ids=str)
@pytest.mark.parametrize("vocabulary", ["the teacher's", "of its own"])
def test_a_teacher_with_spare_rows_teaches(folder, rows, tmp_path, how, vocabulary):
    """Its own tokens under their own numbers, or a student that reads words in another way."""
    other = tmp_path / "vocab.txt"
    other.write_bytes(VOCABULARY)
    request = TrainRequest(
        model="deberta-v2",
        vocab=None if vocabulary == "the teacher's" else other,
        train=rows,
        dev=rows,
        output=tmp_path / "new",
        epochs=1,
        max_seq_len=12,
        teacher=(folder,),
        overrides=tuple(f"{key}={DEBERTA_V2[key]}" for key in SIZES),
        **how,
    )
    if vocabulary == "of its own" and how:
        with pytest.raises(InputError, match="must have the student's vocabulary, 60 tokens, for"):
            train(request)
        return
    made = checkpoint.load(train(request).output)
    assert made.config.vocab_size == (DEBERTA_TOKENS if vocabulary == "the teacher's" else 60)


def test_a_teacher_reads_the_numbers_of_a_student_without_its_spare_rows(folder):
    teacher = checkpoint.load(folder)
    found = in_vocabulary_of(teacher, Tokenizer.from_files(teacher.tokenizer_files))
    assert found is not None
    assert found.config.vocab_size == DEBERTA_TOKENS
    assert relative_error(answers(found), answers(teacher)) == 0.0


def test_an_ablation_and_an_explanation_take_it(folder, rows, tmp_path):
    assert len(ablate(AblateRequest(checkpoint=folder, data=rows, what="layers")).layers) == 2
    power = write_checkpoint(tmp_path / "power", "powerbert", vocab_size=62)
    (power / "vocab.txt").write_bytes(VOCABULARY)
    assert len(explain(ExplainRequest(checkpoint=power, text=("1 2",))).texts) == 1


def test_padding_with_a_spare_row_cannot_be_pruned(rows, tmp_path):
    folder = write_deberta(tmp_path / "whole", pad_token_id=ROWS - 1)
    asked = CompressRequest(
        checkpoint=folder, vocab_data=(rows,), compression=Compression(prune_vocab=True), output=tmp_path / "small"
    )
    with pytest.raises(InputError, match=r"`pad_token_id` must be one of the 600 tokens.* Received: 611\."):
        compress(asked)
