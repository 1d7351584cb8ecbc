"""Hostile bytes through the core and its plain Python reference: the same features, whatever the bytes are."""

import numpy as np
import pytest

from models_tf.ops.projection import reference
from models_tf.ops.projection.library import HostProjection
from support import hostile_strings
from support.projection_strings import CONFIGS


@pytest.mark.parametrize("config", [CONFIGS[place] for place in (1, 4, 9, 12)], ids=lambda config: config.hash)
def test_core_and_reference_agree_on_hostile_bytes(config):
    texts = [text for text in hostile_strings.raw_bytes(250) if len(text) < 2000]
    features, lengths = HostProjection(config).project(texts)
    for text, rows, length in zip(texts, features, lengths, strict=True):
        wanted = reference.project_text(config, text)
        assert len(wanted) == length, text
        np.testing.assert_array_equal(rows[:length], np.reshape(wanted, (-1, config.feature_size)), err_msg=repr(text))
        assert not rows[length:].any()
