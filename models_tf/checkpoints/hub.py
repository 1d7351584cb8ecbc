"""Downloads a checkpoint from the Hugging Face hub, if `huggingface_hub` is installed.

Takes PyTorch's file only where the hub has no safetensors. What was downloaded before is taken from its cache.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from models_tf import extras
from models_tf.errors import InputError

SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PYTORCH = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")


def download(name: str, files: Iterable[str]) -> Path:
    """The folder in the cache of `huggingface_hub` with `files` and the weights of `name` (owner/name)."""
    extras.require(extras.HUB, f"There is no folder {name}, and downloading it from the Hugging Face hub")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    # The base of the hub's own error is that of its HTTP library, so a broken connection is caught with it.
    http_error: Any = HfHubHTTPError.__base__
    try:
        for weights in (SAFETENSORS, PYTORCH):
            folder = Path(snapshot_download(name, allow_patterns=[*files, *weights]))
            if any((folder / file).is_file() for file in weights[:2]):
                break
    except (OSError, ValueError, http_error) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(
            f"There is no folder {name}, and it could not be read from the Hugging Face hub: {type(error).__name__}: "
            f"{reason}. Check the name and the network, or download it and give the folder."
        ) from error
    return folder
