"""Symbolic links in a circle are bad input: one line that names the path, exit code 2. Found by tests/attack."""

import pytest

from exporters.commands.main import main
from models_tf.folders.real_path import real_path


def test_a_path_behind_links_is_found_and_a_circle_leads_to_itself(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "circle").symlink_to("circle")
    assert real_path(tmp_path / "link") == tmp_path / "real"
    assert real_path(tmp_path / "circle") == tmp_path / "circle"


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "CIRCLE"],
        ["verify", "CIRCLE"],
        ["demo", "CIRCLE", "--output", "new"],
        ["bench", "CIRCLE"],
        ["inspect", "CIRCLE"],
        ["android", "CIRCLE", "--package", "a.b", "--output", "CIRCLE"],
        ["compress", "--checkpoint", "CIRCLE", "--drop-layers", "top:1", "--output", "new"],
        ["compress", "--checkpoint", "x", "--prune-vocab", "--vocab-data", "CIRCLE", "--output", "new"],
        ["--checkpoint", "CIRCLE", "--model", "prado"],
        ["train", "--train", "CIRCLE", "--dev", "CIRCLE", "--output", "new"],
        ["train", "--train", "x.tsv", "--dev", "x.tsv", "--output", "CIRCLE"],
    ],
)
def test_links_in_a_circle_are_one_line(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    circle = tmp_path / "circle.onnx"
    circle.symlink_to(circle.name)
    assert main([word.replace("CIRCLE", str(circle)) for word in arguments]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("export-mobile: ")
    assert said.err.count("\n") == 1
    assert "internal error" not in said.err
    assert [path.name for path in tmp_path.iterdir()] == [circle.name]
