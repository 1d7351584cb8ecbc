"""Sentence order: rows from plain text, training on them, the head in checkpoints; and ALBERTs with SentencePiece."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from exporters import TrainRequest
from exporters import train as train_model
from exporters.commands.main import main
from exporters.request import ExportRequest
from exporters.sources.tokens import TokenSource
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.batches import Predictor
from models_tf.encoder.heads import ORDER_LABELS
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from models_tf.tasks import SENTENCE_ORDER, read_rows
from models_tf.tasks.sentence_order import neighbours, read_order
from models_tf.tokenizers.tokenizer import Tokenizer
from support.export_command import everything_under
from support.spiece_files import PIECES, spiece_model
from support.tiny_models import tiny_tokenizer
from support.token_training import FAST, overrides

TEXT = "the film\nwas good\nin berlin\n\nanna smith\nlives\n \nalone\n"
SIZES = {
    "num_hidden_layers": 2, "hidden_size": 12, "intermediate_size": 16, "num_attention_heads": 3, "embedding_size": 8,
    "max_position_embeddings": 24,
}  # fmt: skip
FIRST, SECOND = ["anna", "smith", "the film", "a play"], ["lives", "was good", "was bad", "in berlin"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of two segments, the second of which never begins one."""
    folder, generator = tmp_path_factory.mktemp("order"), random.Random(0)
    (folder / "spiece.model").write_bytes(spiece_model())
    for name, count in (("train", 160), ("dev", 40)):
        documents = [f"{generator.choice(FIRST)}\n{generator.choice(SECOND)}\n" for _ in range(count)]
        (folder / f"{name}.txt").write_text("\n".join(documents))
    return folder


def train(files: Path, output: Path, **fields: Any) -> dict[str, Any]:
    rows = {"train": files / "train.txt", "dev": files / "dev.txt", "max_seq_len": 12, "batch_size": 16}
    request = TrainRequest(model="albert", task=SENTENCE_ORDER, output=output, **rows, **fields)
    return train_model(request).to_dict()


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("trained") / "albert"
    new = {"vocab": files / "spiece.model", "overrides": overrides(SIZES)}
    return output, train(files, output, **new, **FAST, epochs=6)


