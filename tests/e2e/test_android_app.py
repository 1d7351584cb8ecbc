"""What `export-mobile android` writes and the app of examples/android, compiled and run on a desktop JVM with LiteRT.

A PRADO, a BERT and a tagger answer 1,000 texts from Kotlin; the labels must be those that Python gives.
"""

import json
import random
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from exporters import AndroidRequest, ExportRequest, android, export
from exporters.app_code.kotlin import kotlin_class
from exporters.app_code.model import AppModel
from models_tf.tokenizers.tokenizer import Tokenizer
from support import android_jvm as jvm
from support.real_checkpoints import data_folder, minilm_sst2
from support.shipped_files import BUNDLED, copy_of, shuffled
from support.tiny_models import TOKENS, VOCAB, write_checkpoint

TEXTS = 1000
LENGTH = 32
NASTY = [
    "plain",
    'a "quote"',
    "$dollar ${1}",
    "back\\slash",
    "new\nline",
    "\ttab",
    "'",
    "日本 😀",
    "\u202edirection",
    "",
]
PACKAGE = "com.example.app"
RESOURCES = jvm.PROJECT / "app" / "src" / "main" / "res"
ACTIVITY = jvm.PROJECT / "app" / "src" / "main" / "java"


def texts() -> list[str]:
    """The 301 rows of the bundled SNIPS, and made up ones: their words among rare characters, empty and long ones."""
    rows = [line.split("\t")[0] for line in (BUNDLED / "snips" / "eval.tsv").read_text().splitlines()[1:]]
    words = sorted({word for row in rows for word in row.split()})
    words += ["", "ÉCLAIR", "naïve", "日本語", "😀🎉", "\u00a0", "ﬁ"]
    words += ["don't", "x" * 80, "٣", "e\u0301", "\u200b", "\ufffd", "İ", "#!?", "[MASK]", "\x07"]
    chosen = random.Random(0)
    made = [" ".join(chosen.choices(words, k=chosen.choice([0, 1, 3, 8, 60]))) for _ in range(TEXTS - len(rows))]
    return rows + made


