"""A pruned vocabulary: on the texts that it was made for the same pieces and the same answers, and files that agree."""

import itertools
import json
import random

import numpy as np
import pytest

from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.vocabulary import in_vocabulary_of, keep_rows, keep_tokens, kept_numbers, kept_tokens
from models_tf.compress.apply import compress
from models_tf.compress.settings import Compression
from models_tf.compress.vocabulary_data import used_tokens
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.tasks.rows import Columns
from models_tf.tokenizers import vocabulary as files_of
from models_tf.tokenizers.tokenizer import Tokenizer
from support.network_runs import outputs, relative_error
from support.spiece_files import deberta_model, spiece_model, xlmr_model
from support.tiny_models import bert, stored

LETTERS = "abc"


def wordpiece(seed: int = 0) -> dict[str, bytes]:
    """Pieces of up to three letters, some of them missing; [PAD] is not the first."""
    generator = random.Random(seed)
    strings = ["".join(parts) for length in (1, 2, 3) for parts in itertools.product(LETTERS, repeat=length)]
    pieces = [front + text for text in strings for front in ("", "##") if generator.random() < 0.6]
    tokens = ["[UNK]", *pieces[:5], "[PAD]", "[CLS]", *pieces[5:], "[SEP]", "[MASK]"]
    return {"vocab.txt": "".join(f"{token}\n" for token in tokens).encode()}


def unigram(seed: int = 0, *, characters: bool = True) -> dict[str, bytes]:
    generator = random.Random(seed)
    strings = ["".join(parts) for length in (1, 2, 3) for parts in itertools.product(LETTERS, repeat=length)]
    pieces = [front + text for text in strings for front in ("", "\u2581") if generator.random() < 0.6]
    if characters:
        pieces = list(dict.fromkeys([*LETTERS, "\u2581", *pieces]))
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    vocab = [[token, 0.0] for token in special] + [[piece, -generator.uniform(1, 12)] for piece in pieces]
    content = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    part = {"Sequence": {"id": "A", "type_id": 0}}
    around = [{"SpecialToken": {"id": token, "type_id": 0}} for token in ("[CLS]", "[SEP]")]
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": {
            "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
            "pad_token": "<pad>",
        },
        "added_tokens": [{"id": number, "content": token, **content} for number, token in enumerate(special)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [around[0], part, around[1]],
            "pair": [around[0], part, around[1], {"Sequence": {"id": "B", "type_id": 1}}, around[1]],
            "special_tokens": {t: {"id": t, "ids": [special.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")},
        },
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": 1, "vocab": vocab, "byte_fallback": False},
    }  # fmt: skip
    config = {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "added_tokens_decoder": {str(number): {"content": token} for number, token in enumerate(special)},
    }
    return {"tokenizer.json": json.dumps(document).encode(), "tokenizer_config.json": json.dumps(config).encode()}


def texts(seed: int, count: int = 40) -> list[str]:
    """Words of the letters, and of one that no piece has."""
    generator = random.Random(seed)

    def word() -> str:
        letters = LETTERS + "z" * (generator.random() < 0.1)
        return "".join(generator.choice(letters) for _ in range(generator.randint(1, 7)))

    return [" ".join(word() for _ in range(generator.randint(1, 6))) for _ in range(count)]


def of_texts(tokenizer: Tokenizer, given: list[str], folder) -> set[int]:
    path = folder / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in given))
    return used_tokens(tokenizer, [path], head="classification")


@pytest.mark.parametrize("characters", [True, False])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", [wordpiece, unigram])
def test_texts_of_the_data_fall_into_the_same_pieces(make, seed, characters, tmp_path):
    files = make(seed)
    whole, given = Tokenizer.from_files(files), texts(seed)[: 1 + 3 * seed]
    kept = kept_numbers(whole, of_texts(whole, given, tmp_path), characters=characters)
    small = Tokenizer.from_files(files_of.keep_tokens(files, kept))
    assert small.vocab_size == len(kept)
    before, after = (one.encode(given, max_len=60) for one in (whole, small))
    np.testing.assert_array_equal(np.asarray(kept)[after["ids"]], before["ids"])
    assert [small.token(number) for number in range(small.vocab_size)] == [whole.token(number) for number in kept]
    for name in ("pad_id", "unk_id", "cls_id", "sep_id"):
        assert kept[getattr(small, name)] == getattr(whole, name)


