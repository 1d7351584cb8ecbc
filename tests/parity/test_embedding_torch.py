"""Embeddings equal PyTorch's: pooling by sentence-transformers' rules on transformers' BERT, whatever the padding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.bert import convert as bert
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import BASE, EMBEDDING, POOLINGS, Head
from models_tf.encoder.model import Encoder
from models_tf.encoder.pooling import unit_length
from models_tf.encoder.rewrites.apply import apply
from support import tiny_models
from support.network_runs import rows
from support.tiny_models import TIME, WORD_COUNT
from support.torch_models import our_model, pytorch_model

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

DOCUMENT: dict[str, Any] = {
    "model_type": "bert", "vocab_size": WORD_COUNT, "hidden_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": 20, "layer_norm_eps": 1e-12,
    "hidden_act": "gelu", "pad_token_id": 0,
}  # fmt: skip
# float32 of two small layers rounds by some 1e-6.
TOLERANCE = 1e-5
PADDINGS = ("none", "some", "all but one token")


def given(padding: str) -> dict[str, np.ndarray]:
    found = rows(padded=padding == "some")
    found["segments"][:] = 0
    if padding == "all but one token":
        found["mask"][:, 1:] = 0
    return found


def theirs(hidden: Any, mask: Any, pooling: str, normalize: bool) -> Any:
    """sentence-transformers' rules, in PyTorch."""
    real = mask.unsqueeze(-1).to(hidden.dtype)
    if pooling == "cls":
        found = hidden[:, 0]
    elif pooling == "max":
        found = hidden.masked_fill(real == 0, -1e9).max(1).values
    else:
        found = (hidden * real).sum(1) / real.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(found, p=2, dim=1) if normalize else found


@pytest.fixture(scope="module")
def models() -> tuple[Any, dict[str, np.ndarray]]:
    """PyTorch's model, and its weights by our names."""
    base = Head(kind=BASE)
    model = pytorch_model("Bert", DOCUMENT, base)
    tensors = our_model(bert.FAMILY, DOCUMENT, base, model).tensors()
    return model, {name: value for name, value in tensors.items() if not name.startswith("pooler.")}


def expected(model: Any, feed: dict[str, np.ndarray], pooling: str, normalize: bool) -> np.ndarray:
    with torch.no_grad():
        ids, mask = (torch.from_numpy(feed[name]).long() for name in ("ids", "mask"))
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        return theirs(hidden, mask, pooling, normalize).numpy()


@pytest.mark.parametrize("normalize", [True, False], ids=["normalized", "as pooled"])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_an_embedding_equals_pytorchs(models: Any, pooling: str, padding: str, normalize: bool) -> None:
    model, tensors = models
    head, feed = Head(kind=EMBEDDING, pooling=pooling, normalize=normalize), given(padding)
    ours = Encoder(bert.FAMILY.config.from_document(DOCUMENT, "config.json"), head, tensors)
    found = ours(*(tf.constant(feed[name]) for name in ("ids", "mask", "segments")))["embedding"].numpy()
    wanted = expected(model, feed, pooling, normalize)
    assert found.shape == wanted.shape == (4, 24)
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE * np.abs(wanted).max())
    network, _ = apply(ours.network(), fold="full", max_seq_len=TIME, one_segment=True, any_length=True)
    exported = NetworkGraph(network, TIME).predict(feed)["embedding"]
    np.testing.assert_allclose(exported, wanted, atol=TOLERANCE * np.abs(wanted).max())


@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_never_counts(models: Any, pooling: str) -> None:
    """A text alone and the same text with padding, whatever the ids there are."""
    _, tensors = models
    head = Head(kind=EMBEDDING, pooling=pooling, normalize=True)
    ours = Encoder(bert.FAMILY.config.from_document(DOCUMENT, "config.json"), head, tensors)
    feed = given("none")
    feed["mask"][:, 5:] = 0
    padded = ours(*(tf.constant(feed[name]) for name in ("ids", "mask", "segments")))["embedding"].numpy()
    alone = ours(*(tf.constant(feed[name][:, :5]) for name in ("ids", "mask", "segments")))["embedding"].numpy()
    np.testing.assert_allclose(padded, alone, atol=TOLERANCE)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_rewrites_of_a_model_without_layer_norms_leave_the_embedding_alone(pooling: str) -> None:
    """MobileBERT's channels are shifted and scaled for int8, but not those of the output."""
    made = tiny_models.network(tiny_models.config("opt"), Head(kind=EMBEDDING, pooling=pooling, normalize=True))
    feed = given("some")
    wanted = NetworkGraph(made, TIME).predict(feed)["embedding"]
    # With `any_length`, trigrams would see padding as the end of the text on purpose: see `end_at_padding`.
    network, names = apply(made, fold="full", max_seq_len=TIME, one_segment=True, rows=feed)
    assert "equalize" in names
    np.testing.assert_allclose(NetworkGraph(network, TIME).predict(feed)["embedding"], wanted, atol=TOLERANCE)


