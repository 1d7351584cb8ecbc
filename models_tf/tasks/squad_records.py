"""Reader of SQuAD as TFRecords: windows that run_squad.py tokenized, and beside them the words and true answers.

Features: input_ids, input_mask, segment_ids, tokens, token_to_orig_map, token_is_max_context, qas_id. Ground truth:
qas_id, words (white-space words of the passage), answers. Nothing says where an answer begins, so there are no targets.
"""

from pathlib import Path

import numpy as np

from models_tf import limits
from models_tf.data.held import text_bytes
from models_tf.data.text import clean_text
from models_tf.data.tfrecord import Example, read_examples
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks.squad_json import SquadRows
from models_tf.tasks.squad_text import join_pieces
from models_tf.tasks.squad_windows import Question, Window, WordWindow
from models_tf.tokenizers.tokenizer import Tokenizer

_SUFFIXES = (".tfrecord", ".tfrecords", ".tf_record")
_INPUTS = {IDS: "input_ids", MASK: "input_mask", SEGMENTS: "segment_ids"}
_FEATURES = (*_INPUTS.values(), "token_to_orig_map", "token_is_max_context", "qas_id")
_TRUTHS = ("qas_id", "words", "answers")


def is_records(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in _SUFFIXES


def read_records(path: Path, *, tokenizer: Tokenizer, max_len: int, labelled: bool) -> SquadRows:
    """Inputs, windows, no targets, notes."""
    features_path, truths_path = _files(path)
    _check_vocabulary(features_path, tokenizer)
    passages = _read_truths(truths_path)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in _INPUTS}
    windows: list[Window] = []
    questions: dict[str, Question] = {}
    for number, example in enumerate(read_examples(features_path, _FEATURES), start=1):
        where = f"{features_path} record {number}"
        _need(example, _FEATURES, where)
        name = _text(example, "qas_id")[0]
        if name not in passages:
            raise InputError(f"{truths_path} must have every question of {features_path.name}. Received: no {name!r}.")
        limits.check("rows", number, str(features_path))
        used = int(np.asarray(example["input_mask"]).sum())
        for ours, theirs in _INPUTS.items():
            row = _fit(np.asarray(example[theirs]), used, max_len, where)
            rows[ours].append(np.where(np.arange(max_len) < used, row, tokenizer.pad_id if ours == IDS else 0))
        tokens = [tokenizer.token(number) for number in _ids(rows[IDS][-1][:used], tokenizer, where)]
        word_of, best = np.asarray(example["token_to_orig_map"]), np.asarray(example["token_is_max_context"])
        offset = used - 1 - len(word_of)  # the passage stands before the last [SEP]
        words, answers = passages[name]
        mapped = len(word_of) == len(best) > 0 and 0 <= word_of.min() <= word_of.max() < len(words)
        if not mapped or offset < 2:
            raise InputError(f"{where} must map its passage to {len(words)} words. Received: {len(word_of)} tokens.")
        if name not in questions:
            text = join_pieces(tokens[1 : offset - 1])
            questions[name] = Question(id=name, text=text, answers=answers if labelled else ())
        windows.append(
            WordWindow(
                question=questions[name],
                offset=offset,
                max_context=best.astype(bool),
                words=words,
                word_of=word_of.astype(np.int32),
                tokens=tokens[offset:-1],
                split=tokenizer.basic_tokens,
            )
        )
    if not windows:
        return {name: np.zeros((0, max_len), np.int32) for name in _INPUTS}, [], None, ()
    return {name: np.stack(arrays) for name, arrays in rows.items()}, windows, None, ()


def _files(path: Path) -> tuple[Path, Path]:
    """The features and, beside them, the ground truth: named alike but for `eval` and `groundtruth`."""
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES and "eval" in file.name)
        if len(found) != 1:
            raise InputError(f"{path} must have one file *eval*.tfrecord. Received: {len(found)}.")
        path = found[0]
    truths = path.with_name(path.name.replace("eval", "groundtruth"))
    if truths == path or not truths.is_file():
        raise InputError(
            f"{path} must be a file *eval*.tfrecord with *groundtruth*.tfrecord beside it. Received: no {truths.name}."
            if truths != path
            else f"SQuAD's features must be in a file *eval*.tfrecord. Received: {path}."
        )
    return path, truths


def _read_truths(path: Path) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Words and answers by the id of the question. Questions of one passage share its words."""
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = {}
    size = 0
    for number, example in enumerate(read_examples(path, _TRUTHS), start=1):
        where = f"{path} record {number}"
        _need(example, _TRUTHS, where)
        words = tuple(_text(example, "words"))
        if words not in shared:
            size += text_bytes(*words)
            limits.check("held_bytes", size, f"The passages of {path}")
        answers = tuple(_text(example, "answers"))
        if not answers or not words:
            raise InputError(f"{where} must have words and an answer. Received: {len(words)}, {len(answers)}.")
        found[_text(example, "qas_id")[0]] = (shared.setdefault(words, words), answers)
    return found


def _need(example: Example, names: tuple[str, ...], where: str) -> None:
    for name in names:
        kind = list if name in ("tokens", "words", "answers", "qas_id") else np.ndarray
        if not isinstance(example.get(name), kind) or (name == "qas_id" and len(example[name]) != 1):
            raise InputError(f"{where} must have {name!r}. Received: {', '.join(sorted(example))}.")


def _text(example: Example, name: str) -> list[str]:
    return [clean_text(bytes(value).decode("utf-8", "replace")) for value in example[name]]


def _fit(values: np.ndarray, used: int, max_len: int, where: str) -> np.ndarray:
    if used > max_len or used > len(values):
        raise InputError(
            f"{where} is {used} tokens long: the sequence length must be at least that (records of this kind were cut "
            f"at {len(values)}). Received: {max_len}."
        )
    row = np.zeros(max_len, np.int32)
    row[:used] = values[:used]
    return row


def _ids(ids: np.ndarray, tokenizer: Tokenizer, where: str) -> list[int]:
    if ids.min(initial=0) < 0 or ids.max(initial=0) >= tokenizer.vocab_size:
        raise InputError(f"{where} must have ids below {tokenizer.vocab_size}. Received: {ids.min()} to {ids.max()}.")
    return ids.tolist()


def _check_vocabulary(path: Path, tokenizer: Tokenizer) -> None:
    """The tokens of the first record must have the numbers that they have in the model's vocabulary."""
    first = next(read_examples(path), None)
    if first is None:
        raise InputError(f"{path} must have records. Received: none.")
    _need(first, ("tokens", "input_ids"), f"{path} record 1")
    for token, number in zip(_text(first, "tokens"), first["input_ids"], strict=False):
        if tokenizer.token_id(token) != number:
            raise InputError(
                f"{path} must be tokenized with the model's vocabulary. Received: {token!r} with number {number}, "
                f"which is {tokenizer.token_id(token)} there. Give SQuAD's JSON instead."
            )
