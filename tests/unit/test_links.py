"""F8: what is copied from a checkpoint folder into an output is a file of the folder, whatever links there are."""

import pytest

from exporters import Compression, CompressRequest, compress
from models_tf.checkpoints import encoder, projection
from models_tf.errors import InputError
from models_tf.folders.links import path_inside
from models_tf.tokenizers.files import ADDED_TOKENS, TOKENIZER_FILES, read_tokenizer_files
from support.tiny_models import write_checkpoint, write_projection

SECRET = '{"the key": "of the reader"}'


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "home" / "secret.json"
    path.parent.mkdir()
    path.write_text(SECRET)
    return path


@pytest.fixture
def checkpoint(tmp_path):
    return write_checkpoint(tmp_path / "checkpoint", "bert")


def message_of(work):
    with pytest.raises(InputError) as caught:
        work()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_F8_compress_copies_nothing_through_a_link_out_of_the_checkpoint(checkpoint, secret, tmp_path):
    (checkpoint / ADDED_TOKENS).symlink_to(secret)
    request = CompressRequest(checkpoint=checkpoint, output=tmp_path / "out", compression=Compression(drop_layers=(0,)))
    message = message_of(lambda: compress(request))
    assert str(checkpoint / ADDED_TOKENS) in message
    assert "a link to" in message
    assert SECRET not in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "home"]


@pytest.mark.parametrize("name", TOKENIZER_FILES)
def test_F8_no_file_of_a_tokenizer_is_read_through_a_link_out_of_its_folder(tmp_path, secret, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / name).symlink_to("../home/secret.json")
    assert str(folder / name) in message_of(lambda: read_tokenizer_files(folder))


def test_F8_labels_are_not_read_through_a_link_out_of_the_checkpoint(tmp_path, secret):
    folder = write_projection(tmp_path / "prado", ["book", "play", "stop"])
    (folder / "labels.txt").unlink()
    secret.write_text("one\ntwo\nthree\n")
    (folder / "labels.txt").symlink_to(secret)
    assert "labels.txt" in message_of(lambda: projection.load(folder))


def test_a_folder_on_the_way_that_is_a_link_counts_too(tmp_path, secret):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "assets").symlink_to(secret.parent)
    message_of(lambda: path_inside(tmp_path / "folder", "assets/secret.json"))


def test_a_link_inside_of_the_folder_is_followed(checkpoint):
    (checkpoint / "vocab.txt").rename(checkpoint / "words.txt")
    (checkpoint / "vocab.txt").symlink_to("words.txt")
    assert read_tokenizer_files(checkpoint)["vocab.txt"] == (checkpoint / "words.txt").read_bytes()


def test_a_snapshot_of_the_hub_is_links_to_blobs_and_loads(checkpoint, tmp_path):
    snapshot = as_snapshot(checkpoint, tmp_path / "models--owner--name")
    assert encoder.load(snapshot).tokenizer_files == encoder.load(checkpoint).tokenizer_files
    (tmp_path / "short").symlink_to(snapshot)  # a folder that is a link itself is the user's choice
    assert encoder.load(tmp_path / "short").labels == encoder.load(checkpoint).labels


def test_a_snapshot_does_not_reach_beyond_its_own_blobs(checkpoint, secret, tmp_path):
    snapshot = as_snapshot(checkpoint, tmp_path / "models--owner--name")
    other = tmp_path / "models--other--name" / "blobs"
    other.mkdir(parents=True)
    for place, target in enumerate((secret, other / "00")):
        target.write_text(SECRET)
        (snapshot / ADDED_TOKENS).unlink(missing_ok=True)
        (snapshot / ADDED_TOKENS).symlink_to(target)
        assert ADDED_TOKENS in message_of(lambda: read_tokenizer_files(snapshot)), place


def test_weights_and_config_may_lie_on_another_disk(checkpoint, tmp_path):
    (tmp_path / "disk").mkdir()
    for name in ("config.json", "model.safetensors"):
        (checkpoint / name).rename(tmp_path / "disk" / name)
        (checkpoint / name).symlink_to(tmp_path / "disk" / name)
    assert encoder.load(checkpoint).labels == ["no", "yes", "perhaps"]


def as_snapshot(checkpoint, home):
    """The layout of the hub's cache."""
    snapshot = home / "snapshots" / "0a1b2c"
    snapshot.mkdir(parents=True)
    (home / "blobs").mkdir()
    for number, path in enumerate(sorted(checkpoint.iterdir())):
        blob = home / "blobs" / f"{number:040x}"
        blob.write_bytes(path.read_bytes())
        (snapshot / path.name).symlink_to(f"../../blobs/{blob.name}")
    return snapshot
