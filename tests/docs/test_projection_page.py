"""docs/projection.md against the code: its worked examples, its table of settings, its versions."""

import dataclasses
import doctest
import re
from pathlib import Path

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.tflite_loader import RUNTIMES
from models_tf.ops.projection.unicode_tables import UNICODE_VERSION

PAGE = Path(__file__).parents[2] / "docs" / "projection.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_worked_examples_of_the_projection_page_hold():
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0


def test_table_of_settings_has_every_setting_with_its_default():
    rows = re.findall(r"^\| `(\w+)` \| (`\S+`|empty) \|", TEXT, re.MULTILINE)
    expected = [
        (field.name, f"`{field.default}`" if field.default != "" else "empty")
        for field in dataclasses.fields(ProjectionConfig)
    ]
    assert rows == expected


def test_page_names_the_known_runtime_versions_and_the_unicode_version():
    for name, runtime in (("`tf.lite` in Python", "tensorflow"), ("ai-edge-litert", "litert")):
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| {name} |"))
        assert ", ".join(RUNTIMES[runtime].known_versions) in row
    assert f"Unicode {UNICODE_VERSION.removesuffix('.0')}" in TEXT