def tiny(folder: Path, model: str, task: str, rows: str) -> Path:
    """An export of a tiny model with random weights, calibrated on a few rows."""
    changes = {"vocab_size": len(TOKENS), "max_position_embeddings": LENGTH}
    checkpoint = write_checkpoint(folder / f"{model} checkpoint", model, task, **changes)
    (checkpoint / "vocab.txt").write_bytes(VOCAB)
    data = folder / f"{model}{'.conll' if task == 'token-classification' else '.tsv'}"
    data.write_text(rows)
    report = export(
        ExportRequest(
            model=model,
            checkpoint=checkpoint,
            quantize="int8",
            target=("tflite",),
            eval_data=data,
            max_seq_len=LENGTH,
            output=folder / model,
        )
    )
    report.raise_for_failures()
    return folder / model


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Exports by the name of their written class."""
    if lacking := jvm.missing_java():
        pytest.skip(f"needs {lacking}")
    folder = tmp_path_factory.mktemp("exports")
    wanted = ExportRequest(quantize="int8", target=("tflite",), graphs=("bytes",), output=folder / "prado")
    export(wanted).raise_for_failures()
    words = [token for token in TOKENS[5:] if not token.startswith("##")]
    chosen = random.Random(1)
    rows = [chosen.choices(words, k=chosen.randint(2, 12)) for _ in range(60)]
    labelled = "".join(f"{' '.join(row)}\t{chosen.choice(['no', 'yes', 'perhaps'])}\n" for row in rows)
    tagged = "\n".join("".join(f"{word} {chosen.choice(['O', 'B-X', 'I-X'])}\n" for word in row) for row in rows)
    return {
        "IntentClassifier": folder / "prado",
        "BertClassifier": tiny(folder, "bert", "classification", f"text\tlabel\n{labelled}"),
        "SlotTagger": tiny(folder, "tagger", "token-classification", tagged),
    }


@pytest.fixture(scope="module")
def classes(tmp_path_factory) -> list[Path]:
    """The stand-ins, the library as Java 8, and the driver in Java: a class path."""
    if lacking := jvm.missing_java():
        pytest.skip(f"needs {lacking}")
    standins, library = tmp_path_factory.mktemp("standins"), tmp_path_factory.mktemp("library")
    jvm.compile_java(standins, jvm.java_files(jvm.STANDINS))
    jvm.compile_java(library, jvm.java_files(jvm.LIBRARY), classpath=[standins], old=True)
    jvm.compile_java(library, [jvm.NATIVE / "RunModels.java"], classpath=[standins, library])
    return [standins, library]


@pytest.fixture(scope="module")
def app(folders, classes, tmp_path_factory) -> tuple[list[Path], Path]:
    """The app with the written classes: a class path with everything, and the module's folder."""
    if lacking := jvm.missing_kotlin():
        pytest.skip(f"needs {lacking}")
    module, target = tmp_path_factory.mktemp("module"), tmp_path_factory.mktemp("app")
    (module / "build.gradle.kts").touch()
    for name, folder in folders.items():
        android(AndroidRequest(folder=folder, package=PACKAGE, class_name=name, output=module))
    nasty = AppModel(
        folder=module, file="a.tflite", files=(), name="*/ nasty", task="a */ b", kind="Classifier",
        labels=tuple(NASTY), multi_label=True, pairs=False,
    )  # fmt: skip
    (module / "Nasty.kt").write_text(kotlin_class(nasty, package=PACKAGE, name="Nasty", assets="$x"))
    copy_models(folders.values(), module / "src" / "main" / "assets" / "models")
    (target / "R.java").write_text(resource_class())
    jvm.compile_java(target, [target / "R.java"])
    # The library as it was written into the app must compile as well as the one in the project.
    written = tmp_path_factory.mktemp("written")
    jvm.compile_java(written, jvm.java_files(module), classpath=[classes[0]], old=True)
    activity = [path if path.name != "MainActivity.kt" else opened(path, target) for path in ACTIVITY.rglob("*.kt")]
    sources = [*module.rglob("*.kt"), *activity, jvm.NATIVE / "RunApp.kt"]
    jvm.compile_kotlin(target, sources, classpath=[classes[0], written, target])
    return [classes[0], written, target, jvm.kotlin_library()], module


def opened(path: Path, folder: Path) -> Path:
    """A copy of the Activity that the driver can extend, to call what only Android calls."""
    copy = folder / path.name
    copy.write_text(path.read_text().replace("class MainActivity :", "open class MainActivity :"))
    return copy


def copy_models(folders, target: Path) -> None:
    """What the Gradle task copyModels copies, by the patterns that stand in it."""
    script = (jvm.PROJECT / "app" / "build.gradle.kts").read_text()
    patterns = [
        name
        for line in re.findall(r"^ +include\((.*)\)$", script, re.MULTILINE)
        for name in re.findall('"(.*?)"', line)
    ]
    assert "bytes_*.tflite" in patterns
    for folder in folders:
        (target / folder.name).mkdir(parents=True)
        for pattern in patterns:
            for path in folder.glob(pattern):
                shutil.copy(path, target / folder.name)


def resource_class() -> str:
    """The class R that Android's tools would make of the resources."""
    layout = ET.parse(RESOURCES / "layout" / "activity_main.xml")
    space = "{http://schemas.android.com/apk/res/android}"
    ids = [element.get(f"{space}id", "").removeprefix("@+id/") for element in layout.iter()]
    strings = [element.get("name") for element in ET.parse(RESOURCES / "values" / "strings.xml").iter("string")]
    parts = {"id": [name for name in ids if name], "string": strings, "layout": ["activity_main"]}
    inner = "".join(
        f"public static final class {part} {{ {fields} }}\n"
        for part, names in parts.items()
        if (fields := " ".join(f"public static final int {name} = {at};" for at, name in enumerate(names, 1)))
    )
    return f"package com.example.exportmobile;\npublic final class R {{\n{inner}}}\n"