def test_the_pieces_of_a_long_word_are_no_longer_than_the_longest_token():
    """Found by the attack: a word of three million letters was tried in all its lengths, at each of its letters."""
    tried = 0

    class Word(str):
        __slots__ = ()

        def __getitem__(self, place):
            nonlocal tried
            tried += 1
            return str.__getitem__(self, place)

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "##aaaa"]
    known = files_of.Vocabulary.of(Tokenizer.from_files({"vocab.txt": "".join(f"{one}\n" for one in tokens).encode()}))
    assert known.unknown_words([Word("a" * 2002)]) == {4, 5, 6}
    assert tried < 2002 * 6 * 2  # in front of every piece, at most the letters of `##aaaa`, each tried and then taken


def test_a_word_that_is_unknown_stays_so_where_greed_failed():
    # Of `abc` the longest piece is `ab`, and no `##c` follows: unknown, though `a` and `##bc` are there.
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "ab", "##bc"]
    files = {"vocab.txt": "".join(f"{token}\n" for token in tokens).encode()}
    whole = Tokenizer.from_files(files)
    assert files_of.Vocabulary.of(whole).unknown_words(["abc"]) == {5}
    without, kept = (
        Tokenizer.from_files(files_of.keep_tokens(files, {0, 1, 2, 3, 4, 6} | more)) for more in (set(), {5})
    )
    assert without.pieces(["abc"])[0].ids != [1]  # what would happen
    assert kept.pieces(["abc"])[0].ids == [1]


def test_the_lowest_score_stays_for_it_prices_the_unknown():
    whole = Tokenizer.from_files(unigram(3))
    scored = json.loads(unigram(3)["tokenizer.json"])["model"]["vocab"]
    assert files_of.lowest(scored) == min(range(len(scored)), key=lambda number: scored[number][1])
    assert files_of.lowest(scored) in files_of.Vocabulary.of(whole).always


def test_the_numbers_in_all_files_agree():
    kept = kept_numbers(Tokenizer.from_files(unigram(1)), {9, 20}, characters=False)
    found = files_of.keep_tokens(unigram(1), kept)
    document, settings = (json.loads(found[name]) for name in ("tokenizer.json", "tokenizer_config.json"))
    assert [entry["id"] for entry in document["added_tokens"]] == [0, 1, 2, 3, 4]
    assert document["padding"]["pad_id"] == 0
    assert set(settings["added_tokens_decoder"]) == {"0", "1", "2", "3", "4"}
    assert len(document["model"]["vocab"]) == len(kept)
    bert_files = wordpiece() | {
        "tokenizer.json": Tokenizer.from_files(wordpiece()).files()["tokenizer.json"],
        "added_tokens.json": b'{"[MASK]": 53}',
    }
    whole = Tokenizer.from_files(wordpiece())
    mask = whole.token_id("[MASK]")
    bert_files["added_tokens.json"] = json.dumps({"[MASK]": mask}).encode()
    small = files_of.keep_tokens(bert_files, kept_numbers(whole, {2}, characters=False))
    lines = small["vocab.txt"].decode().splitlines()
    assert json.loads(small["added_tokens.json"]) == {"[MASK]": lines.index("[MASK]")}
    assert json.loads(small["tokenizer.json"])["model"]["vocab"] == {token: n for n, token in enumerate(lines)}


@pytest.mark.parametrize(
    ("name", "content"),
    [("spiece.model", spiece_model()), ("sentencepiece.bpe.model", xlmr_model()), ("spm.model", deberta_model())],
    ids=["ALBERT", "XLM-RoBERTa", "DeBERTa"],
)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside tokenizer.json"])
def test_no_file_of_sentencepiece_stays_with_the_whole_vocabulary(name, content, beside):
    whole = Tokenizer.from_files({name: content})
    files = {name: content} | ({"tokenizer.json": whole.files()["tokenizer.json"]} if beside else {})
    small = files_of.keep_tokens(files, kept_numbers(whole, {9, 20}, characters=False))
    assert set(small) == {"tokenizer.json"}
    assert Tokenizer.from_files(small).vocab_size < whole.vocab_size


