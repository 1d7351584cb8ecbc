"""Memory of a training does not grow with the number of rows: a file ten times as large costs as much."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.projection_training import OVERRIDES
from support.token_training import BERT_SIZES, SPECIAL, overrides

ROWS, TEXT_BYTES = 8000, 1500
pytestmark = pytest.mark.slow
# One process trains on the small file twice, then on the large one. Every training adds some 25 MB to the peak,
# whatever it reads: what the third adds beyond the second is due to the rows.
SCRIPT = """
import sys
from pathlib import Path
from exporters import TrainRequest, train
from models_tf.training import batches

batches.WINDOW_ROWS = 500  # of projection models; the limit `rows` is that of the others
folder, model, sizes = Path(sys.argv[1]), sys.argv[2], tuple(sys.argv[5:])
own = {"vocab": folder} if model == "bert" else {}

def texts(name):
    if sys.argv[4] == "labelled":
        return {"train": folder / f"{name}.tsv"}
    # A few rows, and the texts without labels beside them.
    return {"train": folder / "dev.tsv", "unlabelled": folder / f"{name}.tsv", "teacher": [folder / "teacher"]}

if sys.argv[4] != "labelled":
    train(TrainRequest(model="bert", train=folder / "dev.tsv", dev=folder / "dev.tsv", output=folder / "teacher",
                       epochs=1, max_seq_len=8, vocab=folder, overrides=tuple(sys.argv[3].split())))

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

peaks = []
for number, name in enumerate(("few", "few", "many")):
    train(TrainRequest(model=model, **texts(name), dev=folder / "dev.tsv", output=folder / str(number),
                       epochs=1, batch_size=500, max_seq_len=8, overrides=sizes, **own))
    peaks.append(peak())
print((peaks[2] - peaks[1]) - (peaks[1] - peaks[0]))
"""
SIZES = {"prado": OVERRIDES, "bert": overrides(BERT_SIZES)}


def write_rows(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("text\tlabel\n")
        file.writelines(f"{row} good {'x' * TEXT_BYTES}\t{row % 2}\n" for row in range(count))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize(("model", "rows"), [("prado", "labelled"), ("bert", "labelled"), ("prado", "unlabelled")])
def test_f4_memory_of_a_training_is_flat_in_the_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, rows: str
) -> None:
    monkeypatch.setenv("EXPORT_MOBILE_LIMIT_ROWS", "500")
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL, "good", *"0123456789"]) + "\n")
    for name, count in (("few", ROWS), ("many", 10 * ROWS), ("dev", 100)):
        write_rows(tmp_path / f"{name}.tsv", count)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), model, " ".join(SIZES["bert"]), rows, *SIZES[model]]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    more_text = 9 * ROWS * TEXT_BYTES
    assert int(done.stdout.split()[-1]) < 0.3 * more_text, done.stdout
