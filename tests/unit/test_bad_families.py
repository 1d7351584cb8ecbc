"""Bad input of the families beside BERT: every key of config.json with wrong values, tokenizers of other families. One
clear line that names the key or the file, exit code 2, and nothing written.
"""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from exporters.commands import main as cli
from models_tf import registry
from models_tf.errors import InputError
from support.byte_pairs import byte_pairs
from support.checkpoint_folders import edit_document
from support.export_command import everything_under
from support.spiece_files import CONTROL, DEBERTA_TOKENS, NORMAL, UNKNOWN, deberta_model, spiece_model
from support.tiny_models import DOCUMENTS, RELATIVES, VOCABULARY, numbers, write_checkpoint

WRONG = (
    "word", "", " ", "24", "true", "\x1b[31mred\n", -1, 0, 1.5, 10**12, math.nan, math.inf, True, False, None,
    [], [1.5], ["a"], [[1]], {}, {"0": [1]},
)  # fmt: skip
RATES = ("dropout", "attention_dropout", "hidden_dropout_prob", "attention_probs_dropout_prob")
HEAD_RATES = ("classifier_dropout", "qa_dropout", "seq_classif_dropout")
LISTS = ("export_mobile_kept_heads", "export_mobile_kept_ffn", "export_mobile_shared_layers")
FLAGS = ("is_decoder", "add_cross_attention")
# Those of the values above that are right. Python has 0 for false, and so has `transformers`.
RIGHT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(RATES, (0,)),
    **dict.fromkeys(HEAD_RATES, (0, None)),
    **dict.fromkeys(LISTS, ([],)),
    **dict.fromkeys(FLAGS, (0, False)),
    "initializer_range": (0, 1.5),
    "layer_norm_eps": (0,),
    "pad_token_id": (0, None),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
    "sinusoidal_pos_embds": (0, False, True),
}
# By family, where they differ. Positions of RoBERTa and MPNet begin behind the padding; some heads cannot be pruned.
OWN_RIGHT: dict[str, dict[str, tuple[Any, ...]]] = {
    "roberta": {"pad_token_id": (0,)},
    "xlm-roberta": {"pad_token_id": (0,)},
    "mpnet": {"pad_token_id": (0,), "export_mobile_kept_heads": (None,)},
    "deberta-v2": {
        "export_mobile_kept_heads": (None,),
        "type_vocab_size": (0,),
        "relative_attention": (True,),
        **dict.fromkeys(("position_buckets", "max_relative_positions"), (-1, 0)),
        **dict.fromkeys(("share_att_key", "position_biased_input"), (True, False)),
        **dict.fromkeys(("pooler_hidden_size", "attention_head_size"), (None,)),
        **dict.fromkeys(("pooler_dropout", "cls_dropout"), (0, None)),
        "conv_kernel_size": (0, False),
    },
}


def keys_of(model: str) -> list[str]:
    return [field.key for field in registry.get(model).family().config.fields]


def is_right(model: str, key: str, value: Any) -> bool:
    right = {**RIGHT, **OWN_RIGHT.get(model, {})}.get(key, ())
    return any(type(one) is type(value) and one == value for one in right)


@pytest.mark.parametrize(("model", "key"), [(model, key) for model in RELATIVES for key in keys_of(model)])
def test_every_key_with_a_wrong_value_is_one_line_that_names_it(model: str, key: str) -> None:
    table = registry.get(model).family().config
    for value in WRONG:
        document = {**DOCUMENTS[model], key: value}
        if is_right(model, key, value):
            table.from_document(document)
            continue
        with pytest.raises(InputError) as raised:
            table.from_document(document)
        line = str(raised.value)
        assert line.startswith(f"config.json: `{key}` must be"), (value, line)
        assert ". Received: " in line
        assert line.isprintable()
        assert len(line) < 400
        if isinstance(value, str) and value != "word":
            assert f"Received: {value!r}" in line  # in quotes: a text of digits is no number


CROSSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "heads": ({"num_attention_heads": 5}, ["`num_attention_heads`, 5"]),
    "more heads kept than there are": ({"export_mobile_kept_heads": [3, 1]}, ["`export_mobile_kept_heads`"]),
    "lists of other lengths": ({"export_mobile_kept_ffn": [3]}, ["`export_mobile_kept_ffn`"]),
    "layers that share with later ones": ({"export_mobile_shared_layers": [1, 2]}, ["`export_mobile_shared_layers`"]),
}


@pytest.mark.parametrize("name", CROSSED)
@pytest.mark.parametrize("model", RELATIVES)
def test_values_that_do_not_fit_each_other_are_named_by_their_keys(model: str, name: str) -> None:
    changes, words = CROSSED[name]
    own = {"num_attention_heads": "n_heads"} if model == "distilbert" else {}
    with pytest.raises(InputError) as raised:
        registry.get(model).family().config.from_document(
            {**DOCUMENTS[model], **{own.get(key, key): value for key, value in changes.items()}}
        )
    line = str(raised.value)
    for word in words:
        for key, ours in own.items():
            word = word.replace(key, ours)  # noqa: PLW2901 - the family's own name
        assert word in line
    assert line.isprintable()


