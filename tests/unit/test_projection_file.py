"""projection.json: complete, and short enough to read."""

import json

from exporters.sources.projection_file import projection_file
from models_tf.ops.projection.config import ProjectionConfig

CONFIG = ProjectionConfig(feature_size=8, pad_to=3, presence_feature=True)
FILES = {"features_int8.onnx": {"input": {"name": "features", "shape": ["batch", 3, 8]}}}


def make() -> str:
    return projection_file(CONFIG, FILES)


def test_every_setting_of_the_projection_is_there():
    document = json.loads(make())
    assert ProjectionConfig.from_dict(document["config"]) == CONFIG
    assert document["config_text"] == CONFIG.to_text()
    assert (document["max_seq_len"], document["feature_size"]) == (3, 8)
    assert document["files"] == FILES


def test_brackets_inside_of_texts_survive():
    config = ProjectionConfig(feature_size=8, pad_to=3, vocabulary="[1,  2]")
    document = json.loads(projection_file(config, {}))
    assert document["config"]["vocabulary"] == "[1,  2]"
