"""Models on projection features: a checkpoint of ours, with files for features and for text. See `base.py`."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.bytes_in.settings import BytesIn, bytes_read, default_max_bytes, unsupported
from exporters.data import rows
from exporters.data.rows import GENERATED, Examples, Rows
from exporters.data.text_rows import TextReader, TextRows
from exporters.explanation.run import ExplainedText
from exporters.formats.artifacts import Placed
from exporters.formats.graph import BytesGraph, Graph
from exporters.formats.runners import Feed, KerasRunner, batch_rows
from exporters.formats.tensor_names import BYTES, FEATURES, INPUTS, LOGITS, SIGNATURE, TEXT
from exporters.request import ExportRequest
from exporters.request_choices import GRAPHS
from exporters.self_test import texts
from exporters.self_test.example import Example, Worked, features_entry
from exporters.sources.projection_file import projection_file
from exporters.verification import checks
from exporters.verification.label_outputs import SIGMOID, SOFTMAX
from exporters.verification.latency import LENGTHS
from exporters.verification.verify import Check
from models_tf.checkpoints import projection as projection_checkpoint
from models_tf.checkpoints.projection import ProjectionCheckpoint
from models_tf.data import DEFAULT_THRESHOLD, ONE_LABEL, check_threshold_use
from models_tf.errors import InputError
from models_tf.folders.real_path import real_path
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from models_tf.spec import TensorSpec
from models_tf.training.state import interruption


@dataclass(frozen=True, kw_only=True)
class ProjectionSource:
    """A checkpoint, with the length of the request, and its projection. `graphs` are the files to write."""

    request: ExportRequest
    checkpoint: ProjectionCheckpoint
    projection: ProjectionConfig
    graphs: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, request: ExportRequest) -> "ProjectionSource":
        checkpoint = _checkpoint(request)
        check_threshold_use(request.label_threshold, multi_label=checkpoint.config.multi_label, received=ONE_LABEL)
        projection = _projection(checkpoint)
        graphs, left_out = _graphs(request, projection)
        notes = (*interruption(request.checkpoint_folder), *left_out)
        return cls(request=request, checkpoint=checkpoint, projection=projection, graphs=graphs, notes=notes)

    @property
    def files(self) -> tuple[Path, ...]:
        return self.checkpoint.files

    def rows(self, *, calibrate: bool) -> Rows:
        reader = TextReader(
            labels=self.checkpoint.labels,
            multi_label=self.checkpoint.config.multi_label,
            project=None,  # it reads as much of a text as the rows ask for
            columns=self.request.columns,
            label_separator=self.request.label_separator,
            label_threshold=self.request.label_threshold or DEFAULT_THRESHOLD,
        )
        bundled = self.request.checkpoint_folder if self.request.checkpoint is None else None
        loaded = rows.load(self.request, reader, calibrate=calibrate, bundled=bundled)
        host = self.host(loaded)
        return dataclasses.replace(
            loaded,
            evaluation=_projected(loaded.evaluation, host),
            calibration=None if loaded.calibration is None else _projected(loaded.calibration, host),
            notes=(*loaded.notes, *_cut(loaded.evaluation.keys, host.config)),
        )

    def host(self, rows: Rows) -> HostProjection:
        """The projection on the host, as all files of the export compute it: `max_bytes` is that of bytes-in files."""
        config = self.projection
        if BYTES in self.graphs:
            parts = [part for part in (rows.evaluation, rows.calibration) if part is not None]
            texts = (text.encode() for part in parts for text in part.keys)
            wanted = self.request.max_bytes or config.max_bytes or default_max_bytes(config.pad_to, texts)
            config = BytesIn(config=dataclasses.replace(config, max_bytes=wanted)).config
        return HostProjection(config)

    def build(self, rows: Rows) -> "ProjectionModel":
        return ProjectionModel(
            source=self,
            model=projection_checkpoint.build(self.checkpoint),
            projection=self.host(rows),
            text=rows.evaluation.keys[0],
        )

    def describe(self) -> dict[str, Any]:
        config = self.checkpoint.config
        return {
            "name": self.checkpoint.model_name,
            "task": real_path(self.request.checkpoint_folder).name,
            "bundled": self.request.checkpoint is None,
            "num_labels": len(self.checkpoint.labels),
            "multi_label": config.multi_label,
            "parameters": int(sum(value.size for value in self.checkpoint.weights.values())),
            "max_seq_len": config.max_seq_len,
            "feature_size": config.projection.feature_size,
            "features": config.projection.features,
        }


@dataclass(frozen=True, kw_only=True)
class ProjectionModel:
    """The source with its Keras model. `text` is an example, for measuring time."""

    source: ProjectionSource
    model: Any
    projection: HostProjection
    text: str

    @property
    def graph(self) -> Graph:
        config = self.model.config
        shape = (config.max_seq_len, config.projection.feature_size)
        return Graph(
            name=FEATURES,
            function=self.model.features_to_logits,
            inputs=(TensorSpec(name=FEATURES, shape=shape, dtype="int8"),),
            signatures={SIGNATURE: 1, checks.BATCH_SIGNATURE: checks.BATCH},
            projection=self.projection.config.to_text(),
            bytes_in=self._bytes_in,
            any_length=self.model.any_length,
        )

    @property
    def _bytes_in(self) -> BytesGraph | None:
        if BYTES not in self.source.graphs:
            return None
        return BytesGraph(
            front=BytesIn(config=self.projection.config),
            labels=self.source.request.answers_labels,
            multi_label=self.model.config.multi_label,
        )

    def describe(self) -> dict[str, Any]:
        found = {**self.source.describe(), "any_length": self.model.any_length}
        return {**found, "max_bytes": self.projection.config.max_bytes} if self.projection.config.max_bytes else found

    def on_disk(self, folder: Path) -> "ProjectionModel":  # noqa: ARG002 - it is small
        return self

    def forget(self) -> None:
        """It is small."""

    def is_kept(self, graph: str) -> bool:
        return graph in self.source.graphs

    def side_files(self, placed: Sequence[Placed]) -> dict[str, str | bytes]:
        return {
            "labels.txt": "".join(label + "\n" for label in self.source.checkpoint.labels),
            "projection.json": projection_file(
                self.projection.config,
                {one.name: _single(one.file.interface()) for one in placed},
                multi_label=self.source.checkpoint.config.multi_label,
                any_length=self.model.any_length,
                io=self.source.request.io,
            ),
        }

    def worked_examples(self, rows: Rows) -> Worked:
        keys = rows.evaluation.keys
        found = [keys[row] for row in texts.spread([len(key) for key in keys])]
        given = texts.filled(found, texts.GENERATED if rows.source == GENERATED else texts.DATA, str)
        given += texts.hard(self.model.config.max_seq_len).items()
        encoded = [text.encode() for _, text in given]
        features, lengths = self.projection.project(encoded)
        examples = [
            Example(origin=origin, text=text, inputs=features_entry(values, int(tokens)))
            for (origin, text), values, tokens in zip(given, features, lengths, strict=True)
        ]
        return Worked(examples=examples, feed={FEATURES: features, TEXT: encoded}, inputs=INPUTS)

    def keras(self) -> KerasRunner:
        return KerasRunner(lambda features: {LOGITS: self.model.features_to_logits(features)}, inputs=(FEATURES,))

    def checks(self, references: Sequence[Placed], placed: Sequence[Placed]) -> tuple[list[Check], list[Check]]:
        config = self.model.config
        keras = self.keras()
        rows = batch_rows(config.max_seq_len * config.projection.feature_size)
        activation = None
        if self.source.request.answers_labels:
            activation = SIGMOID if config.multi_label else SOFTMAX
        return checks.for_projection(keras, references, placed, rows=rows, activation=activation)

    def explain(self, rows: Rows) -> tuple[ExplainedText, ...]:  # noqa: ARG002 - these models drop no token
        return ()

    def timed_rows(self, graph: str) -> dict[int, Feed]:
        config = self.projection.config
        if graph in (TEXT, BYTES):
            return {config.pad_to: {TEXT: [self.text.encode()]}}
        lengths = sorted({*(LENGTHS if self.model.any_length else ()), config.pad_to})
        return {length: {FEATURES: random_features(length, config.feature_size)} for length in lengths}


def random_features(length: int, feature_size: int) -> np.ndarray:
    """Random ternary rows, all of them real tokens."""
    features = np.random.default_rng(0).integers(-1, 2, (1, length, feature_size), dtype=np.int8)
    features[:, :, 0] = 1
    return features


def _cut(texts: Sequence[str], config: ProjectionConfig) -> tuple[str, ...]:
    """A note if texts are cut before their last token. The reference reads no more of them than the files do, so no
    accuracy shows it.
    """
    count = sum(bytes_read(text.encode(), config.pad_to) > config.max_bytes for text in texts if config.max_bytes)
    if not count:
        return ()
    cut = f"{count} of {len(texts)} rows are cut at {config.max_bytes} bytes, in all files and in Keras."
    return (f"{cut} A larger --max-bytes reads more of them.",)


def _checkpoint(request: ExportRequest) -> ProjectionCheckpoint:
    loaded = projection_checkpoint.load(request.checkpoint_folder)
    if request.model is not None and request.model != loaded.model_name:
        raise InputError(
            f"--model must be that of the checkpoint, {loaded.model_name}. Received: {request.model}; leave it out."
        )
    if request.max_seq_len is None:
        return loaded
    try:
        config = dataclasses.replace(loaded.config, max_seq_len=request.max_seq_len)
    except ValueError as error:
        raise InputError(f"--max-seq-len does not fit the model: {error}") from error
    return dataclasses.replace(loaded, config=config)


def _projection(checkpoint: ProjectionCheckpoint) -> ProjectionConfig:
    """The projection as the files have it: padded to the static length, without the typos of training."""
    settings: ProjectionConfig = checkpoint.config.projection
    try:
        return dataclasses.replace(settings, pad_to=checkpoint.config.max_seq_len, distortion=0.0)
    except ValueError as error:
        raise InputError(f"--max-seq-len does not fit the projection: {error}") from error


def _graphs(request: ExportRequest, projection: ProjectionConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The graphs to write, and notes. By default one that cannot be made is left out."""
    wanted, refused = request.graphs or GRAPHS, unsupported(projection)
    if not refused or BYTES not in wanted:
        return wanted, ()
    if request.wants_bytes:
        raise InputError(
            f"Bytes-in files cannot express the projection setting{'s' if len(refused) > 1 else ''} "
            f"{', '.join(refused)}. Export the other graphs: --graphs features,text."
        )
    note = f"There are no bytes-in files: builtin operators cannot express {', '.join(refused)} of the projection."
    return tuple(name for name in wanted if name != BYTES), (note,)


def _projected(examples: Examples, host: HostProjection) -> Examples:
    """The same rows, which also give features."""
    if not isinstance(examples, TextRows):
        raise TypeError(f"Rows of texts were expected. Received: {type(examples).__name__}.")
    return dataclasses.replace(examples, project=lambda texts: host.project(texts)[0])


def _single(entry: dict[str, Any]) -> dict[str, Any]:
    """The one input of a file and its first output, the logits, in place of the lists."""
    if "inputs" not in entry:  # by signature
        return {signature: _single(part) for signature, part in entry.items()}
    (given,), (answer, *others) = entry["inputs"], entry["outputs"]
    return {"input": given, "output": answer, **({"further_outputs": others} if others else {})}
