"""projection.json: complete, and short enough to read."""

import json

import numpy as np

from exporters.sources.projection_file import EXAMPLE_TEXTS, projection_file
from models_tf.ops.projection.config import ProjectionConfig

CONFIG = ProjectionConfig(feature_size=8, pad_to=3, presence_feature=True)
FILES = {"features_int8.onnx": {"input": {"name": "features", "shape": ["batch", 3, 8]}}}


def project(texts):
    features = np.zeros((len(texts), 3, 8), np.int8)
    for i, text in enumerate(texts):
        features[i, : min(3, len(text.split()))] = -1
    return features


def make() -> str:
    return projection_file(CONFIG, FILES, project, lambda texts: [min(3, len(text.split())) for text in texts])


def test_every_setting_of_the_projection_is_there():
    document = json.loads(make())
    assert ProjectionConfig.from_dict(document["config"]) == CONFIG
    assert document["config_text"] == CONFIG.to_text()
    assert (document["max_seq_len"], document["feature_size"]) == (3, 8)
    assert document["files"] == FILES


def test_examples_hold_real_rows_only_and_the_sum_of_all_bytes():
    examples = json.loads(make())["examples"]
    assert [example["text"] for example in examples] == list(EXAMPLE_TEXTS)
    assert [example["tokens"] for example in examples] == [3, 3, 0]
    assert examples[0]["first_rows"] == [[-1] * 8] * 2
    assert examples[2]["first_rows"] == []
    assert examples[0]["sha256"] == examples[1]["sha256"] != examples[2]["sha256"]


def test_a_row_of_numbers_is_one_line():
    assert "[-1, -1, -1, -1, -1, -1, -1, -1]" in make()


def test_brackets_inside_of_texts_survive():
    config = ProjectionConfig(feature_size=8, pad_to=3, vocabulary="[1,  2]")
    document = json.loads(projection_file(config, {}, project, lambda texts: [0] * len(texts)))
    assert document["config"]["vocabulary"] == "[1,  2]"
