"""The code for devices in examples/, wherever the package is: in a checkout, or copied into the wheel by setup.py."""

from pathlib import Path

_HERE = Path(__file__).parent
_CHECKOUT = _HERE.parents[1] / "examples"


def example_folder(name: str) -> Path:
    """The folder of that name in examples/, such as "web" or "android/exportmobile"."""
    for root in (_HERE, _CHECKOUT):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"examples/{name} is neither in the package nor beside it. Install export-mobile again.")