@pytest.mark.parametrize("added", [b'{"[MASK]": [4]}', b'{"[MASK]": {}}', b'{"[MASK]": "4"}', b"[4]"])
def test_added_tokens_without_numbers_are_one_line(added):
    """The attack found it: a list as a number was an internal error."""
    files = unigram(1) | {"added_tokens.json": added}
    with pytest.raises(InputError, match=r"added_tokens\.json must be an object of tokens and their numbers"):
        files_of.keep_tokens(files, files_of.Vocabulary.of(Tokenizer.from_files(files)).always)


def test_numbers_that_the_vocabulary_does_not_keep_are_one_line_or_left_out():
    files = unigram(1)
    settings = json.loads(files["tokenizer_config.json"])
    settings["added_tokens_decoder"] |= {"many": {"content": "x"}, "999": {"content": "y"}}
    files["tokenizer_config.json"] = json.dumps(settings).encode()
    always = files_of.Vocabulary.of(Tokenizer.from_files(files)).always
    kept = json.loads(files_of.keep_tokens(files, always)["tokenizer_config.json"])["added_tokens_decoder"]
    assert set(kept) == {"0", "1", "2", "3", "4"}
    document = json.loads(files["tokenizer.json"])
    document["padding"]["pad_id"] = 999
    files["tokenizer.json"] = json.dumps(document).encode()
    with pytest.raises(InputError, match=r"a token for every number that it puts in. Received: number 999\."):
        files_of.keep_tokens(files, always)


