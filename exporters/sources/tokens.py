"""Token models: a checkpoint in Hugging Face format, or random weights, with its task, rows and rewritten network.

See `base.py`; what is exported of it is in `token_model.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.compression.prepare import ChosenBy, compress_checkpoint
from exporters.data import rows
from exporters.data.rows import Rows
from exporters.data.token_rows import TokenReader, TokenRows
from exporters.formats.graph import MediaPipeForm
from exporters.request import ExportRequest
from exporters.shipped import device_tokenizer
from exporters.sources.embedding import check_case, embedding_folder, with_pooling
from exporters.sources.extremes import is_finite, largest_weight
from exporters.sources.mask import LARGEST_PEAK, ScoresError, choose_mask
from exporters.sources.mediapipe import check_single_texts, mediapipe_form
from exporters.sources.token_model import TokenModel
from models_tf import registry
from models_tf.checkpoints import encoder as encoder_checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.sentence_folder import SentenceFolder
from models_tf.checkpoints.sequence_length import sequence_length
from models_tf.compress.settings import Compression
from models_tf.data import DEFAULT_THRESHOLD, ONE_LABEL, check_threshold_use
from models_tf.encoder.heads import (
    BASE,
    CLASSIFICATION,
    EMBEDDING,
    ORDER_LABELS,
    QUESTION_ANSWERING,
    SENTENCE_ORDER,
    TOKEN_CLASSIFICATION,
)
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.tasks import REGRESSION, head_of_task, task_of_head
from models_tf.tasks.multi_label import Several
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.state import interruption

# Labels of random weights.
_LABELS = {
    CLASSIFICATION: ("0", "1"),
    REGRESSION: ("score",),
    TOKEN_CLASSIFICATION: ("O", "B-X", "I-X"),
    SENTENCE_ORDER: ORDER_LABELS,
}
# Tasks on one text, on one or two, on two.
_SINGLE = (TOKEN_CLASSIFICATION, EMBEDDING)
_ONE_OR_TWO = (CLASSIFICATION, REGRESSION)
_PAIRED = (QUESTION_ANSWERING, SENTENCE_ORDER)
# Rows that give the ranges for rewrites and mask: the largest values settle early, and each row costs time.
_SHOWN_ROWS = 64
_BATCH = 16
# Models with 4 MB of float weights or more calibrate on fewer rows. Measured with 12 layers trained on SST-2: ranges of
# 32, 64, 128 rows are on average 0.86, 0.91, 0.98 of those of 300; the largest error of the int8 logits is 0.25, 0.25,
# 0.11, and 0.11 with 300. So 128 rows are as good as 300, in half the time.
_LARGE, _LARGE_CALIBRATION_ROWS = 1_000_000, 128


@dataclass(frozen=True, kw_only=True)
class TokenSource:
    """A checkpoint with its request. `tokenizer` is None for random weights."""

    request: ExportRequest
    checkpoint: EncoderCheckpoint
    task: str
    max_seq_len: int
    tokenizer: Tokenizer | None
    mediapipe: MediaPipeForm | None = None
    compression: dict[str, Any] | None = None  # what was removed before the export
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, request: ExportRequest) -> "TokenSource":
        sentences = embedding_folder(request)
        checkpoint = _random(request) if request.random_init else _checkpoint(request, sentences)
        task = _task(request, checkpoint)
        tokenizer = None
        if not request.random_init:
            tokenizer = Tokenizer.from_files(checkpoint.tokenizer_files, f"Checkpoint {request.checkpoint}")
            tokenizer.check_embedding(checkpoint.config.vocab_size)
            check_case(sentences, tokenizer)
        stated = None if sentences is None else sentences.length(checkpoint.config.max_positions)
        length, record = sequence_length(checkpoint, request.max_seq_len, default=stated), None
        notes = list(interruption(request.checkpoint)) if request.checkpoint else []
        if request.compression is not None:
            checkpoint, record = _compressed(request, checkpoint, notes)
            if request.compression.prune_vocab:
                tokenizer = Tokenizer.from_files(checkpoint.tokenizer_files, f"Checkpoint {request.checkpoint}")
        if tokenizer is not None:
            notes += tokenizer.embedding_notes(checkpoint.config.vocab_size)
            if what := device_tokenizer.missing(tokenizer.document()):
                notes.append(device_tokenizer.note(what))
        return cls(
            request=request,
            checkpoint=checkpoint,
            task=task,
            max_seq_len=length,
            tokenizer=tokenizer,
            compression=record,
            mediapipe=mediapipe_form(checkpoint, task, tokenizer) if request.mediapipe else None,
            notes=tuple(notes),
        )

    @property
    def files(self) -> tuple[Path, ...]:
        return self.checkpoint.files

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels, or none."""
        return self.checkpoint.gives_several

    @property
    def _several(self) -> Several | None:
        if not self.multi_label:
            return None
        request = self.request
        return Several(separator=request.label_separator, threshold=request.label_threshold or DEFAULT_THRESHOLD)

    def rows(self, *, calibrate: bool) -> Rows:
        reader = TokenReader(
            task=self.task,
            labels=self.checkpoint.labels,
            vocab_size=self.checkpoint.config.vocab_size,
            pairs=self.checkpoint.config.num_segments > 1,
            max_seq_len=self.max_seq_len,
            tokenizer=self.tokenizer,
            columns=self.request.columns,
            several=self._several,
        )
        large = sum(value.size for value in self.checkpoint.tensors.values()) >= _LARGE
        calibrating = _LARGE_CALIBRATION_ROWS if large else rows.MAX_CALIBRATION_ROWS
        loaded = rows.load(self.request, reader, calibrate=calibrate, calibrating=calibrating)
        if self.mediapipe is not None:
            check_single_texts(loaded)
        return loaded

    def build(self, rows: Rows) -> TokenModel:
        from models_tf.encoder.rewrites.apply import OFF

        shown = _shown(rows)
        # Products of extreme weights may leave float32's range where the weights themselves do not: then they stay as
        # they are.
        for fold in dict.fromkeys((self.request.fold, OFF)):
            network, rewrites = self._rewritten(rows, shown, fold)
            if fold != OFF and not is_finite(network.tensors):
                continue
            try:
                mask_value = choose_mask(network, shown, batch=_BATCH)
            except ScoresError as error:
                peak = error.peak
            else:
                return TokenModel(
                    source=self,
                    network=network,
                    rewrites=rewrites,
                    mask_value=mask_value,
                    shown=shown,
                    pairs=self._pairs(rows),
                )
        raise InputError(
            f"The model must have attention scores below {LARGEST_PEAK:g} on the rows given. Received: {peak:g}, with "
            f"a weight of {largest_weight(self.checkpoint)}. Check the checkpoint."
        )

    def _rewritten(self, rows: Rows, shown: Mapping[str, np.ndarray], fold: str) -> tuple[Network, tuple[str, ...]]:
        from models_tf.encoder.rewrites.apply import apply

        checkpoint = self.checkpoint
        with np.errstate(over="ignore", invalid="ignore"):  # judged by the scores
            return apply(
                Network(config=checkpoint.config, head=checkpoint.head, tensors=checkpoint.tensors),
                fold=fold,
                max_seq_len=self.max_seq_len,
                one_segment=self._one_segment(rows),
                any_length=checkpoint.config.any_length,
                # Only static int8 gains from similar ranges.
                rows=shown if rows.calibration is not None else None,
            )

    def _one_segment(self, rows: Rows) -> bool:
        """Tags and embeddings are for single texts; otherwise the data tells whether there are pairs; without data they
        are possible.
        """
        if self.task in _SINGLE:
            return True
        examples = rows.evaluation
        return self._has_data and self.task in _ONE_OR_TWO and isinstance(examples, TokenRows) and examples.one_segment

    def _pairs(self, rows: Rows) -> bool | None:
        """Whether the model reads two texts; None where neither task nor data tell."""
        if self.task in (*_SINGLE, *_PAIRED):
            return self.task in _PAIRED
        examples = rows.evaluation
        return examples.texts(0)[1] is not None if self._has_data and isinstance(examples, TokenRows) else None

    @property
    def _has_data(self) -> bool:
        return self.request.eval_data is not None or self.request.calibration_data is not None