def test_zeros_have_no_direction() -> None:
    found = unit_length(tf.constant([[0.0, 0.0], [3.0, 4.0], [3e-7, 4e-7]])).numpy()
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8], [0.6, 0.8]], atol=1e-5)


def test_the_library_itself_agrees_on_a_folder(tmp_path: Any) -> None:
    """A folder that sentence-transformers reads and one that we read give the same vectors."""
    library = pytest.importorskip("sentence_transformers")
    from models_tf.checkpoints import encoder as checkpoints
    from models_tf.checkpoints.sentence_folder import read_sentence_folder
    from models_tf.tokenizers.tokenizer import Tokenizer
    from support.sentence_folders import write_sentence_folder

    folder = write_sentence_folder(tmp_path / "st", settings={"max_seq_length": 12, "do_lower_case": False})
    texts = ["1 2 3", "4", "5 6 7 8 9 10 11 12 13 14 15"]
    wanted = library.SentenceTransformer(str(folder), device="cpu").encode(texts)
    found, about = checkpoints.load(folder, head="embedding"), read_sentence_folder(folder)
    feed = Tokenizer.from_files(found.tokenizer_files).encode(texts, None, max_len=about.max_seq_len or 0)
    ours = Encoder(found.config, about.head, found.tensors)
    vectors = ours(*(tf.constant(feed[name]) for name in ("ids", "mask", "segments")))["embedding"].numpy()
    np.testing.assert_allclose(vectors, wanted, atol=TOLERANCE)


def with_mask(folder: Path) -> Path:
    """The library adds a [MASK] to a vocabulary that has none, which the table of words then lacks."""
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join([*vocabulary.read_text().split()[:-1], "[MASK]"]) + "\n")
    return folder


def test_a_folder_that_the_library_saved_keeps_its_length(tmp_path: Any) -> None:
    library = pytest.importorskip("sentence_transformers")
    from exporters.request import ExportRequest
    from exporters.sources.tokens import TokenSource
    from support.sentence_folders import write_sentence_folder

    folder = with_mask(write_sentence_folder(tmp_path / "st", settings={"max_seq_length": 12}))
    library.SentenceTransformer(str(folder), device="cpu").save(str(tmp_path / "again"))
    again = library.SentenceTransformer(str(tmp_path / "again"), device="cpu")
    assert TokenSource.load(ExportRequest(checkpoint=tmp_path / "again")).max_seq_len == again.max_seq_length == 12


def test_a_cross_encoder_that_the_library_saved_gives_its_scores(tmp_path: Any) -> None:
    library = pytest.importorskip("sentence_transformers")
    from exporters.request import ExportRequest
    from exporters.sources.tokens import TokenSource
    from support.tiny_models import write_checkpoint

    folder = with_mask(write_checkpoint(tmp_path / "plain", "bert", "regression"))
    saved = library.CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    saved.save_pretrained(str(tmp_path / "ce"))
    source = TokenSource.load(ExportRequest(checkpoint=tmp_path / "ce"))
    assert source.task == "regression"
    pairs = [("1 2 3", "4 5"), ("6", "7 8 9 10")]
    assert source.tokenizer is not None
    feed = source.tokenizer.encode(*map(list, zip(*pairs, strict=True)), max_len=source.max_seq_len)
    ours = Encoder(source.checkpoint.config, source.checkpoint.head, source.checkpoint.tensors)
    scores = ours(*(tf.constant(feed[name]) for name in ("ids", "mask", "segments")))["logits"].numpy()
    np.testing.assert_allclose(scores[:, 0], saved.predict(pairs), atol=TOLERANCE)
