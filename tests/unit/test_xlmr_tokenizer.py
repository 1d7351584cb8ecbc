"""sentencepiece.bpe.model of XLM-RoBERTa: the tokens are those of `transformers`, and other files are refused.

CamemBERT's has the same name and other numbers: its tokenizer.json is read in its place.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from exporters.request import ExportRequest
from exporters.sources.tokens import TokenSource
from exporters.training.request import TrainRequest
from models_tf.checkpoints import encoder as checkpoints
from models_tf.compress.source import load_bert
from models_tf.errors import InputError
from models_tf.tokenizers.spiece_file import read_spiece
from models_tf.tokenizers.tokenizer import SENTENCEPIECE, Tokenizer
from models_tf.tokenizers.vocabulary import Vocabulary, keep_tokens
from support.checkpoint_folders import edit_document
from support.spiece_files import CONTROL, GOLDEN, NORMAL, XLMR_FRONT, XLMR_TOKENS, number, spiece_model, xlmr_model
from support.tiny_models import write_checkpoint

FILE = "sentencepiece.bpe.model"
MODEL = xlmr_model()
PIECES = read_spiece(MODEL).pieces


def tokenizer(data: bytes = MODEL, **files: bytes) -> Tokenizer:
    return Tokenizer.from_files({FILE: data, **files})


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("xlmr")
    (folder / FILE).write_bytes(MODEL)
    return transformers.XLMRobertaTokenizerFast.from_pretrained(folder)


def texts() -> list[str]:
    """Lines of the pages, random signs of many scripts, spaces, and special tokens inside of a text."""
    pages = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))[:6]
    found = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if line.strip()][:400]
    generator = random.Random(0)
    signs = [chr(code) for code in (*range(33, 127), *range(0xA1, 0x250), *range(0x3B1, 0x3C9), *range(0x4E00, 0x4E20))]
    signs += ["\u0301", "\u2581", "\uff4d", "\u00a0", "\u200b", "\U0001f600", "  ", "\t", " "]
    found += ["".join(generator.choices(signs, k=generator.randint(0, 30))) for _ in range(400)]
    return [*found, "", " ", "a <mask> b", "<s> x</s>", "the<pad> film", "x<unk>y", "(the) film", " the  film "]


def test_numbers_have_the_offset_of_xlm_roberta() -> None:
    found = tokenizer()
    assert found.kind == SENTENCEPIECE
    assert found.tokens[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    for place in (3, 4, 100, len(PIECES) - 1):
        assert found.token(place + 1) == PIECES[place][0]
    assert found.tokens[-1] == "<mask>"
    assert found.vocab_size == len(PIECES) + 2 == XLMR_TOKENS
    assert (found.cls_id, found.pad_id, found.sep_id, found.unk_id) == (0, 1, 2, 3)


def test_tokens_are_those_of_transformers(theirs: Any) -> None:
    ours = tokenizer()
    assert [theirs.convert_ids_to_tokens(one) for one in range(len(theirs))] == ours.tokens
    lines = texts()
    known = 0
    for line, found in zip(lines, ours.pieces(lines), strict=True):
        assert found.ids == theirs(line, add_special_tokens=False)["input_ids"], repr(line)
        known += sum(one != ours.unk_id for one in found.ids)
    assert known > 5000
    for one, two in ((lines[0], None), (lines[1], lines[2]), ("", "the film")):
        pairs = None if two is None else [two]
        made = ours.encode([one], pairs, max_len=200, pad=False)
        assert made["ids"][0].tolist() == theirs(one, two)["input_ids"]
        assert not made["segments"].any()


def test_the_same_tokens_come_from_the_tokenizer_json_that_an_export_writes() -> None:
    ours = tokenizer()
    files = ours.files()
    assert list(files) == ["tokenizer.json"]
    again = Tokenizer.from_files(files)
    assert again.same_vocabulary(ours)
    assert (again.cls_id, again.pad_id, again.sep_id, again.unk_id) == (0, 1, 2, 3)
    lines = texts()
    assert [one.ids for one in again.pieces(lines)] == [one.ids for one in ours.pieces(lines)]


def test_tokenizer_json_beside_it_decides() -> None:
    other = tokenizer(spiece_model((*XLMR_FRONT, ("\u2581a", -1.0, NORMAL)))).files()["tokenizer.json"]
    assert Tokenizer.from_files({FILE: MODEL, "tokenizer.json": other}).vocab_size == 6


def test_settings_may_name_the_special_tokens() -> None:
    settings = json.dumps({"cls_token": "<s>", "pad_token": {"content": "<pad>"}}).encode()
    assert tokenizer(**{"tokenizer_config.json": settings}).pad_id == 1
    wrong = json.dumps({"pad_token": "[PAD]"}).encode()
    with pytest.raises(InputError, match=r"sentencepiece\.bpe\.model must have the special token '\[PAD\]'"):
        tokenizer(**{"tokenizer_config.json": wrong})


def test_a_checkpoint_with_this_file_alone_is_read_and_passed_on(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "mine", "xlm-roberta", vocab_size=len(PIECES) + 2, pad_token_id=1)
    (folder / "vocab.txt").unlink()
    (folder / FILE).write_bytes(MODEL)
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\nthe model\tyes\na file\tno\n")
    source = TokenSource.load(ExportRequest(checkpoint=folder, quantize="float32", eval_data=rows))
    ids = next(iter(source.rows(calibrate=False).evaluation.chunks(2)))["ids"]
    assert ids[0].tolist() == tokenizer().encode(["the model"], max_len=source.max_seq_len)["ids"][0].tolist()
    assert ids[0, 0] == 0
    assert source.checkpoint.tokenizer_files[FILE] == MODEL


@pytest.fixture
def camembert(tmp_path: Path) -> Path:
    """A CamemBERT whose tokenizer `transformers` wrote, beside the file that it was made of."""
    transformers = pytest.importorskip("transformers")
    folder = write_checkpoint(tmp_path / "mine", "xlm-roberta", vocab_size=len(PIECES) + 5, pad_token_id=1)
    edit_document(folder, model_type="camembert", architectures=["CamembertForSequenceClassification"])
    (folder / "vocab.txt").unlink()
    (folder / FILE).write_bytes(MODEL)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    return folder


def test_a_camembert_is_read_with_its_own_tokens_and_written_as_transformers_reads_it(camembert: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    found = checkpoints.load(camembert)
    assert (found.model_name, FILE in found.tokenizer_files) == ("xlm-roberta", False)
    checkpoints.save(camembert.parent / "again", found)
    (camembert.parent / "again" / "tokenizer_config.json").unlink()  # an older folder may have none
    lines = ["the film was good", "(a) lives in berlin, anna", "\u65e5\u672c <mask> a"]
    ours = Tokenizer.from_files(found.tokenizer_files)
    for folder in (camembert, camembert.parent / "again"):
        theirs = AutoTokenizer.from_pretrained(folder)
        for line in lines:
            assert ours.encode([line], max_len=99, pad=False)["ids"][0].tolist() == theirs(line)["input_ids"]
    assert ours.encode(["a"], max_len=9)["ids"][0, 0] == 5
    model = AutoModelForSequenceClassification.from_pretrained(camembert.parent / "again")
    assert type(model).__name__ == "XLMRobertaForSequenceClassification"


def test_a_camembert_needs_tokenizer_json(camembert: Path) -> None:
    (camembert / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"must have tokenizer\.json, since camembert numbers the pieces") as raised:
        checkpoints.load(camembert)
    assert "\n" not in str(raised.value)


def test_every_command_takes_a_camembert_for_what_it_is(camembert: Path, tmp_path: Path) -> None:
    data = tmp_path / "rows.tsv"
    data.write_text("text\tlabel\na\tyes\n")
    assert ExportRequest(checkpoint=camembert).kind == "tokens"
    assert checkpoints.load(camembert, model="xlm-roberta").model_name == "xlm-roberta"
    assert TrainRequest(checkpoint=camembert, train=data, dev=data, output=tmp_path / "out").model == "xlm-roberta"
    assert load_bert(str(camembert)).model_name == "xlm-roberta"
    with pytest.raises(InputError, match=r'Received: "camembert": give --model xlm-roberta'):
        checkpoints.load(camembert, model="bert")


def test_a_smaller_vocabulary_leaves_the_file_out() -> None:
    kept = keep_tokens({FILE: MODEL}, Vocabulary.of(tokenizer()).always | {10, 11})
    assert list(kept) == ["tokenizer.json"]
    assert Tokenizer.from_files(kept).token(0) == "<s>"


BAD = {
    "byte pairs": (spiece_model(PIECES, trainer=number(3, 2)), "must be a Unigram model, as ALBERT's"),
    "byte fallback": (spiece_model(PIECES, trainer=number(35, 1)), "`byte_fallback` must be false"),
    "cut": (MODEL[:-10], "must be a SentencePiece model. Received"),
    "no protobuf": (b"#version: 0.2\na b\n", "must be a SentencePiece model. Received"),
    "empty": (b"", "Received: no pieces"),
    "ALBERT's": ((GOLDEN / "spiece.model").read_bytes(), "must begin with the pieces <unk>, <s>, </s>"),
    "two pieces": (spiece_model(XLMR_FRONT[:2]), "must begin with the pieces <unk>, <s>, </s>"),
    "its own padding": (spiece_model((*PIECES, ("<pad>", 0.0, CONTROL))), "must not number <pad> itself"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_other_files_are_one_line(name: str) -> None:
    data, words = BAD[name]
    with pytest.raises(InputError) as raised:
        tokenizer(data)
    assert words in str(raised.value)
    assert str(raised.value).startswith(FILE)
    assert "spiece.model" not in str(raised.value).replace(FILE, "")
    assert "\n" not in str(raised.value)