def python_answers(folder: Path, rows: list[str]) -> tuple[list[str], list[float]]:
    """Labels and their logits from Python: LiteRT and the `tokenizers` package, texts as long as they are."""
    from ai_edge_litert.interpreter import Interpreter

    (file,) = folder.glob("*.tflite")
    run = Interpreter(str(file), num_threads=1).get_signature_runner("serving_default")
    inputs, (scale, zero_point) = run.get_input_details(), run.get_output_details()["logits"]["quantization"]
    labels = (folder / "labels.txt").read_text().splitlines()
    tags = folder.name.startswith("tagger")
    tokenizer = None if "text" in inputs else Tokenizer.from_folder(folder)
    found, numbers = [], []
    for row in rows:
        if tags and not row.split():
            found.append("")
            numbers.append(0.0)
            continue
        if tokenizer is None:
            feed = {"text": np.zeros(inputs["text"]["shape"], np.uint8)}
            data = np.frombuffer(row.encode(), np.uint8)[: feed["text"].size]
            feed["text"][0, : data.size] = data
            encoded = None
        else:
            encoded = tokenizer.encode_words([row.split()], max_len=LENGTH if tags else 64) if tags else None
            values = encoded.inputs if tags else tokenizer.encode([row], max_len=max_length(folder))
            size = int(values["mask"].sum())
            feed = {name: values[name][:, :size] for name in inputs}
        logits = run(**feed)["logits"][0].astype(np.float32)
        logits = (logits - np.float32(zero_point)) * np.float32(scale) if scale else logits
        if tags:
            first = encoded.first[0]
            found.append(" ".join("-" if place < 0 else labels[int(logits[place].argmax())] for place in first))
            numbers.append(0.0)
        else:
            found.append(labels[int(logits.argmax())])
            numbers.append(float(logits.max()))
    return found, numbers


def max_length(folder: Path) -> int:
    return json.loads((folder / "model.json").read_bytes())["max_seq_len"]


def java_answers(classes: list[Path], folder: Path, rows: list[str], scratch: Path) -> list[str]:
    (scratch / "texts").write_text("\n".join(rows))
    done = jvm.run(classes, "RunModels", "answers", folder, scratch / "texts", scratch / "out")
    assert done.returncode == 0, done.stderr
    return (scratch / "out").read_text().split("\n")[:-1]


def refusal(classes: list[Path], folder: Path, text: str, scratch: Path) -> str:
    """The one line with which the library refuses."""
    (scratch / "texts").write_text(text)
    done = jvm.run(classes, "RunModels", "answers", folder, scratch / "texts", scratch / "out")
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
    return line


def test_on_1000_texts_kotlin_gives_the_labels_of_python_for_prado_bert_and_a_tagger(app, folders, tmp_path):
    classpath, module = app
    rows = texts()
    assert len(rows) == TEXTS
    (tmp_path / "texts").write_text("\n".join(rows))
    assets = module / "src" / "main" / "assets"
    done = jvm.run(classpath, "RunAppKt", "classes", tmp_path / "texts", tmp_path / "out", assets=assets)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["passed"] * 3, "the self-tests"
    received = [line.split("\t") for line in (tmp_path / "out").read_text().split("\n")]
    for place, folder in enumerate(folders.values()):
        expected = python_answers(folder, rows)[0]
        different = [row for row, one, other in zip(rows, received, expected, strict=True) if one[place] != other]
        assert different == [], folder.name
        assert len(set(expected)) > 2, "a model that always says the same shows nothing"


def test_the_activity_shows_labels_tags_and_self_tests_of_every_model_in_the_assets(app):
    classpath, module = app
    layout = RESOURCES / "layout" / "activity_main.xml"
    properties = {
        "assets": module / "src" / "main" / "assets",
        "layout": layout,
        "resources": "com.example.exportmobile.R",
    }
    done = jvm.run(classpath, "RunAppKt", "app", "play some jazz", **properties)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:6]] == ["bert", "bert", "prado", "prado", "tagger", "tagger"]
    assert lines[2].startswith("prado: PlayMusic 0.")
    assert re.match(r"tagger: play \S+ some \S+ jazz \S+ ", lines[4])
    assert all(" passed: 16 examples, 0 failed" in line for line in lines[1:6:2])


def test_labels_of_any_characters_are_the_same_in_kotlin(app):
    done = jvm.run(app[0], "RunAppKt", "labels")
    assert done.stdout.split("\0") == NASTY


