"""Reads the checkpoint that is to be compressed: a BERT of any of our kinds; any other is refused by its name."""

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.folder import CONFIG_FILE, find_folder, read_document
from models_tf.errors import InputError


def load_bert(source: str, model: str | None = None) -> EncoderCheckpoint:
    """A folder or hub id. Says what it holds before any weight is read."""
    names = registry.compressible()
    if model is not None and model not in names:
        registry.get(model)  # a name that does not exist has its own error
        raise InputError(f"--model must be one of {', '.join(names)}, which can be compressed. Received: {model}.")
    folder = find_folder(source)
    found = read_document(folder).get("model_type")
    if registry.reader_of(found) not in names:
        what, received = "this model", "a config without `model_type`"
        if isinstance(found, str):
            what, received = found, f"a checkpoint of {found}"
        raise InputError(f"{folder / CONFIG_FILE}: {registry.not_compressible(what)} Received: {received}.")
    return checkpoint.load(folder, model=model)
