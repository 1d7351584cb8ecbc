"""Where a path leads. Links in a circle lead to themselves (`Path.resolve` would raise a RuntimeError)."""

import os
from pathlib import Path


def real_path(path: str | os.PathLike[str]) -> Path:
    """The absolute path behind all links. Whoever opens a circle of links then gets an OSError that names it."""
    return Path(os.path.realpath(path))
