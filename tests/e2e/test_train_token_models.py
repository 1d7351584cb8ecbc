"""`export-mobile train` of a token model: Ctrl-C, resume, one-line errors, PyTorch reads the result."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.model import Encoder

COMMAND = [sys.executable, "-m", "exporters", "train", "--model", "mobilebert"]
SIZES = [
    "num_hidden_layers=2", "hidden_size=16", "embedding_size=8", "intra_bottleneck_size=8", "intermediate_size=16",
    "num_attention_heads=2", "num_feedforward_networks=2", "max_position_embeddings=16",
]  # fmt: skip
WORDS = ["good", "bad", *(f"w{number}" for number in range(20))]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("token_files")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    generator = random.Random(0)
    for name, count in (("train", 256), ("dev", 64)):
        lines = ["text\tlabel"]
        for _ in range(count):
            label = generator.randrange(2)
            words = [generator.choice(WORDS[2:]) for _ in range(3)]
            words.insert(generator.randrange(4), WORDS[1 - label])
            lines.append(" ".join(words) + f"\t{label}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def command(files: Path, output: Path, *options: str) -> list[str]:
    sizes = [part for size in SIZES for part in ("--set", size)]
    paths = ["--train", str(files / "train.tsv"), "--dev", str(files / "dev.tsv"), "--vocab", str(files / "vocab.txt")]
    return [*COMMAND, *paths, "--output", str(output), *sizes, "--max-seq-len", "8", "--batch-size", "16", *options]


def train(files: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(files, output, *options), check=False, capture_output=True, text=True, timeout=300)


@pytest.mark.exhaustive
def test_ctrl_c_says_what_is_kept_and_resume_goes_on(files: Path, tmp_path: Path) -> None:
    options = ["--epochs", "40", "--learning-rate", "1e-2", "--patience", "100"]
    with subprocess.Popen(command(files, tmp_path / "m", *options), stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 200
        while not (tmp_path / "m" / "resume.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(running.pid, signal.SIGINT)
        _, stderr = running.communicate()
    assert running.returncode == 2
    assert stderr.splitlines()[-1].startswith("export-mobile: interrupted. Go on with --resume. The best checkpoint")
    other = train(files, tmp_path / "m", *options, "--resume", "--seed", "1")
    assert other.returncode == 2
    assert "seed was 0. Received: 1." in other.stderr
    done = train(files, tmp_path / "m", *options, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["epochs"] == 40
    assert result["dev_score"] > 90
    assert not (tmp_path / "m" / "resume.safetensors").exists()


@pytest.mark.exhaustive
def test_pytorch_reads_what_was_trained(files: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    done = train(files, tmp_path / "m", "--epochs", "2", "--learning-rate", "1e-2")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "m" / "training.json").read_text())
    assert record["command"].startswith("export-mobile train --model mobilebert --train ")
    assert done.stdout.startswith("dev accuracy ")
    loaded = checkpoint.load(tmp_path / "m")
    ids = np.random.default_rng(0).integers(5, 27, (3, 8)).astype(np.int32)
    ones, zeros = np.ones_like(ids), np.zeros_like(ids)
    ours = Encoder(loaded.config, loaded.head, loaded.tensors)(*map(tf.constant, (ids, ones, zeros)))["logits"]

    import torch

    theirs = transformers.MobileBertForSequenceClassification.from_pretrained(tmp_path / "m").eval()
    with torch.no_grad():
        wanted = theirs(torch.tensor(ids.astype(np.int64))).logits.numpy()
    # 2 layers of float32 sums in another order.
    np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)


def test_bad_input_of_a_token_model_is_one_line_and_leaves_nothing(files: Path, tmp_path: Path) -> None:
    done = train(files, tmp_path / "m", "--distortion", "0.1")
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "--distortion is for projection models" in done.stderr
    assert not (tmp_path / "m").exists()
