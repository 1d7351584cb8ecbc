"""Weights that are finite and extreme: an exact remedy, or one line that names tensor and value; never a crash."""

import numpy as np
import pytest

from exporters import ExportRequest, InputError, export
from exporters.errors import RunError
from exporters.formats.tflite import format as tflite_format
from support.checkpoint_folders import edit_tensors
from support.export_command import run
from support.one_operator import aborting_file
from support.tiny_models import PROJECTION, write_checkpoint, write_projection

GAMMA = "bert.embeddings.LayerNorm.weight"


def rows(folder, labels):
    numbers = np.random.default_rng(0).integers(0, 50, (24, 6))
    lines = [f"{' '.join(map(str, row))}\t{labels[i % len(labels)]}\n" for i, row in enumerate(numbers)]
    (folder / "rows.tsv").write_text("text\tlabel\n" + "".join(lines))
    return folder / "rows.tsv"


def scaled(name, factor):
    def change(tensors):
        tensors[name] = tensors[name] * np.float32(factor)

    return change


def request(folder, model, **options):
    labels = ["no", "yes", "perhaps"] if model != "prado" else ["a", "b", "c"]
    return ExportRequest(
        model=model, checkpoint=folder / "model", eval_data=rows(folder, labels), output=folder / "out", **options
    )


@pytest.mark.slow
def test_a_gamma_of_10000_is_exported_and_runs(tmp_path):
    """F1: the shared mask, chosen for scores of 1e8, met those of another layer in an int8 ADD, and LiteRT aborted."""
    edit_tensors(write_checkpoint(tmp_path / "model", "bert"), scaled(GAMMA, 1e4))
    data = rows(tmp_path, ["no", "yes", "perhaps"])
    done = run(
        "--checkpoint", "model", "--quantize", "int8-full", "--target", "tflite", "--eval-data", data, "--output",
        "out", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out", "rows.tsv"]


@pytest.mark.slow
def test_a_mobilebert_of_zeros_is_exported(tmp_path):
    """F2: `num_scales must be 1`: equal bytes of different shapes were stored once, and shared their scales."""

    def zeros(tensors):
        for name in tensors:
            tensors[name] = np.zeros_like(tensors[name])

    edit_tensors(write_checkpoint(tmp_path / "model", "mobilebert"), zeros)
    report = export(request(tmp_path, "mobilebert", quantize="int8", target=("tflite",)))
    assert report.passed, report.failures


@pytest.mark.parametrize("recipe", ["int8", "fp16"])
def test_scores_beyond_float32_are_one_line_with_tensor_and_value(recipe, tmp_path):
    """F2: NaN or infinity while the mask was chosen."""
    name = "bert.encoder.layer.1.attention.self.query.weight"
    edit_tensors(write_checkpoint(tmp_path / "model", "bert"), lambda tensors: tensors[name].fill(3e38))
    with pytest.raises(InputError, match=rf"attention scores below 1e\+37.*with a weight of 3e\+38 in {name}\."):
        export(request(tmp_path, "bert", quantize=recipe))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "rows.tsv"]


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_activations_that_no_scale_holds_are_one_line_with_the_tensor(target, tmp_path):
    """F2: a range that is not finite."""
    write_projection(tmp_path / "model", ["a", "b", "c"])

    def change(tensors):
        for name in tensors:
            if name.endswith("kernel"):
                tensors[name] = tensors[name] * np.float32(1e25)

    edit_tensors(tmp_path / "model", change)
    with pytest.raises(InputError, match=r"need finite values from -1e\+30 to 1e\+30.* in '.+', which weights"):
        export(request(tmp_path, "prado", quantize="int8", target=(target,), graphs=("features",)))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_file_on_which_the_runtime_aborts_is_a_failed_check(tmp_path, monkeypatch):
    """F1: the file is tried in a process of its own, and the export outlives it."""
    write_projection(tmp_path / "model", ["a", "b", "c"])
    settings = PROJECTION["mixed prado"]
    sizes = (1, settings.max_seq_len, settings.projection.feature_size)
    damaged = aborting_file(["features"], sizes)
    monkeypatch.setattr(
        tflite_format, "_finished", lambda content, name, _graph: damaged if name == "features" else content
    )
    with pytest.raises(RunError, match=r"features_float32\.tflite: .* Received: .*crashed.*\(signal 6") as caught:
        export(request(tmp_path, "prado", quantize="float32", target=("tflite",), graphs=("features",)))
    assert caught.value.exit_code == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "rows.tsv"]
