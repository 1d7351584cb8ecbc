"""examples.json: one form for every model, enough to check an app; tolerances follow from what was measured."""

import base64
import hashlib
import json
import zlib
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

from exporters.data.rows import Rows
from exporters.data.token_rows import TokenRows
from exporters.formats.model_file import Signature, TensorInfo
from exporters.self_test import texts
from exporters.self_test.document import FORMAT, examples_file, shown
from exporters.self_test.example import Example, Worked, features_entry
from exporters.sources.token_examples import worked_examples
from exporters.verification.parity import Parity
from models_tf import tasks
from models_tf.tasks.generated import generated_inputs
from support import squad_files
from support.tiny_models import TOKENS, tiny_tokenizer

SCHEMA = json.loads(resources.files("exporters.self_test").joinpath("examples.schema.json").read_text("utf-8"))
LENGTH = 12


class Sum:
    """Logits that tell which row they are for."""

    name = "model_int8.tflite on LiteRT"

    def __call__(self, feed):
        totals = feed["ids"].sum(axis=1)
        return {"logits": np.stack([totals, -totals / 7], axis=1).astype(np.float32)}


def placed(name="model_int8.tflite", graph="model", runner=None, scale=None):
    output = TensorInfo(name="logits", dtype="int8", shape=(1, 2), scale=scale)
    return SimpleNamespace(
        name=name,
        graph=graph,
        format=SimpleNamespace(runtime="LiteRT"),
        runner_name=f"{name} on LiteRT",
        forget=lambda: None,
        file=SimpleNamespace(signatures={"serving_default": Signature(inputs=(), outputs=(output,))}),
        runner=lambda inputs: runner or Sum(),
    )


def parity(candidate="model_int8.tflite on LiteRT", reference="Keras", limit=None, max_abs=0.25) -> Parity:
    return Parity(
        candidate=candidate,
        reference=reference,
        rows=4,
        max_abs=max_abs,
        mean_abs=0.1,
        argmax_agreement=1.0,
        limit=limit,
    )


MODEL = {"name": "bert", "task": "classification", "max_seq_len": LENGTH, "parameters": 7}


def rows_of(path: Path, content: str, task: str, labels=("no", "yes"), **options) -> Rows:
    path.write_text(content, encoding="utf-8")
    found = tasks.read_rows(task, path, tokenizer=tiny_tokenizer(), labels=labels, max_len=LENGTH, **options)
    return Rows(evaluation=TokenRows.of(found), source=str(path), calibration=None, calibration_source="not needed")


def document(rows: Rows, task: str, inputs=("ids", "mask")) -> dict:
    worked = worked_examples(
        rows, task=task, inputs=inputs, max_seq_len=LENGTH, tokenizer=tiny_tokenizer(), graph="model"
    )
    made = json.loads(examples_file(worked, [placed()], [parity()], model=MODEL | {"task": task}))
    jsonschema.validate(made, SCHEMA)
    return made


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"format": FORMAT}, SCHEMA)


def test_ten_rows_of_the_data_and_six_hard_ones_with_ids_and_the_numbers_of_the_file(tmp_path):
    lines = "".join(f"the {number} cat\t{('no', 'yes')[number % 2]}\n" for number in range(50))
    made = document(rows_of(tmp_path / "a.tsv", "text\tlabel\n" + lines, "classification"), "classification")
    origins = [example["origin"] for example in made["examples"]]
    assert origins == ["data"] * 10 + ["empty", "accents", "emoji", "upper case", "digits", "very long"]
    assert [example["text"] for example in made["examples"][:3]] == ["the 0 cat", "the 5 cat", "the 10 cat"]
    for example in made["examples"]:
        inputs = example["inputs"]
        assert len(inputs["ids"]) == len(inputs["mask"]) == sum(inputs["mask"]) == inputs["tokens"]
        assert (TOKENS[inputs["ids"][0]], TOKENS[inputs["ids"][-1]]) == ("[CLS]", "[SEP]")
        total = sum(inputs["ids"])
        assert np.allclose(example["outputs"]["model_int8.tflite"]["logits"], [total, -total / 7])
        assert not {"text_pair", "words"} & set(example)
    by_origin = {example["origin"]: example for example in made["examples"]}
    assert by_origin["empty"]["inputs"]["tokens"] == 2
    assert by_origin["very long"]["inputs"]["tokens"] == LENGTH
    assert made["files"]["model_int8.tflite"] == {"inputs": ["ids", "mask"], "runtime": "LiteRT", "tolerance": 0.25}


