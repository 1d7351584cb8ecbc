"""Token models on the page of examples/web: a BERT that classifies, a tagger, and a real MiniLM, in both engines."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from exporters import DemoRequest, ExportRequest, demo, export
from exporters.formats.base import load_runner
from models_tf.tokenizers.tokenizer import Tokenizer
from support import playwright
from support.real_checkpoints import data_folder, minilm_sst2
from support.tiny_models import LENGTH, write_checkpoint

ROWS = 200
# Of those that read distances of tokens one takes any length, the other one alone.
RELATIVE = ("mpnet", "deberta-v2")
OTHERS = [(name, suffix) for name in RELATIVE for suffix in ("tflite", "onnx")]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(playwright.missing()), reason=f"needs {playwright.missing()}"),
]


@pytest.fixture(scope="module")
def sentences():
    """Words of the tiny models are numbers."""
    generator = np.random.default_rng(5)
    return [[str(word) for word in generator.integers(0, 60, generator.integers(1, 14))] for _ in range(ROWS)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, sentences):
    """float32: with random weights two labels can be so near that a rounding of int8 decides."""
    folder = tmp_path_factory.mktemp("tokens")
    found = {}
    for name, task, recipe in (
        ("bert", "classification", "float32"),
        ("tagger", "token-classification", "float32"),
        ("refused", "classification", "int8"),
        *((model, "classification", "float32") for model in RELATIVE),
    ):
        model = name if name in ("tagger", *RELATIVE) else "bert"
        checkpoint = write_checkpoint(folder / f"{name}-checkpoint", model, task)
        data = folder / f"{name}.tsv"
        labels = json.loads((checkpoint / "config.json").read_text())["id2label"].values()
        if name == "tagger":
            data = folder / "tagger.conll"
            data.write_text(
                "\n\n".join("\n".join(f"{w}\t{next(iter(labels))}" for w in row) for row in sentences) + "\n"
            )
        else:
            lines = [f"{' '.join(row)}\t{list(labels)[n % len(labels)]}" for n, row in enumerate(sentences)]
            data.write_text("\n".join(["text\tlabel", *lines]) + "\n")
        request = ExportRequest(
            model=model,
            checkpoint=checkpoint,
            eval_data=data,
            quantize=recipe,
            max_seq_len=LENGTH,
            output=folder / name,
        )
        export(request)
        found[name] = folder / name
    return found


@pytest.fixture(scope="module")
def seen(tiny, sentences, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seen")
    texts = [" ".join(words) for words in sentences]
    with demo(DemoRequest(folders=tuple(tiny.values()))) as page:
        steps = [["ready"]]
        for suffix in ("tflite", "onnx"):
            steps.append(["classify", "models/bert", f"model_float32.{suffix}", texts])
            steps.append(["classify", "models/tagger", f"model_float32.{suffix}", sentences])
        steps += [
            ["type", "7 8 9"],
            ["selfTest"],
            ["chooseFolder", "models/tagger"],
            ["type", "7 8  9"],
            ["selfTest"],
            ["screenshot", str(folder / "tagger.png")],
            ["chooseFolder", "models/refused"],
            ["files"],
            *(["classify", f"models/{name}", f"model_float32.{suffix}", texts] for name, suffix in OTHERS),
        ]
        (visit,) = playwright.drive(folder, [{"address": page.address, "steps": steps}])
    assert visit["errors"] == []
    return dict(zip((step[0] + str(place) for place, step in enumerate(steps)), visit["answers"], strict=True))


def labels_of(folder: Path, file: str, texts: list[str]) -> list[str]:
    """In Python: our own tokenizer and runner."""
    document = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    feed = Tokenizer.from_folder(folder).encode(texts, None, max_len=document["max_seq_len"])
    logits = load_runner(folder / file, inputs=tuple(document["inputs"]))(feed)["logits"]
    return [document["labels"][best] for best in logits.argmax(-1)]


def tags_of(folder: Path, file: str, sentences: list[list[str]]) -> list[list[str]]:
    document = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    encoded = Tokenizer.from_folder(folder).encode_words(sentences, max_len=document["max_seq_len"])
    logits = load_runner(folder / file, inputs=tuple(document["inputs"]))(encoded.inputs)["logits"]
    return [
        [
            document["labels"][logits[row, place].argmax()] if place >= 0 else None
            for place in encoded.first[row][: len(words)]
        ]
        for row, words in enumerate(sentences)
    ]


@pytest.mark.parametrize(("suffix", "step"), [("tflite", "classify1"), ("onnx", "classify3")])
def test_labels_of_a_bert_are_those_of_python(suffix, step, seen, tiny, sentences):
    found = [answer["label"] for answer in seen[step]["answers"]]
    expected = labels_of(tiny["bert"], f"model_float32.{suffix}", [" ".join(words) for words in sentences])
    assert len(set(expected)) > 1
    assert found == expected


@pytest.mark.parametrize(("name", "suffix"), OTHERS)
def test_labels_of_models_that_read_distances_are_those_of_python(name, suffix, seen, tiny, sentences):
    found = [answer["label"] for answer in seen[f"classify{13 + OTHERS.index((name, suffix))}"]["answers"]]
    expected = labels_of(tiny[name], f"model_float32.{suffix}", [" ".join(words) for words in sentences])
    assert len(set(expected)) > 1
    assert found == expected


@pytest.mark.parametrize(("suffix", "step"), [("tflite", "classify2"), ("onnx", "classify4")])
def test_tags_of_a_tagger_are_those_of_python(suffix, step, seen, tiny, sentences):
    expected = tags_of(tiny["tagger"], f"model_float32.{suffix}", sentences)
    assert len({tag for row in expected for tag in row}) > 2
    assert seen[step]["answers"] == expected


def test_the_page_shows_labels_of_a_bert_and_tags_of_a_tagger(seen, tiny):
    assert seen["type5"]["labels"][0][0] == labels_of(tiny["bert"], "model_float32.tflite", ["7 8 9"])[0]
    (tags,) = tags_of(tiny["tagger"], "model_float32.tflite", [["7", "8", "9"]])
    assert seen["type8"]["tags"] == [f"{word}{tag}" for word, tag in zip("789", tags, strict=True)]
    for step in ("selfTest6", "selfTest9"):
        assert seen[step]["verdict"].startswith("Passed: 16 texts")


def test_a_file_with_int8_outputs_is_not_offered_for_litert_js(seen):
    assert seen["chooseFolder11"].startswith("ONNX Runtime Web is ready")
    offered, refused = seen["files12"]
    assert (offered["name"], offered["disabled"]) == ("model_int8.onnx", False)
    assert (refused["name"], refused["disabled"]) == ("model_int8.tflite", True)
    assert "LiteRT.js takes float32, int32, uint8 for inputs and outputs, not int8 (logits)" in refused["text"]


@pytest.mark.exhaustive
def test_labels_of_minilm_are_those_of_python_on_200_texts_of_sst2_but_for_coin_tosses(tmp_path):
    table = data_folder("sst2", "dev.tsv")
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[: ROWS + 1]
    request = ExportRequest(
        model="bert",
        checkpoint=minilm_sst2(),
        eval_data=table,
        quantize="int8",
        io="float32",  # else LiteRT.js refuses it
        max_seq_len=64,
        output=tmp_path / "minilm",
    )
    export(request)
    texts = [text for text, _ in rows[1:]]
    files = ("model_int8.tflite", "model_int8.onnx")
    with demo(DemoRequest(folders=(tmp_path / "minilm",))) as page:
        steps = [["ready"], *(["classify", "models/minilm", file, texts] for file in files), ["selfTest"]]
        (visit,) = playwright.drive(tmp_path, [{"address": page.address, "steps": steps}])
    _, *answers, tested = visit["answers"]
    for file, found in zip(files, answers, strict=True):
        assert len(found["answers"]) == ROWS
        expected = labels_of(tmp_path / "minilm", file, texts)
        differ = [n for n, answer in enumerate(found["answers"]) if answer["label"] != expected[n]]
        # Kernels of WebAssembly round an activation to the step beside now and then, as those of other processors do.
        # On these rows that moved a probability by up to 0.03, so only labels of about 50 % can turn: one row of 200
        # did. Trained models must agree on 99 %.
        assert len(differ) <= ROWS // 100, (file, differ)
        assert all(found["answers"][n]["probability"] < 0.55 for n in differ), (file, differ)
    assert tested["verdict"].startswith("Passed: 16 texts")
