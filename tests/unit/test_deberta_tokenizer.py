"""spm.model of DeBERTa: the tokens are those of `transformers`, and other settings are refused."""

from pathlib import Path
from typing import Any

import pytest

from models_tf.errors import InputError
from models_tf.tokenizers.spiece_file import read_spiece
from models_tf.tokenizers.tokenizer import SENTENCEPIECE, Tokenizer
from support.spiece_files import deberta_model

FILE = "spm.model"
# `transformers` 5 puts NFC in place of the file's own table: without one both prepare a text alike.
MODEL = deberta_model(character_map=False)
WITH_BYTES = deberta_model(character_map=False, byte_fallback=True)
PAGES = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))[:6]
TEXTS = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines() if line.strip()][:300]
TEXTS += ["", " ", "the  film ", "a [MASK] b", "x[SEP]y", "\u00e9t\u00e9 \U0001f600", "(the) film", "[UNK] [PAD]"]


def of_transformers(folder: Path, model: bytes) -> Any:
    transformers = pytest.importorskip("transformers")
    (folder / FILE).write_bytes(model)
    return transformers.DebertaV2Tokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return of_transformers(tmp_path_factory.mktemp("deberta"), MODEL)


def test_pieces_keep_their_numbers_and_the_mask_comes_last() -> None:
    found, pieces = Tokenizer.from_files({FILE: MODEL}), read_spiece(MODEL).pieces
    assert found.kind == SENTENCEPIECE
    assert found.tokens == [*(text for text, _, _ in pieces), "[MASK]"]
    assert (found.pad_id, found.cls_id, found.sep_id, found.unk_id) == (0, 1, 2, 3)


def test_tokens_are_those_of_transformers(theirs: Any) -> None:
    ours = Tokenizer.from_files({FILE: MODEL})
    for text, pieces in zip(TEXTS, ours.pieces(TEXTS), strict=True):
        assert list(pieces.ids) == theirs(text, add_special_tokens=False)["input_ids"], text


def test_a_file_with_bytes_gives_the_tokens_of_transformers(tmp_path: Path) -> None:
    """v3's own file asks for bytes in place of unknown characters; the tokenizer of `transformers` does not do so."""
    theirs, ours = of_transformers(tmp_path, WITH_BYTES), Tokenizer.from_files({FILE: WITH_BYTES})
    texts = [*TEXTS, "\U0001f600", "a \U00013000 b", "\u65e5\u672c\u8a9e", "\u2603\u2603", "<0x0A> <0xE2>", "\x85"]
    for text, pieces in zip(texts, ours.pieces(texts), strict=True):
        assert list(pieces.ids) == theirs(text, add_special_tokens=False)["input_ids"], text
    assert ours.unk_id in ours.pieces(["\U0001f600"])[0].ids


def test_a_saved_tokenizer_json_gives_the_same_tokens(theirs: Any, tmp_path: Path) -> None:
    theirs.save_pretrained(tmp_path)
    saved = Tokenizer.from_files({"tokenizer.json": (tmp_path / "tokenizer.json").read_bytes()})
    assert (saved.pad_id, saved.cls_id, saved.sep_id, saved.unk_id) == (0, 1, 2, 3)
    found = [list(pieces.ids) for pieces in saved.pieces(TEXTS)]
    assert found == [list(pieces.ids) for pieces in Tokenizer.from_files({FILE: MODEL}).pieces(TEXTS)]


def test_the_table_of_the_file_prepares_a_text() -> None:
    mapped = Tokenizer.from_files({FILE: deberta_model()})
    wide, plain = mapped.pieces(["\uff46\uff49\uff4c\uff4d", "film"])
    assert list(wide.ids) == list(plain.ids)


def test_a_setting_that_splits_words_is_refused() -> None:
    with pytest.raises(InputError, match="`split_by_punct` must be false"):
        Tokenizer.from_files({FILE: MODEL, "tokenizer_config.json": b'{"split_by_punct": true}'})
