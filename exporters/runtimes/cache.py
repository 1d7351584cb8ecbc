"""Where `export-mobile setup` keeps what it fetched: a folder of the user's, the same for every project.

`PartialFolder` is where a setup works before its folder gets its name. It goes with the setup, also where that is
interrupted; what a killed one left is removed by the next, once it is an hour old.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

from models_tf.folders import open_folders

VARIABLE = "EXPORT_MOBILE_CACHE"
_LEFT_SECONDS = 3600  # more than a setup takes


def cache_folder(name: str) -> Path:
    """The folder of one kind of runtime; it need not exist."""
    own, shared = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME")
    if own:
        root = Path(own)
    elif shared:
        root = Path(shared) / "export-mobile"
    else:
        root = Path.home() / ".cache" / "export-mobile"
    return root.absolute() / name


class PartialFolder:
    """`with PartialFolder(home) as folder:` is a new folder beside `home`, which need not exist."""

    def __init__(self, home: Path) -> None:
        home.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{home.name}.partial-"
        for left in home.parent.glob(f"{prefix}*"):
            if left.is_dir() and time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=home.parent))

    def __enter__(self) -> Path:
        open_folders.register(self)
        return self.path

    def __exit__(self, *_: object) -> None:
        self.discard()
        open_folders.unregister(self)

    def discard(self) -> bool:
        shutil.rmtree(self.path, ignore_errors=True)
        return True

    def outcome(self) -> str:
        return ""