def test_only_tokenizers_that_stay_exact_are_pruned():
    document = json.loads(unigram()["tokenizer.json"])
    vocabulary = {token: number for number, token in enumerate(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"])}
    document["model"] = {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": "<unk>"}
    files = unigram() | {"tokenizer.json": json.dumps(document).encode()}
    with pytest.raises(InputError, match="Received: BPE"):
        files_of.keep_tokens(files, range(5))
    with pytest.raises(ValueError, match="must hold the special tokens"):
        files_of.keep_tokens(wordpiece(), [0, 1])
    with pytest.raises(ValueError, match="must be numbers from 0 to"):
        files_of.keep_tokens(wordpiece(), [10**6])


def lettered(head: str = "classification", **changes) -> checkpoint.EncoderCheckpoint:
    """A random BERT with `wordpiece()`: padding is not 0."""
    files = wordpiece()
    tokenizer = Tokenizer.from_files(files)
    of = bert(head, vocab_size=tokenizer.vocab_size, pad_id=tokenizer.pad_id)
    start = stored(of, **changes)
    return checkpoint.dataclasses.replace(start, tokenizer_files=files)


def answers(of: checkpoint.EncoderCheckpoint, given: list[str]) -> dict[str, np.ndarray]:
    inputs = Tokenizer.from_files(of.tokenizer_files).encode(given, max_len=20)
    named = {name.removeprefix("input_"): value for name, value in inputs.items()}
    return outputs(Network(config=of.config, head=of.head, tensors=of.tensors), named)


@pytest.mark.parametrize("head", ["classification", "token-classification"])
def test_answers_on_the_data_are_the_same(head, tmp_path):
    document = {"bos_token_id": 7, "eos_token_id": 2, "pad_token_id": 6, "sep_token_id": None}
    start, given = lettered(head, document=document), texts(5, 12)
    used = of_texts(Tokenizer.from_files(start.tokenizer_files), given, tmp_path)
    made = compress(start, Compression(prune_vocab=True, drop_characters=True), used=used)
    small = made.checkpoint
    assert made.record["vocabulary"]["after"] == small.config.vocab_size < start.config.vocab_size
    assert relative_error(answers(small, given), answers(start, given)) == 0.0
    numbers = kept_tokens(start, used, characters=False)
    assert small.document["bos_token_id"] == numbers.index(7)
    assert ("eos_token_id" in small.document) == (2 in numbers)
    checkpoint.save(tmp_path / "m", small)
    again = checkpoint.load(tmp_path / "m")
    assert again.config.pad_id == Tokenizer.from_files(again.tokenizer_files).pad_id == small.config.pad_id
    assert relative_error(answers(again, given), answers(start, given)) == 0.0


def test_a_teacher_can_read_the_pruned_ids_of_its_student(tmp_path):
    teacher, given = lettered(), texts(6, 12)
    used = of_texts(Tokenizer.from_files(teacher.tokenizer_files), given, tmp_path)
    student = keep_tokens(teacher, kept_tokens(teacher, used))
    tokenizer = Tokenizer.from_files(student.tokenizer_files)
    found = in_vocabulary_of(teacher, tokenizer)
    assert found is not None
    assert relative_error(answers(found, given), answers(teacher, given)) == 0.0
    assert in_vocabulary_of(student, Tokenizer.from_files(teacher.tokenizer_files)) is None
    with pytest.raises(ValueError, match="must hold padding"):
        keep_rows(Network(config=teacher.config, head=teacher.head, tensors=teacher.tensors), [0, 1])


def test_the_embedding_is_factorised_for_the_words_that_are_left():
    start = lettered()
    used = set(range(0, start.config.vocab_size, 2))
    both = compress(start, Compression(prune_vocab=True, drop_characters=True, embedding_size=8), used=used).checkpoint
    first = compress(start, Compression(prune_vocab=True, drop_characters=True), used=used).checkpoint
    second = compress(first, Compression(embedding_size=8)).checkpoint
    np.testing.assert_array_equal(both.tensors["word_embedding"], second.tensors["word_embedding"])
    with pytest.raises(InputError, match="keeps the tokens of texts: give --vocab-data FILE"):
        compress(start, Compression(prune_vocab=True))


FILES = {
    "a.txt": "ab ba\n\ncab\n",
    "a.tsv": "sentence\tlabel\nab ba\tx\ncab\ty\n",
    "a.csv": "label,text\nx,ab ba\ny,cab\n",
    "pairs.csv": "text_a,text_b,label\nab,ba,x\ncab,ab,y\n",
    "a.jsonl": '{"text": "ab ba", "label": "x"}\n{"text": "cab", "label": "y"}\n',
    "a.conll": "ab O\nba B-X\n\ncab O\n",
    "columns.tsv": "ab\tO\nba\tB-X\n\ncab\tO\n",
    "a.conllu": (
        "1\tab\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tba\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n1\tcab\t_\tX\t_\t_\t_\t_\t_\t_\n"
    ),
}


# A table has a header, and a tagger has no pairs.
READ_AS = {"columns.tsv": ["token-classification"], "pairs.csv": ["classification"]}
BOTH = ["classification", "token-classification"]


@pytest.mark.parametrize(("name", "head"), [(name, head) for name in FILES for head in READ_AS.get(name, BOTH)])
def test_every_kind_of_file_says_the_same(name, head, tmp_path):
    tokenizer = Tokenizer.from_files(wordpiece(2))
    (tmp_path / name).write_text(FILES[name])
    found = used_tokens(tokenizer, [tmp_path / name], head=head)
    known = files_of.Vocabulary.of(tokenizer)
    expected = {number for row in tokenizer.pieces(["ab", "ba", "cab"]) for number in row.ids}
    assert expected <= found <= expected | known.always | known.unknown_words(["ab", "ba", "cab"])


def test_files_that_are_missing_or_empty_are_refused(tmp_path):
    tokenizer = Tokenizer.from_files(wordpiece())
    with pytest.raises(InputError, match=r"--vocab-data must be a file. Received: .*none.tsv \(no such file\)"):
        used_tokens(tokenizer, [tmp_path / "none.tsv"], head="classification", columns=Columns())
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(InputError, match="--vocab-data must have texts"):
        used_tokens(tokenizer, [tmp_path / "blank.txt"], head="classification")


def test_transformers_reads_the_pruned_tokenizer_of_a_bert(tmp_path):
    transformers = pytest.importorskip("transformers")
    start, given = lettered(), texts(7, 12)
    used = of_texts(Tokenizer.from_files(start.tokenizer_files), given, tmp_path)
    small = keep_tokens(start, kept_tokens(start, used))
    checkpoint.save(tmp_path / "m", small)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path / "m")
    ours = Tokenizer.from_files(small.tokenizer_files)
    for text in given:
        row = ours.encode([text], max_len=30)
        assert theirs(text)["input_ids"] == row["ids"][0][row["mask"][0] == 1].tolist()
