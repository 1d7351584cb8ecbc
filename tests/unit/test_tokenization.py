"""Texts to ids, as transformers does it, and vocabularies that are refused."""

import json
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.tokenizers.tokenizer import Tokenizer
from support.byte_pairs import byte_pairs
from support.family_tokenizers import MPNET, files_of
from support.real_checkpoints import data_folder
from support.tiny_models import TOKENS, VOCAB, tiny_tokenizer

ROOT = Path(__file__).parents[2]
ODD_TEXTS = [
    "",
    "\x00a\ufffd",
    "naïve Ünïcödé ß İstanbul ﬁ",
    "日本語 テスト 中国",
    "a\u200bb\u00adc\u2028d",
    "[CLS] x [MASK] [SEP]y[UNK]",
    "e\u0301 o\u0308",
    "👩‍👩‍👧 🇩🇪",
    "x" * 150,
    "हिन्दी ไทย 한국어",
    "a\tb\r\nc\u00a0d\u3000e",
    "##ing ##",
    "don't U.S.A. $3.50 50%",
    "½ ² ①",
]
SETTINGS = [{}, {"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False}]
NAMES = {"ids": "input_ids", "mask": "attention_mask", "segments": "token_type_ids"}


def ids_of(*tokens: str) -> list[int]:
    return [TOKENS.index(token) for token in tokens]


def real_texts() -> list[str]:
    sentences = data_folder("sst2", "dev.tsv").read_text(encoding="utf-8").split("\n")[1:]
    words = data_folder("wnut17", "emerging.dev.conll").read_text(encoding="utf-8").split()
    generator = random.Random(0)
    made_up = [" ".join(generator.choices(words, k=generator.randint(1, 60))) for _ in range(1500)]
    characters = [chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000]
    noise = ["".join(generator.choices(characters, k=20)) + " word" for _ in range(1500)]
    return [line.split("\t")[0] for line in sentences if line] + made_up + noise + ODD_TEXTS


def same_as_transformers(texts: list[str], vocab: bytes, folder: Path, settings: dict[str, bool]) -> None:
    transformers = pytest.importorskip("transformers", reason="compared with PyTorch's tokenizer")
    (folder / "vocab.txt").write_bytes(vocab)
    config = json.dumps({"tokenizer_class": "BertTokenizer", **settings})
    (folder / "tokenizer_config.json").write_text(config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = transformers.BertTokenizerFast.from_pretrained(str(folder))
    ours = Tokenizer.from_folder(folder)
    for pairs in (None, texts[::-1]):
        for max_len in (48, 9):
            got = ours.encode(texts, pairs, max_len=max_len)
            want = theirs(
                texts,
                pairs,
                max_length=max_len,
                padding="max_length",
                truncation="longest_first",
                return_tensors="np",
            )
            for name, their_name in NAMES.items():
                np.testing.assert_array_equal(got[name], want[their_name], err_msg=f"{name} {settings} {max_len}")
    words = [text.split() for text in texts if text.split()]
    encoded = ours.encode_words(words, max_len=32)
    want = theirs(words, is_split_into_words=True, max_length=32, padding="max_length", truncation=True)
    np.testing.assert_array_equal(encoded.inputs["ids"], want["input_ids"])
    for i, row in enumerate(words):
        places = [want.word_ids(i).index(word) if word in want.word_ids(i) else -1 for word in range(len(row))]
        assert encoded.first[i, : len(row)].tolist() == places
        assert (encoded.first[i, len(row) :] == -1).all()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_tokens_are_those_of_transformers_with_a_small_vocabulary(tmp_path: Path, settings: dict[str, bool]) -> None:
    texts = [*ODD_TEXTS, "the Film was unable, Anna!", "play playing plays played " * 9]
    same_as_transformers(texts, VOCAB, tmp_path, settings)


@pytest.mark.exhaustive
@pytest.mark.parametrize("settings", SETTINGS[:3], ids=str)
def test_tokens_are_those_of_transformers_on_real_and_odd_texts(tmp_path: Path, settings: dict[str, bool]) -> None:
    same_as_transformers(real_texts(), data_folder("vocab", "vocab.txt").read_bytes(), tmp_path, settings)


@pytest.mark.parametrize("settings", SETTINGS[1:], ids=str)
def test_what_the_settings_state_counts_more_than_tokenizer_json(tmp_path: Path, settings: dict[str, bool]) -> None:
    """As in `transformers`; files of two versions of a model may lie in one folder."""
    (tmp_path / "tokenizer.json").write_bytes(tiny_tokenizer().files()["tokenizer.json"])
    same_as_transformers(ODD_TEXTS, VOCAB, tmp_path, settings)


def test_a_stated_prefix_space_counts_more_than_tokenizer_json() -> None:
    files = {"tokenizer.json": byte_pairs()["tokenizer.json"]}
    spaced = Tokenizer.from_files({**files, "tokenizer_config.json": b'{"add_prefix_space": true}'})
    for text, first in ((Tokenizer.from_files(files), "the"), (spaced, "\u0120the")):
        row = text.encode(["the fox"], max_len=9, pad=False)["ids"][0].tolist()
        assert "".join(map(text.token, row)) == f"<s>{first}\u0120fox</s>"


@pytest.mark.parametrize("files", [("vocab.txt",), ("tokenizer.json",)], ids=["vocab", "json"])
def test_mpnets_special_tokens_are_known_by_its_vocabulary_where_no_class_is_stated(files: tuple[str, ...]) -> None:
    """It holds BERT's too; the published folder states no class."""
    vocab = "\n".join(("<s>", "<pad>", "</s>", *TOKENS, "<mask>")).encode() + b"\n"
    stated = Tokenizer.from_files(
        {"vocab.txt": vocab, "tokenizer_config.json": b'{"tokenizer_class": "MPNetTokenizer"}'}
    )
    own = {**stated.files(), "vocab.txt": vocab}
    ours = Tokenizer.from_files({name: own[name] for name in files})
    row = ours.encode(["the film"], ["is bad"], max_len=12, pad=False)["ids"][0].tolist()
    assert " ".join(map(ours.token, row)) == "<s> the film </s> </s> is bad </s>"
    assert [ours.pad_id, ours.cls_id, ours.sep_id] == [1, 0, 2]
    bert = Tokenizer.from_files({"vocab.txt": vocab, "tokenizer_config.json": b'{"tokenizer_class": "BertTokenizer"}'})
    assert bert.token(bert.cls_id) == "[CLS]"


def test_ids_mask_and_segments_of_one_text_and_of_a_pair() -> None:
    tokenizer = tiny_tokenizer()
    one = tokenizer.encode(["The film plays"], max_len=7)
    assert one["ids"].tolist() == [ids_of("[CLS]", "the", "film", "play", "##s", "[SEP]", "[PAD]")]
    assert one["mask"].tolist() == [[1, 1, 1, 1, 1, 1, 0]]
    assert one["segments"].tolist() == [[0] * 7]
    assert all(values.dtype == np.int32 for values in one.values())
    two = tokenizer.encode(["the film"], ["is bad"], max_len=8)
    assert two["ids"].tolist() == [ids_of("[CLS]", "the", "film", "[SEP]", "is", "bad", "[SEP]", "[PAD]")]
    assert two["segments"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 0]]


def test_without_padding_the_longest_row_decides() -> None:
    assert tiny_tokenizer().encode(["the", "the film"], max_len=99, pad=False)["ids"].shape == (2, 4)


def test_a_long_row_keeps_cls_and_sep() -> None:
    ids = tiny_tokenizer().encode(["good " * 50], max_len=5)["ids"][0].tolist()
    assert ids == ids_of("[CLS]", "good", "good", "good", "[SEP]")


def test_half_of_a_surrogate_pair_is_a_question_mark() -> None:
    tokenizer = tiny_tokenizer()
    np.testing.assert_array_equal(
        tokenizer.encode(["a \ud800 b"], max_len=6)["ids"], tokenizer.encode(["a ? b"], max_len=6)["ids"]
    )


def test_places_of_pieces_point_into_the_text() -> None:
    text = "The  plays, Berlin"
    pieces = tiny_tokenizer().pieces([text])[0]
    assert [text[start:end] for start, end in pieces.spans] == ["The", "play", "s", ",", "Berlin"]
    assert pieces.ids == ids_of("the", "play", "##s", ",", "berlin")


def test_written_files_give_the_same_tokenizer() -> None:
    cased = Tokenizer.from_files({"vocab.txt": VOCAB, "tokenizer_config.json": b'{"do_lower_case": false}'})
    files = cased.files()
    assert files["vocab.txt"] == VOCAB
    again = Tokenizer.from_files(files)
    for tokenizer in (cased, again):
        assert tokenizer.encode(["the Film"], max_len=4)["ids"].tolist() == [ids_of("[CLS]", "the", "[UNK]", "[SEP]")]


def test_tokenizer_json_wins_over_vocab_txt_and_its_own_truncation_is_left_out() -> None:
    document = json.loads(tiny_tokenizer().files()["tokenizer.json"])
    document["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    document["padding"] = None
    files = {"tokenizer.json": json.dumps(document).encode(), "vocab.txt": b"wrong\n"}
    tokenizer = Tokenizer.from_files(files)
    assert tokenizer.vocab_size == len(TOKENS)
    assert len(tokenizer.pieces(["good good good good good"])[0].ids) == 5


def test_a_tokenizer_json_without_a_template_gets_cls_and_sep() -> None:
    document = json.loads(tiny_tokenizer().files()["tokenizer.json"]) | {"post_processor": None}
    tokenizer = Tokenizer.from_files({"tokenizer.json": json.dumps(document).encode()})
    assert tokenizer.encode(["bad"], max_len=3)["ids"].tolist() == [ids_of("[CLS]", "bad", "[SEP]")]


def test_special_tokens_can_have_other_names() -> None:
    vocab = VOCAB.replace(b"[CLS]", b"<s>").replace(b"[SEP]", b"</s>")
    settings = {"cls_token": {"content": "<s>", "lstrip": False}, "sep_token": "</s>"}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        tokenizer = Tokenizer.from_files({"vocab.txt": vocab, name: json.dumps(settings).encode()})
        assert tokenizer.encode(["bad"], max_len=3)["ids"].tolist() == [ids_of("[CLS]", "bad", "[SEP]")]


def test_windows_line_ends_and_byte_order_mark_of_a_vocabulary_are_read() -> None:
    tokenizer = Tokenizer.from_files({"vocab.txt": b"\xef\xbb\xbf" + VOCAB.replace(b"\n", b"\r\n")})
    assert tokenizer.files()["vocab.txt"] == VOCAB


def test_a_line_separator_can_be_a_token() -> None:
    assert Tokenizer.from_files({"vocab.txt": VOCAB + "\u2028\n".encode()}).vocab_size == len(TOKENS) + 1


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {},
            (
                "The checkpoint must have tokenizer.json, spiece.model, sentencepiece.bpe.model or spm.model "
                "(SentencePiece), vocab.txt (WordPiece), or vocab.json and merges.txt. "
                "Received: none"
            ),
        ),
        ({"vocab.txt": b""}, "an empty file"),
        ({"vocab.txt": b"a\nb\n"}, "must have the special token '[PAD]'"),
        ({"vocab.txt": VOCAB.replace(b"[SEP]\n", b"[sep]\n")}, "must have the special token '[SEP]'"),
        ({"vocab.txt": VOCAB + b"film\n"}, f"'film' in lines {TOKENS.index('film') + 1} and {len(TOKENS) + 1}"),
        ({"vocab.txt": b"a\n\nb\n"}, "vocab.txt line 2 must be one token. Received: an empty line"),
        ({"vocab.txt": b"a\t-1.5\n"}, "vocab.txt line 1 must be one token. Received: a tab"),
        ({"vocab.txt": b"a\n\xff\n"}, "byte 0xff in line 2"),
        ({"tokenizer.json": b"{"}, "tokenizer.json must be JSON"),
        ({"tokenizer.json": b"[]"}, "tokenizer.json must describe a tokenizer"),
        ({"tokenizer.json": b'{"model": {"type": "None"}}'}, "tokenizer.json must describe a tokenizer"),
        ({"vocab.txt": VOCAB, "tokenizer_config.json": b"[]"}, "tokenizer_config.json must be a JSON object"),
        ({"vocab.txt": VOCAB, "tokenizer_config.json": b'{"do_lower_case": "no"}'}, "`do_lower_case` must be true"),
        ({"vocab.txt": VOCAB, "tokenizer_config.json": b'{"cls_token": 3}'}, "`cls_token` must be text"),
        ({"vocab.txt": VOCAB, "tokenizer_config.json": b'{"never_split": 3}'}, "`never_split` must be a list"),
    ],
)
def test_broken_files_are_one_clear_line(files: dict[str, bytes], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        Tokenizer.from_files(files)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_with_gaps_are_refused() -> None:
    document = json.loads(tiny_tokenizer().files()["tokenizer.json"])
    document["model"]["vocab"]["extra"] = 9999
    with pytest.raises(InputError, match="Received: 'extra' with number 9999"):
        Tokenizer.from_files({"tokenizer.json": json.dumps(document).encode()})


@pytest.mark.parametrize(("difference", "harm"), [(8, "have no token"), (-1, "beyond the table")])
def test_a_vocabulary_of_another_size_than_the_embedding_is_refused_with_both_numbers(
    difference: int, harm: str
) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.check_embedding(len(TOKENS))
    with pytest.raises(InputError) as caught:
        tokenizer.check_embedding(len(TOKENS) + difference)
    message = str(caught.value)
    assert f"rows, {len(TOKENS) + difference}." in message
    assert f"Received: {len(TOKENS)} tokens" in message
    assert harm in message


@pytest.mark.parametrize(
    ("tokens", "rows", "fits"),
    [
        pytest.param(128_001, 128_100, True, id="DeBERTa-v3"),
        pytest.param(250_002, 250_037, True, id="Multilingual MiniLM"),
        pytest.param(31_102, 32_102, True, id="Italian BERT"),
        pytest.param(28_996, 30_522, False, id="cased words beside the uncased BERT"),
        pytest.param(30_522, 28_996, False, id="uncased words beside the cased BERT"),
        pytest.param(30_523, 30_522, False, id="one token too many"),
        pytest.param(60, 62, True, id="two of 62"),
        pytest.param(60, 63, False, id="three of 63"),
    ],
)
def test_a_few_spare_rows_are_accepted_and_another_vocabulary_is_not(tokens: int, rows: int, fits: bool) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.vocab_size = tokens
    assert tokenizer.fits(rows) is fits
    if fits:
        tokenizer.check_embedding(rows)
        (note,) = tokenizer.embedding_notes(rows)
        assert f"{rows:,} rows for {tokens:,} tokens: {rows - tokens:,} of them have no token" in note
        assert tokenizer.embedding_notes(tokens) == ()
    else:
        with pytest.raises(InputError, match="as many tokens as the word embedding has rows"):
            tokenizer.check_embedding(rows)


def test_a_length_without_room_for_text_is_refused() -> None:
    with pytest.raises(InputError, match="at least 3"):
        tiny_tokenizer().encode(["a"], max_len=2)
    with pytest.raises(InputError, match="at least 4"):
        tiny_tokenizer().encode(["a"], ["b"], max_len=3)


def test_a_word_without_a_piece_has_no_place() -> None:
    encoded = tiny_tokenizer().encode_words([["anna", "\u200b", "plays"], ["bad"] * 9], max_len=6)
    assert encoded.first.tolist() == [[1, -1, 2] + [-1] * 6, [1, 2, 3, 4] + [-1] * 5]


def test_a_process_that_tokenized_can_fork_without_a_warning() -> None:
    code = (
        "import os, sys; from support.tiny_models import tiny_tokenizer; t = tiny_tokenizer()\n"
        "t.encode(['the film'] * 500, max_len=8)\n"
        "child = os.fork()\n"
        "t.encode(['the film'] * 500, max_len=8)\n"
        "sys.exit(0) if child == 0 else sys.exit(os.waitpid(child, 0)[1])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


MPNET_FILES = files_of("mpnet")


def test_words_of_mpnet_stand_between_its_own_signs_with_two_between_a_pair():
    """Its vocab.txt holds BERT's special tokens as well."""
    made = Tokenizer.from_files(MPNET_FILES)
    found = made.encode(["the film", "zßz"], ["is good", "a"], max_len=10)
    rows = [[MPNET[number] for number in row] for row in found["ids"].tolist()]
    assert rows[0] == ["<s>", "the", "film", "</s>", "</s>", "is", "good", "</s>", "<pad>", "<pad>"]
    assert rows[1][:4] == ["<s>", "[UNK]", "</s>", "</s>"]
    assert not found["segments"].any()
    (alone,) = made.encode(["the film"], max_len=5)["ids"].tolist()
    assert [MPNET[number] for number in alone] == ["<s>", "the", "film", "</s>", "<pad>"]


def test_mpnet_is_as_in_transformers_and_its_files_are_read_again():
    transformers = pytest.importorskip("transformers", reason="compared with PyTorch's tokenizer")
    theirs = transformers.MPNetTokenizer(vocab={token: number for number, token in enumerate(MPNET)})
    stored = {**MPNET_FILES, "tokenizer.json": theirs.backend_tokenizer.to_str().encode()}
    assert b"RobertaProcessing" in stored["tokenizer.json"]
    made, read = Tokenizer.from_files(MPNET_FILES), Tokenizer.from_files(stored)
    again = Tokenizer.from_files({**MPNET_FILES, **made.files()})
    assert b"RobertaProcessing" not in read.files()["tokenizer.json"]
    texts = [*ODD_TEXTS, "<mask> the <s>", "playing unable films"]
    expected = theirs(texts, texts[::-1], truncation=True, max_length=60, padding="max_length", return_tensors="np")
    for one in (made, read, again):
        found = one.encode(texts, texts[::-1], max_len=60)
        np.testing.assert_array_equal(found["ids"], expected["input_ids"])
        np.testing.assert_array_equal(found["mask"], expected["attention_mask"])


def test_mpnet_without_its_signs_is_refused():
    with pytest.raises(InputError, match="must have the special token '<pad>'"):
        Tokenizer.from_files({**MPNET_FILES, "vocab.txt": VOCAB})
