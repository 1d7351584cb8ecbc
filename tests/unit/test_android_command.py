"""`export-mobile android`: names, the Kotlin text, and what is refused before anything is read."""

import re
from pathlib import Path

import pytest

from exporters import AndroidRequest, InputError
from exporters.app_code.kotlin import kotlin_class, literal
from exporters.app_code.model import AppModel
from exporters.app_code.names import asset_name_of, class_name_of

PACKAGE = "com.example.app"


@pytest.mark.parametrize(
    "package",
    ["app", "com.example.", "com..app", "com.class.app", "com.example.fun", "com.1st", "com.ex-ample", "a.b;c", ""],
)
def test_a_package_that_java_or_kotlin_does_not_take_is_refused(package):
    with pytest.raises(InputError, match=r"such as com\.example\.app"):
        AndroidRequest(folder="out", output="app", package=package)


@pytest.mark.parametrize("name", ["1st", "a b", "object", "Label", "TextClassifier", "a.b", "", "x" * 200, "A\nB"])
def test_a_class_name_that_kotlin_does_not_take_or_that_hides_another_is_refused(name):
    with pytest.raises(InputError, match="such as IntentClassifier"):
        AndroidRequest(folder="out", output="app", package=PACKAGE, class_name=name)


def model(**changes) -> AppModel:
    values = {
        "folder": Path(), "file": "model_int8.tflite", "files": (), "name": "bert", "task": "classification",
        "kind": "Classifier", "labels": ("a", "b"), "multi_label": False, "pairs": False,
    }  # fmt: skip
    return AppModel(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "signature"),
    [
        ({}, "fun classify(text: String): List<Label> = model.classify(text)"),
        ({"pairs": True}, "fun classify(text: String, pair: String): List<Label> = model.classify(text, pair)"),
        ({"multi_label": True}, "fun classify(text: String, threshold: Float = 0.5f): List<Label> ="),
        ({"kind": "Tagger"}, "fun tag(text: String): List<Span> = model.tag(text)"),
        ({"kind": "Scorer", "labels": ("score",)}, "fun score(text: String): Float = model.score(text, null)"),
        ({"kind": "Scorer", "pairs": True}, "fun score(text: String, pair: String): Float = model.score(text, pair)"),
        ({"kind": "Answerer", "labels": ()}, "fun answer(question: String, passage: String): Span?"),
    ],
)
def test_the_class_has_the_function_of_the_task(changes, signature):
    assert signature in kotlin_class(model(**changes), package=PACKAGE, name="A", assets="a")


def test_labels_are_escaped_and_comments_cannot_be_left():
    assert literal('a"b$c\\d\ne\u2028f😀') == '"a\\"b\\$c\\\\d\\ne\\u2028f😀"'
    text = kotlin_class(model(name="*/ evil", task="x\ny"), package=PACKAGE, name="A", assets="$a")
    assert '"\\$a"' in text
    comment = text[text.index("/**") + 3 : text.index("*/")]
    assert "evil for x?y" in comment


def test_names_are_made_of_the_model_and_the_folder():
    assert class_name_of("prado", "Classifier") == "PradoClassifier"
    assert class_name_of("tagger", "Tagger") == "Tagger"
    assert re.fullmatch(r"\w+", class_name_of("../a b/9", "Scorer"))
    assert asset_name_of("_my.prado é") == "my.prado"
    assert asset_name_of("my prado") == "my-prado"
    assert asset_name_of("__") == "model"
