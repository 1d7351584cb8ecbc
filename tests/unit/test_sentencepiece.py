"""spiece.model: the tokens are those of SentencePiece and `transformers`, and broken files are refused."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.sources.token_file import token_file
from models_tf.errors import InputError
from models_tf.tokenizers.spiece_file import check_character_map, read_spiece
from models_tf.tokenizers.tokenizer import SENTENCEPIECE, WORDPIECE, Tokenizer
from support.spiece_files import GOLDEN, PIECES, SPECIAL, message, number, piece, spiece_model
from support.tiny_models import VOCAB

REAL = (GOLDEN / "spiece.model").read_bytes()
EXPECTED = json.loads((GOLDEN / "spiece.json").read_text())
SETTINGS = {"lower": {}, "cased": {"do_lower_case": False}, "accents": {"keep_accents": True}}
PLAIN = spiece_model()


def tokenizer(data: bytes = PLAIN, **settings: Any) -> Tokenizer:
    return Tokenizer.from_files({"spiece.model": data, "tokenizer_config.json": json.dumps(settings).encode()})


def words_of(found: Tokenizer, text: str) -> list[str]:
    return [found.token(number) for number in found.pieces([text])[0].ids]


def test_a_file_of_sentencepiece_has_the_pieces_that_sentencepiece_reads() -> None:
    found = read_spiece(REAL)
    listed = [[text, round(score, 5), kind == 2, kind == 3] for text, score, kind in found.pieces]
    assert listed == EXPECTED["pieces"]
    assert found.unknown == 1
    assert found.character_map


@pytest.mark.parametrize("case", SETTINGS)
def test_tokens_are_those_of_sentencepiece(case: str) -> None:
    """Stored answers of the library, after ALBERT's own preparation of a text."""
    found = tokenizer(REAL, **SETTINGS[case])
    for text, ids, expected in zip(EXPECTED["texts"], found.pieces(EXPECTED["texts"]), EXPECTED[case], strict=True):
        assert ids.ids == expected, text


def test_the_character_map_of_the_file_is_used() -> None:
    """Letters of full width: without the map they are unknown, for case and accents leave them alone."""
    found, wide = tokenizer(REAL, keep_accents=True), "\uff4d\uff4f\uff44\uff45\uff4c"
    assert found.pieces([wide])[0].ids == found.pieces(["model"])[0].ids


def test_tokens_are_those_of_the_installed_sentencepiece() -> None:
    """The library itself on more texts; the stored answers above need none."""
    import sentencepiece as library

    theirs, ours = library.SentencePieceProcessor(model_proto=REAL), tokenizer(REAL, do_lower_case=False)
    generator = random.Random(0)
    letters = [chr(code) for code in range(33, 127) if chr(code) not in "`'\",0123456789"]
    for _ in range(300):
        text = " ".join("".join(generator.choices(letters, k=generator.randint(1, 9))) for _ in range(6))
        assert ours.pieces([text])[0].ids == theirs.encode(text)


class Original:
    """What the converter of `transformers` asks a slow tokenizer for."""

    add_prefix_space = True

    def __init__(self, path: Path, *, lower: bool, accents: bool) -> None:
        self.vocab_file, self.do_lower_case, self.keep_accents = str(path), lower, accents

    def convert_tokens_to_ids(self, token: str) -> int:
        return {"[CLS]": 2, "[SEP]": 3}[token]


def trained_by_tokenizers(texts: list[str]) -> bytes:
    tokenizers = pytest.importorskip("tokenizers")
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator([text.lower() for text in texts], trainer)
    vocab = json.loads(backend.to_str())["model"]["vocab"]
    return spiece_model((*SPECIAL, *((text, score, 1) for text, score in vocab if text != "<unk>")))


def page_lines() -> list[str]:
    pages = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))[:6]
    return [line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if line.strip()][:400]