def test_few_rows_are_filled_up_and_a_huge_row_is_not_shown(tmp_path):
    content = f"text\tlabel\nthe cat\tno\nthe dog\tyes\n{'word ' * 1000}\tyes\n"
    made = document(rows_of(tmp_path / "a.tsv", content, "classification"), "classification")
    origins = [example["origin"] for example in made["examples"]]
    assert origins[:10] == ["data"] * 2 + ["plain"] * 8
    assert len(origins) == 16


def test_pairs_have_a_second_text_and_segments_everywhere(tmp_path):
    content = "sentence1\tsentence2\tlabel\nthe cat\ta dog\tno\nthe dog\tthe cat\tyes\n"
    rows = rows_of(tmp_path / "a.tsv", content, "classification")
    made = document(rows, "classification", inputs=("ids", "mask", "segments"))
    assert [(example["text"], example["text_pair"]) for example in made["examples"][:2]] == [
        ("the cat", "a dog"),
        ("the dog", "the cat"),
    ]
    assert all(max(example["inputs"]["segments"]) == 1 for example in made["examples"])


def test_taggers_get_words_and_the_places_where_they_begin(tmp_path):
    content = "\n\n".join("\n".join(f"{word}\tO" for word in ("the", "unbelievable", "cat")) for _ in range(3)) + "\n"
    made = document(
        rows_of(tmp_path / "a.conll", content, "token-classification", labels=("O",)), "token-classification"
    )
    example = made["examples"][0]
    assert example["words"] == ["the", "unbelievable", "cat"]
    assert "text" not in example
    encoded = tiny_tokenizer().encode_words([example["words"]], max_len=LENGTH)
    assert example["inputs"]["word_starts"] == encoded.first[0].tolist()
    by_origin = {one["origin"]: one for one in made["examples"]}
    assert by_origin["empty"]["inputs"]["word_starts"] == []
    assert by_origin["very long"]["inputs"]["word_starts"][-1] == -1


def test_a_question_comes_with_its_passage(tmp_path):
    path = squad_files.write_json(tmp_path / "squad.json", squad_files.document())
    found = tasks.read_rows("question-answering", path, tokenizer=tiny_tokenizer(), max_len=LENGTH)
    rows = Rows(evaluation=TokenRows.of(found), source=str(path), calibration=None, calibration_source="not needed")
    made = document(rows, "question-answering", inputs=("ids", "mask", "segments"))
    shown_questions = [(example["text"], example["text_pair"]) for example in made["examples"][:3]]
    assert shown_questions == [(text, squad_files.PASSAGE) for _, text, _ in squad_files.QUESTIONS]
    assert made["examples"][3]["origin"] == "plain"  # the windows of a question count once


def test_without_a_tokenizer_made_up_rows_are_shown_without_texts():
    inputs = generated_inputs(30, max_len=LENGTH, count=64, seed=0, pairs=False)
    rows = Rows(
        evaluation=TokenRows(inputs=inputs, keys=[f"generated 0 {row}" for row in range(64)]),
        source="generated",
        calibration=None,
        calibration_source="not needed",
    )
    worked = worked_examples(
        rows, task="base", inputs=("ids", "mask"), max_seq_len=LENGTH, tokenizer=None, graph="model"
    )
    made = json.loads(examples_file(worked, [placed()], [parity()], model=MODEL))
    jsonschema.validate(made, SCHEMA)
    assert [example["origin"] for example in made["examples"]] == ["generated"] * 16
    assert not any("text" in example for example in made["examples"])
    tokens = made["examples"][0]["inputs"]["tokens"]
    assert made["examples"][0]["inputs"]["ids"] == inputs["ids"][0, :tokens].tolist()


