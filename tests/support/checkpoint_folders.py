"""Folders of checkpoints that a test changes, and what a checkpoint is compared by."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models_tf.checkpoints.encoder import load
from models_tf.errors import InputError


def refused(folder, **options):
    with pytest.raises(InputError) as caught:
        load(folder, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def edit_document(folder, **changes):
    path = folder / "config.json"
    document = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))


def edit_tensors(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def assert_same(one, other):
    assert (one.model_name, one.config, one.head, one.labels) == (
        other.model_name,
        other.config,
        other.head,
        other.labels,
    )
    assert list(one.tensors) == list(other.tensors) == list(one.config.shapes(one.head))
    for name, value in one.tensors.items():
        np.testing.assert_array_equal(value, other.tensors[name], err_msg=name)