def test_the_library_has_the_logits_of_python(classes, folders, tmp_path):
    rows = texts()[:40]
    for name in ("IntentClassifier", "BertClassifier"):
        labels, logits = python_answers(folders[name], rows)
        received = [line.split("\t") for line in java_answers(classes, folders[name], rows, tmp_path)]
        assert [line[0] for line in received] == labels
        # The same runtime on the same numbers; Java prints a float in as many digits as identify it.
        assert [np.float32(line[1]) for line in received] == [np.float32(number) for number in logits]


def test_the_self_test_fails_on_a_file_with_other_weights_and_names_the_texts(classes, folders, tmp_path):
    for name, folder in folders.items():
        damaged = copy_of(folder, tmp_path / name)
        (file,) = damaged.glob("*.tflite")
        file.write_bytes(shuffled(file.read_bytes()))
        assert jvm.run(classes, "RunModels", "selftest", folder).returncode == 0
        done = jvm.run(classes, "RunModels", "selftest", damaged)
        assert done.returncode == 1, done.stdout + done.stderr
        assert done.stdout.startswith("FAILED: 16 examples")
        assert ": an answer differs by " in done.stdout


def test_the_self_test_finds_a_tokenizer_of_another_model(classes, folders, tmp_path):
    damaged = copy_of(folders["BertClassifier"], tmp_path / "bert")
    tokenizer = json.loads((damaged / "tokenizer.json").read_bytes())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["film"], vocabulary["movie"] = vocabulary["movie"], vocabulary["film"]
    (damaged / "tokenizer.json").write_text(json.dumps(tokenizer))
    done = jvm.run(classes, "RunModels", "selftest", damaged)
    assert done.returncode == 1
    assert ": the input ids is another one" in done.stdout


@pytest.mark.parametrize(
    ("name", "damage", "part"),
    [
        ("IntentClassifier", lambda folder: (folder / "labels.txt").unlink(), "Expected labels.txt beside the model"),
        ("IntentClassifier", lambda folder: (folder / "labels.txt").write_text("one\n"), "as many lines. Received: 1"),
        ("IntentClassifier", lambda folder: (folder / "projection.json").write_text("{"), "projection.json must be"),
        ("IntentClassifier", lambda folder: (folder / "projection.json").write_bytes(b"\xff"), "a damaged one"),
        ("BertClassifier", lambda folder: (folder / "model.json").write_text("[]"), "JSON that is no object"),
        ("BertClassifier", lambda folder: (folder / "tokenizer.json").unlink(), "Expected tokenizer.json"),
        ("BertClassifier", lambda folder: (folder / "model_int8.tflite").unlink(), "such as model_int8.tflite"),
        ("SlotTagger", lambda folder: (folder / "model_int8.tflite").write_bytes(b"no model"), "Internal error"),
    ],
)  # fmt: skip
def test_a_damaged_folder_is_refused_in_one_line(name, damage, part, classes, folders, tmp_path):
    folder = copy_of(folders[name], tmp_path / "folder")
    damage(folder)
    assert part in refusal(classes, folder, "play some jazz", tmp_path)


def test_a_file_of_another_signature_is_refused_in_one_line(classes, folders, tmp_path):
    folder = copy_of(folders["IntentClassifier"], tmp_path / "folder")
    shutil.copy(folders["BertClassifier"] / "model_int8.tflite", folder / "bytes_int8.tflite")
    line = refusal(classes, folder, "play some jazz", tmp_path)
    assert "must have as many lines" in line or "Received" in line


@pytest.mark.slow
def test_on_1000_texts_java_gives_the_labels_of_python_for_minilm(classes, tmp_path):
    folder = tmp_path / "out"
    request = ExportRequest(
        model="bert",
        checkpoint=minilm_sst2(),
        quantize="int8",
        target=("tflite",),
        eval_data=data_folder("sst2", "dev.tsv"),
        eval_rows=64,
        calibration_data=data_folder("sst2", "train.tsv"),
        max_seq_len=64,
        output=folder,
    )
    export(request).raise_for_failures()
    rows = texts()
    labels = python_answers(folder, rows)[0]
    assert [line.split("\t")[0] for line in java_answers(classes, folder, rows, tmp_path)] == labels
    assert set(labels) == {"negative", "positive"}
