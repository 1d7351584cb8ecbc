"""What it brings in training that rows of similar length share a batch, which is cut to its longest row.

    python benchmarks/training_lengths.py --weights BERT_FOLDER --train FILE [--rows 1024] [--length 64]
        [--result docs/results/training_lengths.json]

Processor time of an epoch, without its first batch, in which the graph is made: batches as they are; of rows as they
are drawn, cut to the longest; and padded to the full length. In turns, several rounds, in one process. Fills in the
entry of the data set in the result; entries of others stay.
"""

import argparse
import contextlib
import gzip
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tf_keras as keras

from exporters import TrainRequest, train
from exporters.report.versions import cpu_name, versions
from models_tf.training import task_batches

COMMAND = "python benchmarks/training_lengths.py --weights {weights} --train {train} --rows {rows} --length {length}"
BATCH = 32
SIMILAR, DRAWN, PADDED = WAYS = ("similar lengths", "as drawn", "padded")


class Stopwatch(keras.callbacks.Callback):
    """Processor time from the end of the first batch to that of the last."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras'
        self.times.append(time.process_time())

    @property
    def seconds(self) -> float:
        return self.times[-1] - self.times[0]


class Tokens:
    """How many places the batches have, padding among them."""

    def __init__(self) -> None:
        self.count = 0

    def counted(self, lengths: np.ndarray, batches: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        for rows in batches:
            self.count += int(lengths[rows].max()) * len(rows)
            yield rows


@contextlib.contextmanager
def batched(way: str, tokens: Tokens) -> Iterator[None]:
    like_length, lengths_of = task_batches.like_length, task_batches.lengths_of

    def rows_of(lengths: np.ndarray, size: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
        known = lengths if way == SIMILAR else np.zeros_like(lengths)  # all alike: in the order drawn
        return tokens.counted(lengths, like_length(known, size, generator))

    def full(inputs: Any) -> np.ndarray:
        found = lengths_of(inputs)
        return np.full_like(found, inputs["mask"].shape[1]) if way == PADDED else found

    with mock.patch.object(task_batches, "like_length", rows_of), mock.patch.object(task_batches, "lengths_of", full):
        yield


def first_rows(path: Path, count: int, found: Path) -> Path:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        found.write_text("".join(itertools.islice(file, count + 1)), encoding="utf-8")
    return found


def measure(options: argparse.Namespace, work: Path) -> dict[str, Any]:
    rows = first_rows(options.train, options.rows, work / "train.tsv")
    dev = first_rows(options.train, 8, work / "dev.tsv")
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    places: dict[str, int] = {}
    for number in range(options.rounds):
        for way in WAYS:
            watch, tokens = Stopwatch(), Tokens()
            with batched(way, tokens):
                request = TrainRequest(
                    model="bert", checkpoint=options.weights, train=rows, dev=dev, output=work / f"{number} {way}",
                    epochs=1, batch_size=BATCH, max_seq_len=options.length, seed=number,
                )  # fmt: skip
                train(request, callbacks=[watch])
            seconds[way].append(watch.seconds)
            places.setdefault(way, tokens.count)  # of the first seed
            print(f"{way}\t{watch.seconds:.1f} s\t{tokens.count} places", flush=True)
    return {
        "data": options.train.parent.name,
        "rows": options.rows,
        "length": options.length,
        "batch_size": BATCH,
        "rounds": options.rounds,
        "command": COMMAND.format(**vars(options)),
        "cpu": cpu_name(),
        "ways": [
            {
                "way": way,
                "places": places[way],
                "seconds": statistics.median(seconds[way]),
                "least": min(seconds[way]),
                "most": max(seconds[way]),
                "times": statistics.median(seconds[way]) / statistics.median(seconds[SIMILAR]),
            }
            for way in WAYS
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--result", type=Path, default=Path("docs/results/training_lengths.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        found = measure(options, Path(work))
    known = json.loads(options.result.read_text(encoding="utf-8"))["sets"] if options.result.is_file() else []
    sets = [entry for entry in known if entry["data"] != found["data"]] + [found]
    document = {"command": "python benchmarks/training_lengths.py", "versions": versions(), "sets": sets}
    options.result.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
