import sys
import types
from pathlib import Path

import pytest

from exporters.request import ExportRequest
from exporters.sources import base as sources
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.folder import find_folder
from models_tf.errors import InputError
from support.tiny_models import tiny_encoder, write_checkpoint

NAME = "google/mobilebert-uncased"


class TransportError(Exception):
    """What the hub's HTTP library raises; its own error is derived from it."""


class HfHubHTTPError(TransportError):
    pass


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def pretend_hub(monkeypatch, snapshot_download):
    hub, errors = types.ModuleType("huggingface_hub"), types.ModuleType("huggingface_hub.errors")
    hub.snapshot_download, hub.errors, errors.HfHubHTTPError = snapshot_download, errors, HfHubHTTPError
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)


def test_a_hub_id_is_downloaded_and_loaded(tmp_path, monkeypatch):
    calls = []

    def snapshot_download(name, *, allow_patterns):
        calls.append((name, allow_patterns))
        checkpoint.save(tmp_path / "cache", tiny_encoder())
        return str(tmp_path / "cache")

    pretend_hub(monkeypatch, snapshot_download)
    assert checkpoint.load(NAME).labels == ["no", "yes", "perhaps"]
    ((name, patterns),) = calls
    assert name == NAME
    assert {"config.json", "vocab.txt", "tokenizer.json", "model.safetensors"} <= set(patterns)
    assert not any(".bin" in pattern for pattern in patterns)


def test_a_hub_id_needs_no_model(tmp_path, monkeypatch):
    def snapshot_download(name, *, allow_patterns):
        assert name == NAME
        return str(write_checkpoint(tmp_path / "cache"))

    pretend_hub(monkeypatch, snapshot_download)
    source = sources.load(ExportRequest(checkpoint=Path(NAME)))
    assert (source.checkpoint.model_name, source.task) == ("mobilebert", "classification")


@pytest.mark.parametrize("name", ["runs/prado", "nowhere", "a/b/c"])
def test_a_path_that_is_not_there_is_not_asked_for_without_a_model(name, tmp_path, monkeypatch):
    def snapshot_download(name, *, allow_patterns):
        raise AssertionError("asked the hub")

    pretend_hub(monkeypatch, snapshot_download)
    (tmp_path / "runs").mkdir()
    with pytest.raises(InputError, match="no such folder"):
        sources.load(ExportRequest(checkpoint=Path(name)))


def test_the_file_of_torch_is_downloaded_only_where_there_are_no_safetensors(tmp_path, monkeypatch):
    asked = []

    def snapshot_download(name, *, allow_patterns):
        asked.append("pytorch_model.bin" in allow_patterns)
        if asked[-1]:
            (tmp_path / "pytorch_model.bin").write_bytes(b"")
        return str(tmp_path)

    pretend_hub(monkeypatch, snapshot_download)
    assert find_folder(NAME) == tmp_path
    assert asked == [False, True]


def test_a_folder_is_preferred_to_the_hub(tmp_path, monkeypatch):
    def snapshot_download(name, *, allow_patterns):
        raise AssertionError("asked the hub")

    pretend_hub(monkeypatch, snapshot_download)
    (tmp_path / NAME).mkdir(parents=True)
    assert (tmp_path / find_folder(NAME)).samefile(tmp_path / NAME)


def test_without_the_hub_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r'no folder google/mobilebert-uncased.*pip install "export-mobile\[hub\]"'):
        find_folder(NAME)


@pytest.mark.parametrize(
    "error",
    [
        OSError("no route\nto host"),
        FileNotFoundError("Got: ConnectError: Name or service not known\nPlease check your internet connection."),
        ValueError("Cannot have -- in repo_id"),
        HfHubHTTPError("404 Client Error.\n\nRepository Not Found"),
        TransportError("connection broken"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_the_hub_raises_is_one_line(error, monkeypatch):
    def snapshot_download(name, *, allow_patterns):
        raise error

    pretend_hub(monkeypatch, snapshot_download)
    with pytest.raises(InputError) as caught:
        find_folder(NAME)
    message = str(caught.value)
    assert "\n" not in message
    assert type(error).__name__ in message
    assert "Check the name and the network" in message


@pytest.mark.parametrize(
    "name", ["mobilebert-uncased", "../google/x", "/google/x", "a/b/c", "a b/c", "google/", "/x", "ä/x"]
)
def test_what_is_no_hub_id_is_not_asked_for(name, monkeypatch):
    def snapshot_download(name, *, allow_patterns):
        raise AssertionError("asked the hub")

    pretend_hub(monkeypatch, snapshot_download)
    with pytest.raises(InputError, match="no such folder"):
        find_folder(name)


def test_the_names_that_are_used_are_those_of_the_installed_hub_package():
    hub = pytest.importorskip("huggingface_hub")
    pytest.importorskip("huggingface_hub.errors")
    assert callable(hub.snapshot_download)
    # Else every error of any library would be caught as one of the hub.
    assert hub.errors.HfHubHTTPError.__base__ is not Exception
