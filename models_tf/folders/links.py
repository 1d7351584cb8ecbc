"""Which symbolic links are followed when a file's content goes into an output: a folder of strangers may link anywhere.

A link inside of the folder is followed, and one from a snapshot of the Hugging Face cache to its blobs, which is what
such a snapshot is made of. Any other would copy a file of the reader, his keys perhaps, into what he passes on. Weights
and config.json are parsed, not copied: people keep them on other disks, and links to them are followed.
"""

from pathlib import Path

from models_tf.errors import InputError
from models_tf.folders.real_path import real_path

_SNAPSHOTS, _BLOBS = "snapshots", "blobs"


def path_inside(folder: Path, name: str) -> Path:
    """Where the content of `folder/name` is; InputError if that is a link out of the folder."""
    path, home = folder / name, real_path(folder)
    real = real_path(path)
    if not real.is_relative_to(home) and not _is_blob(real, home):
        raise InputError(
            f"{path} must be a file of its folder, since it goes into the output. Received: a link to {real}. "
            "Put a copy of the file in place of the link."
        )
    return real


def _is_blob(real: Path, snapshot: Path) -> bool:
    """As in models--OWNER--NAME/snapshots/COMMIT/vocab.txt -> ../../blobs/SHA, or COMMIT/0_Transformer/vocab.txt."""
    homes = [home for home in (snapshot, snapshot.parent) if home.parent.name == _SNAPSHOTS]
    return any(real.parent == home.parent.parent / _BLOBS for home in homes)
