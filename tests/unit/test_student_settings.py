"""What --set and --vocab say of a student, in the words of its own family."""

from pathlib import Path

import pytest

from models_tf import registry
from models_tf.errors import InputError
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training import student
from models_tf.training.token_settings import TokenSettings
from support.tiny_models import VOCABULARY, tiny_encoder

KEYS = {"distilbert": ("dropout", "attention_dropout")}
USUAL = ("hidden_dropout_prob", "attention_probs_dropout_prob")


def settings(folder: Path, **changes: object) -> TokenSettings:
    return TokenSettings(train=folder / "t.tsv", dev=folder / "d.tsv", output=folder / "out", **changes)


@pytest.mark.parametrize("name", registry.names(registry.TOKENS))
def test_dropout_rates_of_a_checkpoint_are_set_by_the_keys_of_its_config(name: str) -> None:
    hidden, attention = KEYS.get(name, USUAL)
    config = student._with_dropouts(tiny_encoder(name, "base"), [f"{hidden}=0.3", f"{attention}=0"])
    assert (config.hidden_dropout, config.attention_dropout) == (0.3, 0.0)
    with pytest.raises(InputError, match=f"KEY=VALUE with {hidden} or {attention}. Received: hidden_dropout=1."):
        student._with_dropouts(tiny_encoder(name, "base"), ["hidden_dropout=1"])


def test_special_tokens_of_a_new_model_are_those_of_its_vocabulary(tmp_path: Path) -> None:
    """A RoBERTa with WordPiece: its preset has the numbers of byte pairs."""
    tokenizer = Tokenizer.from_files({"vocab.txt": VOCABULARY})
    document = student._document("roberta", settings(tmp_path), tokenizer, [])
    found = document["bos_token_id"], document["eos_token_id"], document["pad_token_id"]
    assert found == (tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id)
    assert "bos_token_id" not in student._document("bert", settings(tmp_path), tokenizer, [])


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_one_of_two_files_of_a_vocabulary_is_not_enough(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=rf"--vocab must be a folder with vocab\.json and merges\.txt\. .*{name}, one"):
        student.tokenizer_files(settings(tmp_path, vocab=tmp_path / name), None, None)
