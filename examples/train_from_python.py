"""Train a small classifier from Python, and watch its epochs.

python examples/train_from_python.py TRAIN.tsv DEV.tsv OUTPUT_FOLDER
"""

import sys

from exporters import InputError, TrainRequest, train

if len(sys.argv) != 4:
    sys.exit(__doc__)


class Epochs:
    """What a training tells: lines that stay, and a live one that is not shown here."""

    def line(self, text: str) -> None:
        print(text)

    def live(self, text: str) -> None: ...


try:
    request = TrainRequest(
        train=sys.argv[1], dev=sys.argv[2], output=sys.argv[3], model="sgnn", epochs=3, batch_size=16
    )
    result = train(request, progress=Epochs())
except InputError as error:  # one line: what was expected, what was received
    sys.exit(str(error))
print(f"{result.metric} {result.dev_score:.1f} % on {result.dev_rows} rows, best epoch {result.best_epoch}")
print(f"export it: export-mobile --checkpoint {result.output} --eval-data {sys.argv[2]}")