@pytest.mark.parametrize("source", ["sentencepiece", "tokenizers"])
@pytest.mark.parametrize(("lower", "accents"), [(True, False), (False, False), (True, True)])
def test_tokens_are_those_of_the_converter_of_transformers(
    source: str, lower: bool, accents: bool, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("google.protobuf")
    from transformers.convert_slow_tokenizer import AlbertConverter

    lines = page_lines()
    path = tmp_path / "spiece.model"
    path.write_bytes(REAL if source == "sentencepiece" else trained_by_tokenizers(lines))
    theirs = AlbertConverter(Original(path, lower=lower, accents=accents)).converted()
    ours = tokenizer(path.read_bytes(), do_lower_case=lower, keep_accents=accents)
    # At symbols of the user's own and at special tokens the converter begins a new word, which SentencePiece does not.
    lines = [line.translate({ord(sign): " " for sign in '()"-.[]'}) for line in lines] + ["in 1999, 5,000, 7, and 9,"]
    lines = [" ".join(line.split()) for line in lines]
    numbers = ours.pieces(lines)
    for line, found in zip(lines, numbers, strict=True):
        assert found.ids == theirs.encode(line, add_special_tokens=False).ids, line
    known = sum(number != ours.unk_id for found in numbers for number in found.ids)
    assert known > 5000
    pair = ours.encode(["The film"], ["in Berlin"], max_len=40, pad=False)
    one = theirs.encode("The film", "in Berlin")
    assert (pair["ids"][0].tolist(), pair["segments"][0].tolist()) == (one.ids, one.type_ids)


def test_a_number_is_split_from_its_comma() -> None:
    found = tokenizer(spiece_model((*PIECES, ("\u25819", -1.0, 1), ("\u25819,", -1.0, 1), ("9,", -1.0, 1))))
    assert words_of(found, "9, a") == ["\u25819", ",", "\u2581a"]


def test_case_accents_and_quotes_are_prepared_as_albert_does() -> None:
    pieces = (*PIECES, ('"', -5.0, 1), ("\u2581The", -3.0, 1), ("\u00e9", -5.0, 1))
    assert words_of(tokenizer(spiece_model(pieces)), "The ``e\u0301''") == ["\u2581the", "\u2581", '"', "e", '"']
    cased = tokenizer(spiece_model(pieces), do_lower_case=False, keep_accents=True)
    assert words_of(cased, "The \u00e9") == ["\u2581The", "\u2581", "\u00e9"]


def test_ids_mask_and_segments_of_one_text_and_of_a_pair() -> None:
    found = tokenizer()
    numbers = {text: number for number, (text, _, _) in enumerate(PIECES)}
    one = found.encode(["The film"], max_len=5)
    assert one["ids"].tolist() == [[2, numbers["\u2581the"], numbers["\u2581film"], 3, 0]]
    assert one["mask"].tolist() == [[1, 1, 1, 1, 0]]
    two = found.encode(["the"], ["film"], max_len=7)
    assert two["ids"].tolist() == [[2, numbers["\u2581the"], 3, numbers["\u2581film"], 3, 0, 0]]
    assert two["segments"].tolist() == [[0, 0, 0, 1, 1, 0, 0]]
    assert found.encode(["[CLS] the[SEP]"], max_len=9)["ids"][0, :5].tolist() == [2, 2, numbers["\u2581the"], 3, 3]
    assert (found.pad_id, found.unk_id, found.cls_id, found.sep_id) == (0, 1, 2, 3)


def test_words_have_the_place_of_their_first_piece() -> None:
    found = tokenizer()
    encoded = found.encode_words([["Anna", "lives,", "\u0301", "in", "ab", "Berlin"]], max_len=16)
    shown = [found.token(number) for number in encoded.inputs["ids"][0]]
    assert shown[:9] == ["[CLS]", "\u2581anna", "\u2581lives", ",", "\u2581in", "\u2581a", "b", "\u2581berlin", "[SEP]"]
    assert encoded.first.tolist() == [[1, 2, -1, 4, 5, 7]]


def test_places_of_pieces_point_into_the_text() -> None:
    text = "The  Films, Berlin"
    spans = tokenizer().pieces([text])[0].spans
    assert [text[start:end] for start, end in spans] == ["The", "Film", "s", ",", "Berlin"]


def test_an_app_gets_both_files_and_they_give_the_same_tokens() -> None:
    found = tokenizer(REAL)
    files = found.files()
    assert set(files) == {"spiece.model", "tokenizer.json"}
    assert files["spiece.model"] == REAL
    for part in (files, {"tokenizer.json": files["tokenizer.json"]}):
        again = Tokenizer.from_files(part)
        assert again.kind == SENTENCEPIECE
        assert again.same_vocabulary(found)
        assert [row.ids for row in again.pieces(EXPECTED["texts"])] == EXPECTED["lower"]
    assert set(Tokenizer.from_files({"tokenizer.json": files["tokenizer.json"]}).files()) == {"tokenizer.json"}
    plain = Tokenizer.from_files({"vocab.txt": VOCAB})
    assert plain.kind == WORDPIECE
    assert not plain.same_vocabulary(found)


def test_two_files_of_different_vocabularies_are_refused() -> None:
    files = {"tokenizer.json": tokenizer().files()["tokenizer.json"], "spiece.model": REAL}
    with pytest.raises(InputError, match=r"spiece\.model and tokenizer\.json must be of one vocabulary"):
        Tokenizer.from_files(files)


def one_piece(data: bytes) -> bytes:
    return PLAIN + message(1, data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "Received: no pieces"),
        (b"not a model at all", "must be a SentencePiece model"),
        (REAL[:-1], "is cut"),
        (REAL[:5000], "is cut"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "is not protobuf"),
        (b"\x0a\xff\xff\xff\xff\x7f", "the file that is cut"),
        (b"\x0a", "the file that is cut"),
        (b"\x03", "is not protobuf"),
        (b"\x00\x01", "is not protobuf"),
        (one_piece(message(1, b"\xff")), f"piece {len(PIECES)} that is not UTF-8"),
        (one_piece(piece(b"film", 0.0, 9)), "an unknown kind"),
        (one_piece(message(1, b"x") + number(2, 5)), "a score of piece"),
        (one_piece(piece(b"xyz", float("nan"), 1)), "a score of 'xyz' that is not a number"),
        (one_piece(piece(b"", 0.0, 1)), "an empty one"),
        (one_piece(piece(b"<unk>", 0.0, 1)), "'<unk>' with ids 1 and"),
        (one_piece(piece(b"<other>", 0.0, 2)), "must have one unknown piece. Received: 2"),
        (spiece_model(PIECES[2:]), "must have one unknown piece. Received: 0"),
        (one_piece(piece("new\u2581york".encode(), 0.0, 1)), "must have pieces that lie within a word"),
        (number(1, 3), "piece 0 of another type"),
        (
            spiece_model(trainer=number(3, 2)),
            "must be a Unigram model, as ALBERT's and XLM-RoBERTa's are. Received: one of BPE",
        ),
        (spiece_model(trainer=number(35, 1)), "`byte_fallback` must be false. Received: true, which is not"),
        (spiece_model(normalizer=number(3, 0)), "`add_dummy_prefix` must be true"),
        (spiece_model(normalizer=message(2, b"\x10\x00")), "a character map that is cut"),
        (spiece_model(normalizer=message(2, struct.pack("<3I", 4, 1 << 30, 0))), "points outside of itself"),
        (spiece_model(PIECES[:2] + PIECES[3:]), "spiece.model must have the special token '[CLS]'"),
    ],
)
def test_a_broken_file_is_one_clear_line(data: bytes, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        tokenizer(data)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_for_unknown_characters_work_in_tokenizer_json() -> None:
    """It is the remedy that the refusal of `byte_fallback` names."""
    document = json.loads(tokenizer().files()["tokenizer.json"])
    scores = document["model"]["vocab"]
    bytes_of = [f"<0x{byte:02X}>" for byte in range(256)]
    document["model"] |= {"byte_fallback": True, "vocab": [*scores, *([name, 0.0] for name in bytes_of)]}
    found = Tokenizer.from_files({"tokenizer.json": json.dumps(document).encode()})
    shown = [found.token(number) for number in found.pieces(["\u2603"])[0].ids]
    assert shown == ["\u2581", "<0xE2>", "<0x98>", "<0x83>"]


def refusal(data: bytes) -> str | None:
    try:
        tokenizer(data).encode(["The \uff4d\uff4f film, 9, \ufb01 (x)"], max_len=30)
    except InputError as error:
        return str(error)
    return None


def test_a_cut_or_changed_file_never_ends_the_process() -> None:
    """Any file is refused in one line or gives tokens; a broken character map would be a panic in `tokenizers`."""
    generator = random.Random(0)
    for _ in range(150):
        data = bytearray(REAL)
        for _ in range(generator.choice((1, 3, 20))):
            data[generator.randrange(len(data))] = generator.randrange(256)
        data = data[: generator.choice((len(data), generator.randrange(len(data))))]
        refused = refusal(bytes(data))
        assert refused is None or "\n" not in refused


def test_a_changed_character_map_is_refused_or_harmless() -> None:
    good = read_spiece(REAL).character_map
    generator, refused = random.Random(1), 0
    normalizers = pytest.importorskip("tokenizers").normalizers
    for _ in range(200):
        data = bytearray(good)
        for _ in range(generator.choice((1, 10))):
            data[generator.randrange(len(data))] = generator.randrange(256)
        try:
            check_character_map(bytes(data))
        except InputError:
            refused += 1
            continue
        text = "".join(chr(generator.randrange(1, 0x3000)) for _ in range(50)) + "\uff4d\uff5a\ufb01\u200b\u3000"
        normalizers.Precompiled(bytes(data)).normalize_str(text)
    assert 0 < refused < 200


def test_numbers_of_the_vocabulary_must_fit_the_embedding() -> None:
    tokenizer().check_embedding(len(PIECES))
    with pytest.raises(InputError, match=r"spiece\.model must have as many tokens"):
        tokenizer().check_embedding(len(PIECES) - 1)
    with pytest.raises(InputError, match=r"spiece\.model must have as many tokens"):
        tokenizer().check_embedding(len(PIECES) + 10)


def test_rows_of_no_text_are_special_tokens_only() -> None:
    np.testing.assert_array_equal(tokenizer().encode(["", " "], max_len=4)["ids"], [[2, 3, 0, 0]] * 2)


@pytest.mark.parametrize(("file", "kept"), [("spiece.model", True), ("tokenizer.json", False)])
def test_model_json_says_which_kind_of_tokenizer_it_is(file: str, kept: bool) -> None:
    files = tokenizer().files()
    found = Tokenizer.from_files(files if kept else {"tokenizer.json": files["tokenizer.json"]})
    document = json.loads(
        token_file(
            files={"model.tflite": {"inputs": [{"name": "ids"}], "outputs": []}},
            task="classification",
            labels=["no", "yes"],
            max_seq_len=16,
            inputs=["ids"],
            tokenizer=found,
        )
    )
    settings = document["tokenizer"]
    assert (settings["kind"], settings["vocabulary"], settings["lower_case"]) == ("sentencepiece", file, True)
    assert [settings[f"{name}_id"] for name in ("pad", "unk", "cls", "sep")] == [0, 1, 2, 3]
    assert ("pieces of spiece.model" in document["meanings"]["ids"]) == kept
