"""What is special about the source of sentence embeddings: pooling, and the folders of sentence-transformers."""

import dataclasses
from typing import Any

from exporters.request import ExportRequest
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.folder import find_folder
from models_tf.checkpoints.sentence_folder import (
    SENTENCE_FILE,
    SentenceFolder,
    is_sentence_folder,
    read_sentence_folder,
)
from models_tf.encoder.heads import EMBEDDING
from models_tf.errors import InputError
from models_tf.tokenizers.tokenizer import Tokenizer


def embedding_folder(request: ExportRequest) -> SentenceFolder | None:
    """What modules.json says, if the request is for embeddings of such a folder."""
    if request.checkpoint is None or request.token_task != EMBEDDING:
        return None
    folder = find_folder(str(request.checkpoint))
    return read_sentence_folder(folder) if is_sentence_folder(folder) else None


def with_pooling(
    checkpoint: EncoderCheckpoint, request: ExportRequest, folder: SentenceFolder | None
) -> EncoderCheckpoint:
    """The checkpoint with the head of the folder, or that of the request."""
    if checkpoint.head.kind != EMBEDDING:
        return checkpoint
    if folder is None:
        head = dataclasses.replace(checkpoint.head, pooling=request.pooling or checkpoint.head.pooling)
        return dataclasses.replace(checkpoint, head=head)
    if request.pooling not in (None, folder.head.pooling):
        raise InputError(
            f"--pooling must be {folder.head.pooling}, as {folder.files[1]} says. Received: {request.pooling}; leave "
            "it out."
        )
    if folder.width not in (None, checkpoint.config.hidden_size):
        raise InputError(
            f"{folder.files[1]} must pool vectors of {checkpoint.config.hidden_size} numbers, as the encoder gives "
            f"them. Received: {folder.width}."
        )
    files = (*checkpoint.files, *(file for file in folder.files if file not in checkpoint.files))
    return dataclasses.replace(checkpoint, head=folder.head, files=files)


def check_case(folder: SentenceFolder | None, tokenizer: Tokenizer) -> None:
    """Texts in lower case come from the tokenizer alone: an app has nothing else."""
    if folder is not None and folder.lower_case and tokenizer.basic_tokens("A") != tokenizer.basic_tokens("a"):
        raise InputError(
            f"{folder.encoder / SENTENCE_FILE} asks for lower case, and the tokenizer must do that. Received: one that "
            "keeps case; set do_lower_case in tokenizer_config.json and save the tokenizer again."
        )


def described(checkpoint: EncoderCheckpoint) -> dict[str, Any]:
    """For the report."""
    head = checkpoint.head
    if head.kind != EMBEDDING:
        return {}
    return {"pooling": head.pooling, "normalize": head.normalize, "embedding_size": checkpoint.config.hidden_size}