def test_features_are_packed_without_their_padding_and_summed_with_it():
    features = np.zeros((5, 8), np.int8)
    features[:2] = [[1, -1, 0, 1, 1, 0, -1, 1]] * 2
    entry = features_entry(features, 2)
    assert entry["tokens"] == 2
    assert entry["features"]["shape"] == [5, 8]
    assert zlib.decompress(base64.b64decode(entry["features"]["rows"])) == features[:2].tobytes()
    assert entry["features"]["sha256"] == hashlib.sha256(features.tobytes()).hexdigest()
    assert zlib.decompress(base64.b64decode(features_entry(np.zeros((5, 8), np.int8), 0)["features"]["rows"])) == b""


@pytest.mark.parametrize(
    ("name", "shape", "tokens", "corner"),
    [
        ("logits", (7,), 5, (7,)),
        ("logits", (1000,), 5, (256,)),
        ("logits", (12, 9), 6, (4, 9)),
        ("logits", (12, 9), 2, (2, 9)),
        ("start_logits", (384,), 200, (32,)),
        ("end_logits", (384,), 9, (9,)),
        ("hidden", (12, 384), 6, (4, 8)),
        ("pooled", (384,), 6, (8,)),
    ],
)
def test_the_corner_of_an_answer_is_short(name, shape, tokens, corner):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = np.array(shown(name, values, tokens))
    assert found.shape == corner
    assert (found == values[tuple(map(slice, corner))]).all()


def test_an_answer_that_is_not_finite_is_null_and_its_file_has_no_tolerance():
    assert shown("logits", np.array([1.0, np.nan, np.inf]), 2) == [1.0, None, None]
    worked = Worked(
        examples=[Example(origin="plain", text="a", inputs={"tokens": 1, "ids": [3]})],
        feed={"ids": np.array([[3]])},
        inputs={"model": ("ids",)},
    )
    broken = json.loads(examples_file(worked, [placed()], [parity(max_abs=float("inf"))], model=MODEL))
    jsonschema.validate(broken, SCHEMA)
    assert broken["files"]["model_int8.tflite"]["tolerance"] is None


@pytest.mark.parametrize(
    ("parities", "scale", "expected"),
    [
        ([parity(limit=3e-4, max_abs=1e-6)], None, 3e-4),  # float: the limit of the gate
        ([parity(max_abs=0.25)], 0.05, 0.25),  # quantized: what quantization costs
        ([parity(max_abs=0.01)], 0.05, 0.1),  # at least two steps of the output
        ([parity(max_abs=0.0)], None, 1e-4),
        ([parity(limit=0.0, reference="f"), parity(candidate="f", max_abs=0.5)], None, 0.5),  # text-in: as features-in
        (  # which took padded rows there
            [
                parity(limit=0.0, reference="f (padded)"),
                parity(candidate="f (padded)", reference="f", max_abs=0.0),
                parity(candidate="f", max_abs=0.5),
            ],
            None,
            0.5,
        ),
    ],
)
def test_the_tolerance_follows_from_what_was_measured(parities, scale, expected):
    worked = Worked(
        examples=[Example(origin="plain", text="a", inputs={"tokens": 1, "ids": [3]})],
        feed={"ids": np.array([[3]])},
        inputs={"model": ("ids",)},
    )
    made = json.loads(examples_file(worked, [placed(scale=scale)], parities, model=MODEL))
    assert made["files"]["model_int8.tflite"]["tolerance"] == pytest.approx(expected)


def test_rows_are_spread_over_the_data():
    assert texts.spread([5] * 100) == list(range(0, 100, 10))
    assert texts.spread([5, 10**6, 5]) == [0, 2]
    assert texts.spread([]) == []