def _random(request: ExportRequest) -> EncoderCheckpoint:
    task = request.task or registry.get(str(request.model)).family().heads[0]
    made = encoder_checkpoint.random_init(
        str(request.model),
        request.preset,
        head=head_of_task(task),
        labels=_LABELS.get(task, ()),
        seed=request.seed,
    )
    return with_pooling(made, request, None)


def _checkpoint(request: ExportRequest, sentences: SentenceFolder | None) -> EncoderCheckpoint:
    head = CLASSIFICATION if request.task == REGRESSION else request.token_task
    found = encoder_checkpoint.load(str(request.checkpoint), model=request.model, head=head)
    return with_pooling(found, request, sentences)


def _compressed(
    request: ExportRequest, checkpoint: EncoderCheckpoint, notes: list[str]
) -> tuple[EncoderCheckpoint, dict[str, Any]]:
    """The model to export, and its record for the report, without the long list of neurons; adds to the `notes`."""
    data = ChosenBy(
        rows=request.importance_data or request.calibration_data,
        flag="--importance-data",
        vocab_data=request.vocab_data,
        columns=request.columns,
    )
    source = f"Checkpoint {request.checkpoint}"
    made = compress_checkpoint(checkpoint, request.compression or Compression(), data, source=source)
    notes += made.notes
    kept = [len(numbers) for numbers in made.record["neurons"]["kept"]]
    return made.checkpoint, {**made.record, "neurons": {"kept_counts": kept}}


def _task(request: ExportRequest, checkpoint: EncoderCheckpoint) -> str:
    """The task of the head, which the request must not contradict."""
    several = checkpoint.gives_several
    own = task_of_head(checkpoint.head, several=several)
    if request.token_task not in (None, own, BASE) and (request.task, tuple(checkpoint.labels)) != (
        SENTENCE_ORDER,
        ORDER_LABELS,
    ):
        count = checkpoint.head.num_labels
        raise InputError(
            f"--task must be {own}, as the checkpoint's head has {count} label{'s' if count > 1 else ''}. "
            f"Received: {request.task}."
        )
    check_threshold_use(request.label_threshold, multi_label=several, received=ONE_LABEL)
    return own


def _shown(rows: Rows) -> dict[str, np.ndarray]:
    examples = rows.calibration or rows.evaluation
    feed = next(iter(examples.chunks(_SHOWN_ROWS)))
    return {name: np.asarray(values) for name, values in feed.items()}
