"""A tokenizer.json over which the `tokenizers` package panics or fails at the first text: one line."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from models_tf.errors import InputError
from models_tf.tokenizers.refusals import refused_as
from models_tf.tokenizers.tokenizer import Tokenizer
from support.byte_pairs import byte_pairs
from support.spiece_files import deberta_model
from support.tiny_models import TOKENS, tiny_tokenizer

WORDPIECE = tiny_tokenizer().document()
DEBERTA = Tokenizer.from_files({"spm.model": deberta_model()}).document()
PAIRS = json.loads(byte_pairs()["tokenizer.json"])
TEMPLATE = "post_processor"


def changed(document: dict[str, Any], path: str, value: Any) -> Callable[[], dict[str, Any]]:
    """The document with another value at the keys of a path."""

    def make() -> dict[str, Any]:
        made = inner = copy.deepcopy(document)
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("/"))
        for key in keys:
            inner = inner[key]
        inner[last] = value
        return made

    return make


def template(**changes: Any) -> dict[str, Any]:
    return {**WORDPIECE[TEMPLATE], **changes}


ABSENT = {"SpecialToken": {"id": "[NEW]", "type_id": 0}}
TWO = {
    "[CLS]": {"id": "[CLS]", "ids": [2, 3], "tokens": ["[CLS]"]},
    "[SEP]": WORDPIECE[TEMPLATE]["special_tokens"]["[SEP]"],
}
MAP = "normalizer/normalizers/0/precompiled_charsmap"
NOT_A_MAP = "`precompiled_charsmap` must be a character map of SentencePiece in base64. Received: "
BAD: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a template with a token that it does not define": (
        changed(WORDPIECE, f"{TEMPLATE}/single/0", ABSENT),
        "`single` of the post-processor must name tokens of its `special_tokens`. Received: '[NEW]'.",
    ),
    "the same of pairs": (
        changed(WORDPIECE, f"{TEMPLATE}/pair/2", ABSENT),
        "`pair` of the post-processor must name tokens of its `special_tokens`. Received: '[NEW]'.",
    ),
    "the same among several": (
        changed(WORDPIECE, TEMPLATE, {"type": "Sequence", "processors": [template(single=[ABSENT])]}),
        "must name tokens of its `special_tokens`. Received: '[NEW]'.",
    ),
    "the same without a type": (
        changed(WORDPIECE, TEMPLATE, {key: value for key, value in template(single=[ABSENT]).items() if key != "type"}),
        "must name tokens of its `special_tokens`. Received: '[NEW]'.",
    ),
    "more numbers than names of a special token": (
        changed(WORDPIECE, f"{TEMPLATE}/special_tokens", TWO),
        "must have as many `ids` as `tokens` for '[CLS]'. Received: 2 and 1.",
    ),
    "a number beyond the vocabulary": (
        changed(WORDPIECE, f"{TEMPLATE}/special_tokens/[SEP]/ids", [10**6]),
        f"must put in tokens of its own vocabulary. Received: number 1000000 of {len(TOKENS)} tokens.",
    ),
    "one in BERT's own form": (
        changed(WORDPIECE, TEMPLATE, {"type": "BertProcessing", "sep": ["[SEP]", len(TOKENS)], "cls": ["[CLS]", 2]}),
        f"Received: number {len(TOKENS)} of {len(TOKENS)} tokens.",
    ),
    "an unknown token that is not in the vocabulary": (
        changed(WORDPIECE, "model/unk_token", "[UNKNOWN]"),
        "a tokenizer that splits any text. Received: WordPiece error: Missing [UNK] token from the vocabulary.",
    ),
    "no unknown piece": (changed(DEBERTA, "model/unk_id", None), "splits any text. Received: Encountered an unknown"),
    "no character map": (changed(DEBERTA, MAP, None), f"{NOT_A_MAP}None."),
    "an empty character map": (changed(DEBERTA, MAP, ""), f"{NOT_A_MAP}''."),
    "a character map that is not base64": (changed(DEBERTA, MAP, "x"), f"{NOT_A_MAP}'x'."),
    "one of other letters": (changed(DEBERTA, MAP, "\u65e5\u672c"), NOT_A_MAP),
    "one with bits behind its end": (changed(DEBERTA, MAP, "AB=="), f"{NOT_A_MAP}'AB=='."),
    "one that points outside of itself": (changed(DEBERTA, MAP, "BAAAAAAAAEAAAAAA"), NOT_A_MAP),
    "a prefix that the pairs do not have": (
        changed(PAIRS, "model/continuing_subword_prefix", "##"),
        "the second part of a pair must begin with `continuing_subword_prefix`, '##'. Received: ",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_one_line_and_nothing_else_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    make, expected = BAD[name]
    with pytest.raises(InputError) as caught:
        Tokenizer.from_files({"tokenizer.json": json.dumps(make()).encode()})
    message = str(caught.value)
    assert message.startswith("tokenizer.json")
    assert expected in message
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("document", [WORDPIECE, DEBERTA, PAIRS], ids=["WordPiece", "Unigram", "byte pairs"])
def test_the_documents_themselves_are_read(document: dict[str, Any]) -> None:
    assert Tokenizer.from_files({"tokenizer.json": json.dumps(document).encode()}).encode(["a"], max_len=9)


def test_a_prefix_that_all_pairs_have_is_read() -> None:
    model = {
        "type": "BPE",
        "vocab": {"a": 0, "##b": 1, "ab": 2},
        "merges": [["a", "##b"]],
        "continuing_subword_prefix": "##",
    }
    model["vocab"] |= {name: 3 + number for number, name in enumerate(("<s>", "<pad>", "</s>", "<unk>"))}
    document = {"version": "1.0", "model": model, "added_tokens": []}
    found = Tokenizer.from_files({"tokenizer.json": json.dumps(document).encode()})
    assert found.pieces(["ab"])[0].ids == [2]


def test_a_panic_is_one_line_and_an_interrupt_stays_one() -> None:
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(InputError, match=r"^It must work\. Received: no entry found\.$"), refused_as("It must work."):
        raise panic("no entry\n  found.")
    with pytest.raises(KeyboardInterrupt), refused_as("It must work."):
        raise KeyboardInterrupt
