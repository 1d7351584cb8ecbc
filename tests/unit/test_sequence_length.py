"""A checkpoint's graph is as long as the texts that it was trained on."""

import dataclasses
import json

import pytest

from models_tf.checkpoints import encoder
from models_tf.checkpoints.sequence_length import TRAINING_FILE, sequence_length, trained_length
from models_tf.errors import InputError

DOCUMENT = {
    "model_type": "bert",
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 24,
}


@pytest.mark.parametrize(
    ("document", "length"), [({"max_seq_len": 48}, 48), ({}, None), ({"max_seq_len": "48"}, None), ([48], None)]
)
def test_the_length_of_a_training_is_read_from_its_record(tmp_path, document: object, length: int | None) -> None:
    (tmp_path / TRAINING_FILE).write_text(json.dumps(document))
    assert trained_length(tmp_path) == length


def test_a_folder_of_others_says_nothing(tmp_path) -> None:
    assert (trained_length(tmp_path), trained_length(tmp_path / "missing")) == (None, None)


@pytest.mark.parametrize(
    ("trained", "requested", "default", "length"),
    [
        (None, None, None, 24),  # 128, cut to the positions
        (12, None, None, 12),
        (2, None, None, 5),
        (48, None, None, 24),
        (12, 7, None, 7),
        (12, None, 16, 16),
    ],
)
def test_the_request_wins_over_the_training_and_the_training_over_the_default(trained, requested, default, length):
    checkpoint = dataclasses.replace(encoder.random_init("bert", DOCUMENT), trained_length=trained)
    assert sequence_length(checkpoint, requested, default=default) == length


@pytest.mark.parametrize("requested", [4, 25])
def test_a_length_that_the_model_cannot_take_is_refused(requested):
    with pytest.raises(InputError, match=rf"--max-seq-len must be 5 to 24.*Received: {requested}"):
        sequence_length(encoder.random_init("bert", DOCUMENT), requested)


def test_a_checkpoint_knows_the_length_of_its_training(tmp_path):
    encoder.save(tmp_path, encoder.random_init("bert", DOCUMENT))
    assert encoder.load(tmp_path).trained_length is None
    (tmp_path / TRAINING_FILE).write_text('{"max_seq_len": 12}')
    assert encoder.load(tmp_path).trained_length == 12