def test_neighbours_of_a_document_are_pairs(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    pairs = [("the film", "was good"), ("was good", "in berlin"), ("anna smith", "lives")]
    assert list(neighbours(tmp_path / "text.txt")) == pairs
    (tmp_path / "dos.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert list(neighbours(tmp_path / "dos.txt")) == pairs


def test_half_of_the_rows_are_swapped_and_always_the_same(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(f"film {number}" for number in range(101)))
    one, two = (read_order(path, tokenizer=tiny_tokenizer(), max_len=16) for _ in range(2))
    assert one.targets is not None
    assert two.targets is not None
    swapped = one.targets["logits"]
    np.testing.assert_array_equal(swapped, two.targets["logits"])
    assert (len(swapped), swapped.sum(), swapped.dtype) == (100, 50, np.int32)
    assert one.labels == ORDER_LABELS
    for number, (key, turned) in enumerate(zip(one.keys, swapped, strict=True)):
        expected = (f"film {number}", f"film {number + 1}")
        assert tuple(key.split("\t")) == (expected[::-1] if turned else expected)
    pair = tiny_tokenizer().encode([one.keys[0].split("\t")[0]], [one.keys[0].split("\t")[1]], max_len=16)
    np.testing.assert_array_equal(one.inputs["ids"][0], pair["ids"][0])
    np.testing.assert_array_equal(one.inputs["segments"][0], pair["segments"][0])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "Received: an empty file"),
        (b"one\n\ntwo\n\nthree\n", "must have documents of two or more segments"),
        (b"same\nsame\nsame\n", "Received: 0 pairs"),
        (b"a\nb\n\xff\n", "must be UTF-8. Received: byte 0xff in line 3"),
    ],
)
def test_a_text_without_pairs_is_one_clear_line(content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_rows(SENTENCE_ORDER, tmp_path / "text.txt", tokenizer=tiny_tokenizer(), labels=ORDER_LABELS, max_len=8)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_albert_with_sentencepiece_learns_the_order(trained: tuple[Path, dict[str, Any]]) -> None:
    output, result = trained
    assert result["dev_rows"] == 40
    assert result["dev_score"] > 90
    assert everything_under(output) == [
        "config.json", "model.safetensors", "spiece.model", "training.json",
    ]  # fmt: skip
    found = checkpoint.load(output)
    assert (found.model_name, found.labels, found.config.shared_layers) == ("albert", list(ORDER_LABELS), (0, 0))
    assert Tokenizer.from_folder(output).vocab_size == found.config.vocab_size == len(PIECES)


def test_a_trained_order_is_measured_on_text(files: Path, trained: tuple[Path, dict[str, Any]]) -> None:
    """What `export-mobile --eval-data text.txt` reads; with and without naming the task."""
    output, result = trained
    for task in (SENTENCE_ORDER, None):
        request = ExportRequest(
            model="albert",
            checkpoint=output,
            task=task,
            eval_data=files / "dev.txt",
            max_seq_len=12,
            quantize="float32",
        )
        source = TokenSource.load(request)
        assert source.task == "classification"
        rows = source.rows(calibrate=False).evaluation
        model = Encoder(source.checkpoint.config, source.checkpoint.head, source.checkpoint.tensors)
        outputs = Predictor(model)(rows.inputs)  # type: ignore[union-attr]
        assert rows.score(outputs, seed=0).value == pytest.approx(result["dev_score"])


def test_a_classifier_of_something_else_is_no_order(tmp_path: Path) -> None:
    document = {"model_type": "albert", "vocab_size": 50, **SIZES}
    checkpoint.save(tmp_path, checkpoint.random_init("albert", document, head="classification", labels=["no", "yes"]))
    with pytest.raises(
        InputError, match=r"a sentence-order model is asked for, with labels in-order and swapped\. Received: no, yes"
    ):
        checkpoint.load(tmp_path, head=SENTENCE_ORDER)
    base = tmp_path / "base"
    checkpoint.save(base, checkpoint.random_init("albert", document))
    with pytest.raises(InputError, match=r"a sentence-order model is asked for\. Received: a base model"):
        checkpoint.load(base, head=SENTENCE_ORDER)


def test_a_model_of_masked_words_can_be_fine_tuned(files: Path, tmp_path: Path) -> None:
    """It has no pooler, so one is drawn."""
    document = {"model_type": "albert", "vocab_size": len(PIECES), **SIZES}
    made = checkpoint.random_init("albert", document, tokenizer_files={"spiece.model": spiece_model()})
    checkpoint.save(tmp_path / "masked", made)
    stored = load_file(tmp_path / "masked" / "model.safetensors")
    heads = {"predictions.bias": np.zeros(len(PIECES), np.float32)}
    kept = {f"albert.{name}": value for name, value in stored.items() if not name.startswith("pooler")}
    save_file(kept | heads, tmp_path / "masked" / "model.safetensors")
    config = json.loads((tmp_path / "masked" / "config.json").read_text())
    (tmp_path / "masked" / "config.json").write_text(json.dumps({**config, "architectures": ["AlbertForMaskedLM"]}))
    base = checkpoint.load(tmp_path / "masked")
    assert not base.config.pools_base
    assert "pooler.kernel" not in base.tensors
    checkpoint.save(tmp_path / "again", base)
    assert checkpoint.load(tmp_path / "again").config == base.config
    result = train(files, tmp_path / "tuned", checkpoint=tmp_path / "masked", epochs=1)
    assert result["dev_rows"] == 40
    assert checkpoint.load(tmp_path / "tuned").labels == list(ORDER_LABELS)


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_an_albert_without_its_vocabulary_is_one_clear_line(
    damage: str, trained: tuple[Path, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in trained[0].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    if damage == "missing":
        (folder / "spiece.model").unlink()
    else:
        (folder / "spiece.model").write_bytes(spiece_model()[:500])
    output = tmp_path / "out"
    code = main(["--model", "albert", "--checkpoint", str(folder), "--quantize", "float32", "--output", str(output)])
    said = capsys.readouterr().err.strip()
    assert code == 2
    expected = "must have tokenizer.json, spiece.model, " if damage == "missing" else "is cut"
    assert expected in said
    assert "\n" not in said
    assert not output.exists()
