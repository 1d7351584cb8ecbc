"""What `export-mobile android` writes and the app of examples/android, compiled and run on a desktop JVM with LiteRT.

A PRADO, a BERT and a tagger answer 1,000 texts from Kotlin; the labels must be those that Python gives.
"""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from exporters import AndroidRequest, AndroidResult, ExportRequest, InputError, android, export
from exporters.app_code import placing
from exporters.app_code.kotlin import kotlin_class
from exporters.app_code.model import AppModel
from exporters.app_code.placing import RECORD
from exporters.app_code.run import library_files
from exporters.commands import main as cli
from support import android_jvm as jvm
from support.android_app import (
    RESOURCES,
    TEXTS,
    copy_models,
    exports,
    java_answers,
    opened,
    python_answers,
    python_spans,
    refusal,
    resource_class,
    texts,
)
from support.export_command import everything_under
from support.family_tokenizers import write_family
from support.real_checkpoints import data_folder, minilm_sst2
from support.shipped_files import copy_of, shuffled

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
KOTLIN = "src/main/java/com/example/app/PradoClassifier.kt"
ASSETS = "src/main/assets/prado"
ACTIVITY = jvm.PROJECT / "app" / "src" / "main" / "java"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Exports by the name of their written class."""
    return exports(tmp_path_factory.mktemp("exports"))


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
    activity = [path if path.name != "MainActivity.kt" else opened(path, target) for path in ACTIVITY.rglob("*.kt")]
    sources = [*module.rglob("*.kt"), *activity, jvm.NATIVE / "RunApp.kt"]
    jvm.compile_kotlin(target, sources, classpath=[*classes, target])
    return [*classes, target, jvm.kotlin_library()], module


@pytest.mark.slow
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


@pytest.mark.parametrize("model", ["bert", "mpnet", "xlm-roberta"])
def test_the_library_finds_the_answers_of_python_whatever_the_segments(model, classes, tmp_path):
    folder = write_family(tmp_path / "checkpoint", model, "question-answering")
    request = ExportRequest(checkpoint=folder, quantize="float32", target=("tflite",), output=tmp_path / "made")
    export(request).raise_for_failures()
    words = ["the", "film", "anna", "lives", "in", "berlin", "good", "was"]
    pairs = [(f"who {word}", " ".join(words[i:] + words[:i])) for i, word in enumerate(words)]
    rows = ["\t".join(pair) for pair in pairs]
    received = java_answers(classes, tmp_path / "made", rows, tmp_path)
    assert received == python_spans(tmp_path / "made", pairs)
    assert len(set(received)) > 2
    assert jvm.run(classes, "RunModels", "selftest", tmp_path / "made").returncode == 0


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
    assert line.startswith("bytes_int8.tflite must take text (UINT8) or features (INT8)")
    assert "ids INT32 [1, 32]" in line


# The command itself.


@pytest.fixture
def made(folders) -> Path:
    return folders["IntentClassifier"]


@pytest.fixture
def module(tmp_path) -> Path:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "build.gradle.kts").write_text("// mine\n")
    return tmp_path / "app"


def write(folder: Path, module: Path, **changes) -> AndroidResult:
    return android(AndroidRequest(**{"folder": folder, "package": PACKAGE, "output": module, **changes}))


def test_it_writes_what_the_app_needs_and_nothing_else(made, module):
    result = write(made, module)
    files = sorted(str(path.relative_to(module)) for path in module.rglob("*") if path.is_file())
    assert files == sorted(
        [
            RECORD,
            "build.gradle.kts",
            *(f"{ASSETS}/{name}" for name in ("bytes_int8.tflite", "examples.json", "labels.txt", "projection.json")),
            KOTLIN,
            *library_files(),
        ]
    )
    assert (module / ASSETS / "bytes_int8.tflite").read_bytes() == (made / "bytes_int8.tflite").read_bytes()
    assert sorted(result.written) == sorted(set(files) - {RECORD, "build.gradle.kts"})
    assert all((module / name).read_bytes() == content for name, content in library_files().items())
    text = (module / KOTLIN).read_text()
    assert "fun classify(text: String): List<Label>" in text
    assert "fun selfTest(): SelfTest" in text
    assert (module / "build.gradle.kts").read_text() == "// mine\n"


def test_the_command_prints_the_dependency_and_a_call(made, module, capsys):
    arguments = ["android", str(made), "--package", PACKAGE, "--output", str(module), "--class-name", "Intents"]
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    assert 'implementation("com.google.ai.edge.litert:litert:' in text
    assert 'Intents(context).use { it.classify("play some jazz") }' in text
    assert (module / "src/main/java/com/example/app/Intents.kt").is_file()
    assert cli.main([*arguments, "--no-library", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["class_name"] == "Intents"
    assert not (module / "src/main/java/exportmobile/Label.java").exists(), "unchanged files that are not wanted go"


def test_the_python_example_says_how_to_call_the_class(made, module):
    script = Path(__file__).parents[2] / "examples" / "android_from_python.py"
    out = jvm.call(sys.executable, script, made, PACKAGE, module)
    assert out.endswith('in Kotlin: PradoClassifier(context).use { it.classify("play some jazz") }\n')


def test_written_again_it_replaces_its_own_files_and_removes_stale_ones(made, module):
    write(made, module)
    before = everything_under(module)
    (module / ASSETS / "labels.txt").write_bytes((made / "labels.txt").read_bytes())
    result = write(made, module)
    assert everything_under(module) == before
    assert result.removed == ()
    record = json.loads((module / RECORD).read_text())
    stale = module / ASSETS / "bytes_fp16.tflite"
    stale.write_bytes(b"old")
    record["files"][f"{ASSETS}/bytes_fp16.tflite"] = hashlib.sha256(b"old").hexdigest()
    (module / RECORD).write_text(json.dumps(record))
    assert write(made, module).removed == (f"{ASSETS}/bytes_fp16.tflite",)
    assert not stale.exists()


def test_a_file_of_somebody_else_stays_unless_it_is_forced_and_nothing_else_is_written(made, module):
    mine = module / KOTLIN
    mine.parent.mkdir(parents=True)
    mine.write_text("class PradoClassifier\n")
    before = everything_under(module)
    with pytest.raises(
        InputError, match=r"PradoClassifier\.kt is there, and is not as export-mobile wrote it.*`force`"
    ):
        write(made, module)
    assert everything_under(module) == before
    write(made, module, force=True)
    assert "fun classify" in mine.read_text()
    mine.write_text(mine.read_text() + "// changed\n")
    with pytest.raises(InputError, match="is not as export-mobile wrote it"):
        write(made, module)


def test_two_exports_never_share_a_class_or_a_folder_of_the_assets_by_accident(made, folders, module, tmp_path):
    write(made, module)
    with pytest.raises(InputError, match=r"PradoClassifier\.kt belongs to another export"):  # the same class
        write(shutil.copytree(made, tmp_path / "other"), module)
    with pytest.raises(InputError, match=r"PradoClassifier\.kt belongs to another export"):  # the same assets
        write(shutil.copytree(folders["BertClassifier"], tmp_path / "x" / "prado"), module)
    write(tmp_path / "other", module, class_name="Other")
    write(folders["BertClassifier"], module)
    assert len(list(module.rglob("*.kt"))) == 3


@pytest.mark.parametrize("changes", [{"class_name": "Intents"}, {"package": "com.example.other"}])
def test_the_class_of_an_export_may_get_another_name_and_the_earlier_one_goes(made, module, changes):
    write(made, module)
    assert write(made, module, **changes).removed == (KOTLIN,)
    assert len(list(module.rglob("*.kt"))) == 1
    assert len(write(made, module).removed) == 1
    assert (module / KOTLIN).is_file()


def test_a_full_disk_leaves_nothing_behind(made, module, monkeypatch):
    written = []

    def full(path: Path, content: bytes) -> None:
        written.append(path)
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr(placing, "write_flushed", full)
    before = everything_under(module)
    with pytest.raises(InputError, match="No space left on device"):
        write(made, module)
    assert everything_under(module) == before


def test_a_link_in_place_of_a_file_is_refused(made, module):
    target = module.parent / "elsewhere.kt"
    target.write_text("mine")
    (module / KOTLIN).parent.mkdir(parents=True)
    (module / KOTLIN).symlink_to(target)
    with pytest.raises(InputError, match="a folder or a link"):
        write(made, module, force=True)
    assert target.read_text() == "mine"


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda folder: (folder / "labels.txt").unlink(), "labels.txt"),
        (lambda folder: (folder / "labels.txt").write_text("one\n"), "has 1 labels"),
        (lambda folder: (folder / "projection.json").write_text("{"), "projection.json"),
        (lambda folder: (folder / "projection.json").unlink(), "with model.json or projection.json"),
        (lambda folder: (folder / "examples.json").unlink(), "needs examples.json"),
        (lambda folder: (folder / "examples.json").write_text("[1]"), "must be the export-mobile-examples/1"),
        (lambda folder: (folder / "bytes_int8.tflite").write_bytes(b"no"), "bytes_int8.tflite"),
        (lambda folder: (folder / "bytes_int8.tflite").rename(folder / "text_int8.tflite"), "--graphs bytes"),
    ],
)
def test_a_folder_that_is_no_export_is_refused_in_one_line_and_nothing_is_written(damage, part, made, module, capsys):
    folder = module.parent / "export"
    shutil.copytree(made, folder)
    damage(folder)
    assert cli.main(["android", str(folder), "--package", PACKAGE, "--output", str(module)]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert len(error.strip().splitlines()) == 1
    assert everything_under(module) == ["build.gradle.kts"]


def test_an_output_that_is_no_module_is_refused(made, tmp_path):
    with pytest.raises(InputError, match=r"with its build\.gradle\.kts.*no build\.gradle\.kts in it"):
        write(made, tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        write(made, tmp_path / "nowhere")


def test_a_project_in_place_of_its_app_module_is_refused(made, module):
    (module / "settings.gradle.kts").write_text("")
    with pytest.raises(InputError, match=r"such as .*app.app\. .* the project around it"):
        write(made, module)
    assert everything_under(module) == ["build.gradle.kts", "settings.gradle.kts"]


@pytest.mark.exhaustive
def test_on_1000_texts_java_gives_the_labels_of_python_for_minilm(classes, tmp_path):
    folder = tmp_path / "minilm"
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
