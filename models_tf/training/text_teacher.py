"""A fine-tuned token model, such as a BERT, as teacher of a model that takes texts: its logits on all rows, once.

It reads the clean texts with its own tokenizer, up to its number of positions. Labels are matched by name, or by number
if the file has numbers. Leaves out hidden states and attention maps: a projection model has neither.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.folder import CONFIG_FILE, read_document
from models_tf.data.text import clean_text
from models_tf.encoder.batches import Predictor
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks import CLASSIFICATION, task_of_head
from models_tf.tokenizers.files import VOCAB
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training import teacher_cache
from models_tf.training.batches import Examples
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress, tell_rows
from models_tf.training.row_file import RowFile
from models_tf.training.teacher_labels import label_order

CACHE_NAME = "logits_{number}"
# Rows tokenized together, so that a file of any size needs little memory.
_ROWS = 8192


def is_token_model(folder: Path) -> bool:
    """Whether a folder is in Hugging Face format; for any other, the projection reader explains what is wrong."""
    return (folder / CONFIG_FILE).is_file() and "model_type" in read_document(folder)


class TextTeacher:
    """Loaded and checked; `logits` runs it."""

    def __init__(self, folder: Path, labels: Sequence[str], *, multi_label: bool) -> None:
        loaded = checkpoint.load(folder)
        several = loaded.gives_several
        if task_of_head(loaded.head, several=several) != CLASSIFICATION:
            raise InputError(f"--teacher must be a model for classification. Received: {folder}, {loaded.head.kind}.")
        self.order = label_order(folder, loaded.labels, labels, several=several, multi_label=multi_label)
        if not loaded.tokenizer_files:
            raise InputError(f"--teacher must have its {VOCAB}. Received: {folder} without.")
        self.loaded, self.files = loaded, loaded.files
        self.tokenizer = Tokenizer.from_files(loaded.tokenizer_files, str(folder))
        self.tokenizer.check_embedding(loaded.config.vocab_size)

    def logits(self, examples: Examples, number: int, *, folder: TrainingFolder, progress: Progress) -> RowFile:
        """Float32 [rows of the examples, labels of the student]; a resumed training reads teacher `number`'s from a
        file.
        """
        name, total = CACHE_NAME.format(number=number), examples.rows
        kept = teacher_cache.stored(folder, name, (total,), of=examples.origin)
        if kept is not None:
            return kept
        return teacher_cache.store(
            folder, name, (total, len(self.order)), self.answers(examples.texts(), total, progress)
        )

    def answers(self, texts: Iterable[str], total: int, progress: Progress) -> Iterator[np.ndarray]:
        """Logits of the `total` texts, some at a time, labels in the student's order."""
        predict = Predictor(Encoder(self.loaded.config, self.loaded.head, self.loaded.tensors))
        rest, done = iter(texts), 0
        while part := [clean_text(text) for text in itertools.islice(rest, _ROWS)]:
            inputs = self.tokenizer.encode(part, max_len=self.loaded.config.max_positions, pad=False)
            yield predict(inputs)[LOGITS][:, self.order]
            done += len(part)
            tell_rows(progress, "teacher", done, total)
