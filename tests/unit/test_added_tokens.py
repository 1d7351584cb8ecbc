"""Tokens that were added to a vocabulary, where there is no tokenizer.json: those of `transformers`."""

import json
from pathlib import Path
from typing import Any

import pytest

from models_tf.checkpoints.vocabulary import kept_numbers
from models_tf.errors import InputError
from models_tf.tokenizers import vocabulary as files_of
from models_tf.tokenizers.tokenizer import Tokenizer
from support.byte_pairs import byte_pairs
from support.spiece_files import deberta_model, spiece_model, xlmr_model
from support.tiny_models import TOKENS, VOCAB

FILES: dict[str, tuple[str, dict[str, bytes]]] = {
    "BERT": ("BertTokenizer", {"vocab.txt": VOCAB}),
    "ALBERT": ("AlbertTokenizer", {"spiece.model": spiece_model()}),
    "RoBERTa": ("RobertaTokenizer", {name: byte_pairs()[name] for name in ("vocab.json", "merges.txt")}),
    "XLM-RoBERTa": ("XLMRobertaTokenizer", {"sentencepiece.bpe.model": xlmr_model()}),
    "DeBERTa": ("DebertaV2Tokenizer", {"spm.model": deberta_model(character_map=False)}),
}
NEXT = len(TOKENS)
NEW = ("<new>", "<b>", "<Cap>")
TEXTS = ("the <new> film", "The <NEW> film", "x<new>y <b> z", "a<b>", "<Cap> <cap> X<Cap>", "is <b>good", "", "[MASK]")
SPECIAL = b'{"extra_special_tokens": ["<new>", "<b>", {"content": "<Cap>"}]}'


def numbered(files: dict[str, bytes], names: tuple[str, ...] = NEW) -> dict[str, int]:
    """The next numbers of the vocabulary."""
    size = Tokenizer.from_files(files).vocab_size
    return {name: size + place for place, name in enumerate(names)}


def in_a_file(files: dict[str, bytes], names: tuple[str, ...] = NEW) -> dict[str, bytes]:
    return files | {"added_tokens.json": json.dumps(numbered(files, names)).encode()}


def in_settings(files: dict[str, bytes]) -> dict[str, bytes]:
    """With flags that differ, as version 4.34 and later write them."""
    flags: dict[str, Any] = {"rstrip": False, "normalized": False}
    entries = {
        str(number): {
            **flags,
            "content": name,
            "lstrip": name == "<b>",
            "single_word": name == "<new>",
            "special": True,
        }
        for name, number in numbered(files).items()
    }
    return files | {"tokenizer_config.json": json.dumps({"added_tokens_decoder": entries}).encode()}


def of_transformers(kind: str, files: dict[str, bytes], folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    if kind == "DeBERTa":  # its mask comes behind the file's pieces, and `transformers` must be told so
        mask = str(Tokenizer.from_files(FILES[kind][1]).token_id("[MASK]"))
        files = {**files}
        if "added_tokens.json" in files:
            added = {"[MASK]": int(mask), **json.loads(files["added_tokens.json"])}
            files["added_tokens.json"] = json.dumps(added).encode()
        else:
            settings = json.loads(files["tokenizer_config.json"])
            settings["added_tokens_decoder"][mask] = {"content": "[MASK]", "special": True, "normalized": False}
            files["tokenizer_config.json"] = json.dumps(settings).encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return getattr(transformers, FILES[kind][0]).from_pretrained(folder)


FORMS = ("added_tokens.json", "of special tokens", "added_tokens_decoder")
# Before a DeBERTa's token that is not special `transformers` 5 keeps the space as a piece; SentencePiece does not.
CASES = [(kind, form) for kind in FILES for form in FORMS if (kind, form) != ("DeBERTa", FORMS[0])]


@pytest.mark.parametrize(("kind", "form"), CASES)
def test_tokens_are_those_of_transformers(kind: str, form: str, tmp_path: Path) -> None:
    files = FILES[kind][1]
    given = in_settings(files) if form == "added_tokens_decoder" else in_a_file(files)
    if form == "of special tokens":
        given["special_tokens_map.json"] = SPECIAL
    theirs, ours = of_transformers(kind, given, tmp_path), Tokenizer.from_files(given)
    assert ours.tokens[-3:] == list(NEW)
    for text in TEXTS:
        found = ours.encode([text], max_len=60, pad=False)["ids"][0].tolist()
        assert found == theirs(text)["input_ids"], text


@pytest.mark.parametrize("key", ["additional_special_tokens", "extra_special_tokens"])
def test_the_settings_say_which_are_special(key: str) -> None:
    settings = {"special_tokens_map.json": json.dumps({key: ["<b>", 5]}).encode()}
    document = Tokenizer.from_files(in_a_file({"vocab.txt": VOCAB}) | settings).document()
    special = {entry["content"]: entry["special"] for entry in document["added_tokens"] if entry["id"] >= NEXT}
    assert special == {"<new>": False, "<b>": True, "<Cap>": False}


@pytest.mark.parametrize("kind", FILES)
def test_the_files_for_an_app_have_them(kind: str) -> None:
    ours = Tokenizer.from_files(in_a_file(FILES[kind][1]))
    again = Tokenizer.from_files({"tokenizer.json": ours.files()["tokenizer.json"]})
    assert again.same_vocabulary(ours)
    assert [row.ids for row in again.pieces(TEXTS)] == [row.ids for row in ours.pieces(TEXTS)]


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "RoBERTa"])
@pytest.mark.parametrize("make", [in_a_file, in_settings])
def test_a_pruned_vocabulary_keeps_them(kind: str, make: Any) -> None:
    files = make(FILES[kind][1])
    whole = Tokenizer.from_files(files)
    used = {number for row in whole.pieces(TEXTS) for number in row.ids}
    small = Tokenizer.from_files(files_of.keep_tokens(files, kept_numbers(whole, used, characters=False)))
    assert small.vocab_size < whole.vocab_size
    for before, after in zip(whole.pieces(TEXTS), small.pieces(TEXTS), strict=True):
        assert [whole.token(number) for number in before.ids] == [small.token(number) for number in after.ids]