@pytest.fixture(scope="module", params=RELATIVES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp(request.param) / "model", request.param)


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Exports the checkpoint, which must fail with these words in one line."""

    def check(checkpoint: Path, *words: str) -> None:
        place = tmp_path / "made"
        place.mkdir()
        capsys.readouterr()
        flags = ["--checkpoint", str(checkpoint), "--quantize", "float32", "--output", str(place / "out")]
        assert cli.main(flags) == 2
        found = capsys.readouterr()
        (line,) = found.err.splitlines()
        for word in words:
            assert word in line
        assert found.out == ""
        assert everything_under(place) == []

    return check


HEADS: list[tuple[dict[str, Any], str]] = [
    ({"model_type": "gpt2"}, 'Received: "gpt2"'),
    ({"model_type": 3}, "Received: 3"),
    ({"model_type": None}, "Received: null"),
    ({"architectures": "x"}, "`architectures` must be a list of class names"),
    ({"architectures": [3]}, "`architectures` must be a list of class names"),
    ({"architectures": ["GPT2Model"]}, "Received: GPT2Model"),
    ({"id2label": []}, "`id2label` must be an object of numbers and labels"),
    ({"id2label": {"0": "a", "2": "b"}}, "`id2label` must be numbered from 0 to 1 without gaps"),
    ({"id2label": {"0": "a\n", "1": "b", "2": "c"}}, "`id2label` must be labels of printable text"),
    ({"id2label": {"0": "a", "1": "a", "2": "b"}}, "`id2label` must be labels that differ"),
    ({"label2id": {"no": 1, "yes": 0, "perhaps": 2}}, "`label2id` must be the inverse of `id2label`"),
    ({"num_labels": "3"}, "`num_labels` must be 3, as `id2label` has. Received: '3'"),
    ({"num_labels": 7}, "`num_labels` must be 3, as `id2label` has. Received: 7"),
    ({"problem_type": "regression"}, "`problem_type` must be one that fits 3 labels"),
    ({"problem_type": []}, "`problem_type` must be one of regression"),
]


@pytest.mark.parametrize(("changes", "words"), HEADS, ids=lambda value: str(value)[:40])
def test_a_wrong_head_is_one_line(folder: Path, changes: dict[str, Any], words: str, tmp_path: Path, refused) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    edit_document(copy, **changes)
    refused(copy, words)


def xlmr_model(size: int = 4) -> bytes:
    front = (("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL))
    return spiece_model((*front, *((f"\u2581w{number}", -1.0, NORMAL) for number in range(size))))


PAIRS = byte_pairs()
SIZE, ROWS = "as many tokens as the word embedding has rows, 60", len(json.loads(PAIRS["vocab.json"]))
# Files in place of the folder's own vocabulary of 60 tokens, and what is said of them.
TOKENIZERS: dict[str, tuple[dict[str, bytes], tuple[str, ...]]] = {
    "WordPiece of another size": ({"vocab.txt": numbers(30)}, ("vocab.txt", SIZE, "Received: 30")),
    "byte pairs": (
        {name: PAIRS[name] for name in ("vocab.json", "merges.txt")},
        ("vocab.json", SIZE, f"Received: {ROWS}"),
    ),
    "byte pairs in tokenizer.json": ({"tokenizer.json": PAIRS["tokenizer.json"]}, ("tokenizer.json", SIZE)),
    "byte pairs beside the right vocab.txt": (
        {"vocab.txt": VOCABULARY, "tokenizer.json": PAIRS["tokenizer.json"]},
        ("tokenizer.json", SIZE),
    ),
    "ALBERT's": ({"spiece.model": spiece_model()}, ("spiece.model", SIZE, "Received: 61")),
    "ALBERT's beside the right vocab.txt": (
        {"vocab.txt": VOCABULARY, "spiece.model": spiece_model()},
        ("spiece.model", SIZE),
    ),
    "XLM-RoBERTa's": ({"sentencepiece.bpe.model": xlmr_model()}, ("sentencepiece.bpe.model", SIZE, "Received: 9")),
    "XLM-RoBERTa's with ALBERT's name": ({"spiece.model": xlmr_model()}, ("spiece.model", "special token '<pad>'")),
    "ALBERT's with XLM-RoBERTa's name": (
        {"sentencepiece.bpe.model": spiece_model()},
        ("sentencepiece.bpe.model must begin with the pieces <unk>, <s>, </s>",),
    ),
    "DeBERTa's": (
        {"spm.model": deberta_model()},
        ("spm.model", SIZE, f"Received: {DEBERTA_TOKENS}"),
    ),
    "ALBERT's with DeBERTa's name": ({"spm.model": spiece_model()}, ("spm.model", "special token '[PAD]'")),
    "WordPiece with DeBERTa's name": ({"spm.model": VOCABULARY}, ("spm.model must be a SentencePiece model",)),
    "WordPiece as SentencePiece": ({"spiece.model": VOCABULARY}, ("spiece.model must be a SentencePiece model",)),
    "WordPiece as byte pairs": ({"vocab.json": VOCABULARY, "merges.txt": b""}, ("vocab.json must be JSON",)),
    "byte pairs as WordPiece": ({"vocab.txt": PAIRS["vocab.json"]}, ("vocab.txt", "special token '[PAD]'")),
    "SentencePiece as WordPiece": ({"vocab.txt": spiece_model()}, ("vocab.txt must",)),
    "half of the byte pairs": ({"vocab.json": PAIRS["vocab.json"]}, ("merges.txt. Received: vocab.json",)),
    "the other half": ({"merges.txt": PAIRS["merges.txt"]}, ("vocab.json and merges.txt. Received: merges.txt",)),
    "none": ({}, ("Received: none of them",)),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_of_another_family_is_one_line(folder: Path, name: str, tmp_path: Path, refused) -> None:
    files, words = TOKENIZERS[name]
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    (copy / "vocab.txt").unlink()
    for file, data in files.items():
        (copy / file).write_bytes(data)
    refused(copy, *words)
