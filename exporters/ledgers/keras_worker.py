"""Answers of the Keras model that an export was made from. A process of its own: the command loads no TensorFlow.

Reads `request.json` (the request that report.json records) and `feed.npz` in the current folder, and writes the outputs
of all rows to `answers.npz`. An error is one line on stderr and exit code 1.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np


def main() -> int:
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from exporters.console.sockets import import_http_without_a_socket
    from exporters.request_record import from_record
    from exporters.sources import base as sources
    from models_tf.errors import InputError

    import_http_without_a_socket()
    try:
        with tempfile.TemporaryDirectory() as place:
            request = from_record(json.loads(Path("request.json").read_text()), output=Path(place) / "none")
            source = sources.load(request)
            keras = source.build(source.rows(calibrate=False)).keras()
        with np.load("feed.npz", allow_pickle=False) as arrays:
            feed = dict(arrays)
        outputs = keras(feed)
    except (InputError, OSError, ValueError, KeyError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    np.savez("answers.npz", **outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
