"""Token models: a checkpoint in Hugging Face format, or random weights. See `base.py`.

One graph for every file, with ids, mask (and segments) as inputs, converted once. It uses the rewritten weights and a
bounded mask, and is compared with the Keras model as read, with PyTorch's mask. Leaves out batches: a signature takes
one row.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.compression.prepare import ChosenBy, compress_checkpoint
from exporters.data import rows
from exporters.data.rows import GENERATED, Rows
from exporters.data.token_rows import TokenReader, TokenRows
from exporters.explanation.run import ExplainedText, drops_tokens, explain_texts
from exporters.formats.artifacts import Placed
from exporters.formats.graph import Graph, MediaPipeForm
from exporters.formats.runners import Feed, KerasRunner
from exporters.formats.tensor_names import MARGIN, MEDIAPIPE
from exporters.request import ExportRequest
from exporters.self_test.example import Worked
from exporters.shipped import device_tokenizer
from exporters.sources.embedding import check_case, described, embedding_folder, with_pooling
from exporters.sources.extremes import is_finite, largest_weight
from exporters.sources.mask import LARGEST_PEAK, ScoresError, choose_mask
from exporters.sources.mediapipe import check_single_texts, mediapipe_form
from exporters.sources.token_examples import worked_examples
from exporters.sources.token_file import token_file
from exporters.verification import checks
from exporters.verification.verify import Check
from models_tf import memory, registry
from models_tf.checkpoints import encoder as encoder_checkpoint
from models_tf.checkpoints.document import MULTI_LABEL
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.sentence_folder import SentenceFolder
from models_tf.checkpoints.sequence_length import sequence_length
from models_tf.checkpoints.tensors_on_disk import TensorFile, TensorsOnDisk
from models_tf.compress.settings import Compression
from models_tf.encoder.heads import BASE, CLASSIFICATION, EMBEDDING, ORDER_LABELS, SENTENCE_ORDER, TOKEN_CLASSIFICATION
from models_tf.encoder.network import Network
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks import REGRESSION, head_of_task, task_of_head
from models_tf.tokenizers.backend import BYTE_PAIRS
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.state import interruption

GRAPH = "model"
_WEIGHTS = "weights.bin"  # while files are made
# Labels of random weights.
_LABELS = {
    CLASSIFICATION: ("0", "1"),
    REGRESSION: ("score",),
    TOKEN_CLASSIFICATION: ("O", "B-X", "I-X"),
    SENTENCE_ORDER: ORDER_LABELS,
}
# Tasks on one text or on two.
_ONE_OR_TWO = (CLASSIFICATION, REGRESSION)
# Rows that give the ranges for rewrites and mask: the largest values settle early, and each row costs time.
_SHOWN_ROWS = 64
_BATCH = 16
_REFERENCE_BATCH = 64
# Tokens of the rows that time is measured with, beside the longest.
_TIMED_LENGTHS = (16, 32, 64, 128)
# Rows whose words the report shows.
_EXPLAINED_ROWS = 3
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
        stated = None if sentences is None else sentences.max_seq_len
        length, record = sequence_length(checkpoint, request.max_seq_len, default=stated), None
        notes = list(interruption(request.checkpoint)) if request.checkpoint else []
        if request.compression is not None:
            checkpoint, record = _compressed(request, checkpoint, notes)
            if request.compression.prune_vocab:
                tokenizer = Tokenizer.from_files(checkpoint.tokenizer_files, f"Checkpoint {request.checkpoint}")
        if tokenizer is not None and tokenizer.kind == BYTE_PAIRS:
            notes.append(device_tokenizer.NOTE)
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

    def rows(self, *, calibrate: bool) -> Rows:
        reader = TokenReader(
            task=self.task,
            labels=self.checkpoint.labels,
            vocab_size=self.checkpoint.config.vocab_size,
            pairs=self.checkpoint.config.num_segments > 1,
            max_seq_len=self.max_seq_len,
            tokenizer=self.tokenizer,
            columns=self.request.columns,
        )
        large = sum(value.size for value in self.checkpoint.tensors.values()) >= _LARGE
        calibrating = _LARGE_CALIBRATION_ROWS if large else rows.MAX_CALIBRATION_ROWS
        loaded = rows.load(self.request, reader, calibrate=calibrate, calibrating=calibrating)
        if self.mediapipe is not None:
            check_single_texts(loaded)
        return loaded

    def build(self, rows: Rows) -> "TokenModel":
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
                return TokenModel(source=self, network=network, rewrites=rewrites, mask_value=mask_value, shown=shown)
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
                any_length=not checkpoint.config.retention,
                # Only static int8 gains from similar ranges.
                rows=shown if rows.calibration is not None else None,
            )

    def _one_segment(self, rows: Rows) -> bool:
        """Tags and embeddings are for single texts; otherwise the data tells whether there are pairs; without data they
        are possible.
        """
        if self.task in (TOKEN_CLASSIFICATION, EMBEDDING):
            return True
        examples = rows.evaluation
        given = self.request.eval_data is not None or self.request.calibration_data is not None
        return given and self.task in _ONE_OR_TWO and isinstance(examples, TokenRows) and examples.one_segment


@dataclass(frozen=True, kw_only=True)
class TokenModel:
    """A source with the network to export and its Keras model, the reference. `shown` are some rows."""

    source: TokenSource
    network: Network
    rewrites: tuple[str, ...]
    mask_value: float
    shown: Mapping[str, np.ndarray]

    @functools.cached_property
    def encoder(self) -> Any:
        """Made when verification asks for it: its weights would be one more copy while files are made."""
        from models_tf.encoder.model import Encoder

        checkpoint = self.source.checkpoint
        return Encoder(checkpoint.config, checkpoint.head, checkpoint.tensors)

    @property
    def exported(self) -> Any:
        """The network as a function. A new one each time: the weights that it is traced with go when it goes."""
        from models_tf.encoder.graph import NetworkGraph

        return NetworkGraph(self.network, self.source.max_seq_len, self.mask_value)

    @property
    def graph(self) -> Graph:
        function = self.exported
        return Graph(
            name=GRAPH,
            function=function,
            inputs=function.inputs,
            rows={spec.name: self.shown[spec.name] for spec in function.inputs},
            any_length=function.any_length,
            mediapipe=self.source.mediapipe,
        )

    def on_disk(self, folder: Path) -> "TokenModel":
        file, checkpoint = TensorFile(folder / _WEIGHTS), self.source.checkpoint
        resting = dataclasses.replace(checkpoint, tensors=TensorsOnDisk(checkpoint.tensors, file))
        return dataclasses.replace(
            self,
            source=dataclasses.replace(self.source, checkpoint=resting),
            network=dataclasses.replace(self.network, tensors=TensorsOnDisk(self.network.tensors, file)),
        )

    def forget(self) -> None:
        self.__dict__.pop("encoder", None)
        memory.give_back()

    def is_kept(self, graph: str) -> bool:  # noqa: ARG002 - all are
        return True

    def describe(self) -> dict[str, Any]:
        checkpoint, config = self.source.checkpoint, self.source.checkpoint.config
        record = self.source.compression
        return {
            "name": checkpoint.model_name,
            "task": self.source.task,
            "bundled": False,
            "trained": checkpoint.trained,
            "num_labels": len(checkpoint.labels),
            **described(checkpoint),
            "multi_label": checkpoint.problem_type == MULTI_LABEL,
            "parameters": int(sum(value.size for value in checkpoint.tensors.values())),
            "max_seq_len": self.source.max_seq_len,
            "any_length": self.graph.any_length,
            "layers": config.num_layers,
            "vocab_size": config.vocab_size,
            "inputs": list(self.graph.input_names),
            "fold": self.source.request.fold,
            "rewrites": list(self.rewrites),
            "mask_value": self.mask_value,
            **({"retention": list(config.retention), "retention_by": config.retention_by} if config.retention else {}),
            **({"compression": record} if record else {}),
        }

    def side_files(self, placed: Sequence[Placed]) -> dict[str, str | bytes]:
        source, files = self.source, dict[str, str | bytes]()
        if source.checkpoint.labels:
            files["labels.txt"] = "".join(label + "\n" for label in source.checkpoint.labels)
        if source.tokenizer is not None:
            files |= source.tokenizer.files()
        files["model.json"] = token_file(
            files={one.name: one.file.interface() for one in placed},
            task=source.task,
            labels=source.checkpoint.labels,
            max_seq_len=source.max_seq_len,
            inputs=self.graph.input_names,
            tokenizer=source.tokenizer,
            trained=source.checkpoint.trained,
            multi_label=source.checkpoint.problem_type == MULTI_LABEL,
            any_length=self.graph.any_length,
            embedding=described(source.checkpoint),
        )
        return files

    def worked_examples(self, rows: Rows) -> Worked:
        source = self.source
        return worked_examples(
            rows,
            task=source.task,
            inputs=self.graph.input_names,
            max_seq_len=source.max_seq_len,
            tokenizer=source.tokenizer,
            graph=GRAPH,
            further={MEDIAPIPE: checks.MEDIAPIPE_INPUTS} if source.mediapipe is not None else None,
        )

    def keras(self) -> KerasRunner:
        exported = self.exported
        return KerasRunner(
            self.encoder,
            inputs=(IDS, MASK, SEGMENTS),
            rows=_REFERENCE_BATCH,
            any_length=exported.any_length,
            timed=exported.timed_outputs,
        )

    def checks(self, references: Sequence[Placed], placed: Sequence[Placed]) -> tuple[list[Check], list[Check]]:
        function = self._with_margin if drops_tokens(self.source.checkpoint.config) else self.encoder
        names, exported = self.graph.input_names, self.exported
        make = functools.partial(
            KerasRunner, rows=_REFERENCE_BATCH, any_length=exported.any_length, timed=exported.timed_outputs
        )
        keras = make(function, inputs=(IDS, MASK, SEGMENTS))
        # A file rounds as the exported network does, which may be more than the reference: both are asked.
        precisions = (
            (keras, make(self.encoder.exact, inputs=keras.inputs)),
            (make(exported.__call__, inputs=names), make(exported.exact, inputs=names)),
        )
        return checks.for_tokens(keras, references, placed, inputs=names, precisions=precisions)

    def _with_margin(self, **values: Any) -> dict[str, Any]:
        """The reference's answers, and how clearly it chose the tokens behind them."""
        from models_tf.encoder import retention

        found, whole = self.encoder.activations(**values), self.encoder.head.kind == BASE
        # An answer needs only the first token of the last layer; hidden states come in the order of the ranking.
        count = len(found.places) - (not whole)
        pairs = found.significance[:count], found.places[:count]
        return {**found.outputs, MARGIN: retention.margin(*pairs, values[MASK], in_order=whole)}

    def explain(self, rows: Rows) -> tuple[ExplainedText, ...]:
        source, examples = self.source, rows.evaluation
        if not drops_tokens(source.checkpoint.config) or source.tokenizer is None or rows.source == GENERATED:
            return ()
        pairs = isinstance(examples, TokenRows) and examples.task_rows is not None and examples.task_rows.pairs
        texts = [tuple(key.split("\t", 1)) if pairs else (key, "") for key in examples.keys[:_EXPLAINED_ROWS]]
        found = explain_texts(
            source.checkpoint,
            [one for one, _ in texts],
            [two for _, two in texts] if pairs else None,
            max_seq_len=source.max_seq_len,
            tokenizer=source.tokenizer,
            table=self.encoder.table,
        )
        return found.texts

    def timed_rows(self, graph: str) -> dict[int, Feed]:
        longest = self.source.max_seq_len
        if graph == MEDIAPIPE:
            return {longest: {name: self.shown[name][:1] for name in checks.MEDIAPIPE_INPUTS}}
        shorter = [length for length in _TIMED_LENGTHS if length < longest] if self.graph.any_length else []
        return {
            length: {name: self.shown[name][:1, :length] for name in self.graph.input_names}
            for length in (*shorter, longest)
        }


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
    """The task of the head, which the request must not contradict; one label means a regression."""
    own = task_of_head(checkpoint.head)
    if request.token_task not in (None, own, BASE) and (request.task, tuple(checkpoint.labels)) != (
        SENTENCE_ORDER,
        ORDER_LABELS,
    ):
        raise InputError(
            f"--task must be {own}, as the checkpoint's head has {checkpoint.head.num_labels} labels. "
            f"Received: {request.task}."
        )
    if checkpoint.problem_type == MULTI_LABEL and request.eval_data is not None:
        raise InputError(
            "The checkpoint gives several labels a row, which token models are not measured on: give "
            f"--calibration-data FILE instead. Received: --eval-data {request.eval_data}."
        )
    return own


def _shown(rows: Rows) -> dict[str, np.ndarray]:
    examples = rows.calibration or rows.evaluation
    feed = next(iter(examples.chunks(_SHOWN_ROWS)))
    return {name: np.asarray(values) for name, values in feed.items()}