def test_a_token_of_the_vocabulary_may_be_named_again_under_its_number() -> None:
    added = {"[MASK]": TOKENS.index("[MASK]"), "film": TOKENS.index("film"), "<new>": len(TOKENS)}
    found = Tokenizer.from_files({"vocab.txt": VOCAB, "added_tokens.json": json.dumps(added).encode()})
    assert found.tokens == [*TOKENS, "<new>"]
    assert [found.token(number) for number in found.pieces(["afilm"])[0].ids] == ["a", "film"]


def test_the_settings_count_where_both_are_there_and_neither_beside_tokenizer_json() -> None:
    both = in_settings({"vocab.txt": VOCAB}) | {"added_tokens.json": b'{"<other>": 7}'}
    assert Tokenizer.from_files(both).tokens[-3:] == list(NEW)
    beside = both | {"tokenizer.json": Tokenizer.from_files({"vocab.txt": VOCAB}).files()["tokenizer.json"]}
    assert Tokenizer.from_files(beside).tokens == TOKENS


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (b"[1]", "must be an object of tokens and their numbers. Received: [1]"),
        (b'{"<a>": "60"}', "must be an object of tokens and their numbers"),
        (b'{"<a>": true}', "must be an object of tokens and their numbers"),
        (b'{"<a>": 1.0}', "must be an object of tokens and their numbers"),
        (b'{"<a>": ', "added_tokens.json must be JSON"),
        (b'{"": %d}' % NEXT, "tokens of at least one character. Received: an empty one"),
        (b'{"<a>": %d}' % (NEXT + 1), f"must give '<a>' the number {NEXT}, the next one. Received: {NEXT + 1}."),
        (b'{"<a>": 3}', f"must give '<a>' the number {NEXT}, the next one. Received: 3."),
        (b'{"<a>": -1}', "Received: -1."),
        (b'{"<a>": %d, "<b>": %d}' % (NEXT, NEXT), f"must give '<b>' the number {NEXT + 1}, the next one."),
        (b'{"film": %d}' % NEXT, f"must give 'film' the number {TOKENS.index('film')}, the one it has in the vocab"),
    ],
)
def test_a_wrong_added_tokens_json_is_one_line(added: bytes, expected: str) -> None:
    assert expected in refusal({"added_tokens.json": added})


@pytest.mark.parametrize(
    ("decoder", "expected"),
    [
        ([], "must be an object of numbers and tokens. Received: []"),
        ({"x": {"content": "<a>"}}, "must have numbers as keys. Received: 'x'"),
        ({"9" * 5000: {"content": "<a>"}}, "must have numbers as keys. Received: '999"),
        ({"5": "<a>"}, "must have a token with `content` for 5. Received: '<a>'"),
        ({"5": {"content": 1}}, "must have a token with `content` for 5"),
        ({"5": {"content": "<a>", "lstrip": "no"}}, "`lstrip` of '<a>' must be true or false. Received: 'no'"),
        ({"5": {"content": "<a>"}}, f"must give '<a>' the number {NEXT}, the next one. Received: 5."),
        (
            {str(NEXT): {"content": "<a>"}, str(NEXT + 1): {"content": "<a>"}},
            f"must give '<a>' the number {NEXT}, the next one. Received: {NEXT + 1}.",
        ),
    ],
)
def test_a_wrong_added_tokens_decoder_is_one_line(decoder: Any, expected: str) -> None:
    message = refusal({"tokenizer_config.json": json.dumps({"added_tokens_decoder": decoder}).encode()})
    assert message.startswith("tokenizer_config.json: `added_tokens_decoder`")
    assert expected in message


def refusal(files: dict[str, bytes]) -> str:
    with pytest.raises(InputError) as caught:
        Tokenizer.from_files({"vocab.txt": VOCAB} | files)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message
