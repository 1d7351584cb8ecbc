"""A checkpoint's graph is as long as the texts that it was trained on."""

import json

import pytest

from exporters.sources.trained_length import TRAINING_FILE, trained_length
from models_tf.training.token_learner import TRAINING_FILE as WRITTEN


def test_the_file_is_the_one_that_training_writes() -> None:
    assert TRAINING_FILE == WRITTEN


@pytest.mark.parametrize(
    ("document", "length"), [({"max_seq_len": 48}, 48), ({}, None), ({"max_seq_len": "48"}, None), ([48], None)]
)
def test_the_length_of_a_training_is_read_from_its_record(tmp_path, document: object, length: int | None) -> None:
    (tmp_path / TRAINING_FILE).write_text(json.dumps(document))
    assert trained_length(tmp_path) == length


def test_a_folder_of_others_says_nothing(tmp_path) -> None:
    assert (trained_length(tmp_path), trained_length("owner/name"), trained_length(None)) == (None, None, None)
