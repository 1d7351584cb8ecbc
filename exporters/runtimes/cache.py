"""Where `export-mobile setup` keeps what it fetched: a folder of the user's, the same for every project."""

import os
from pathlib import Path

VARIABLE = "EXPORT_MOBILE_CACHE"


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
