"""MediaPipe's TextClassifier, in a Python of its own that EXPORT_MOBILE_MEDIAPIPE_PYTHON names."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

VARIABLE = "EXPORT_MOBILE_MEDIAPIPE_PYTHON"
SCRIPT = Path(__file__).parents[1] / "native" / "run_in_mediapipe.py"


def missing() -> str:
    """What is not there, "" if nothing."""
    python = os.environ.get(VARIABLE, "")
    return "" if python and Path(python).exists() else f"{VARIABLE}, a Python with the package mediapipe"


def scores(model: Path, texts: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """[texts, labels], as MediaPipe gives them for the texts. Its own words are the error."""
    done = subprocess.run(
        [os.environ[VARIABLE], str(SCRIPT), str(model)],
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return np.array([[one[label] for label in labels] for one in json.loads(done.stdout)])
