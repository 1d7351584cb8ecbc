"""Models on projection features: a checkpoint of ours, with files for features and for text. See `base.py`."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.data import rows
from exporters.data.rows import GENERATED, Rows
from exporters.data.text_rows import TextReader
from exporters.explanation.run import ExplainedText
from exporters.formats.artifacts import Placed
from exporters.formats.graph import Graph
from exporters.formats.runners import Feed, KerasRunner, batch_rows
from exporters.formats.tensor_names import FEATURES, LOGITS, SIGNATURE, TEXT
from exporters.request import ExportRequest
from exporters.self_test import texts
from exporters.self_test.example import Example, Worked, features_entry
from exporters.sources.projection_file import projection_file
from exporters.verification import checks
from exporters.verification.latency import LENGTHS
from exporters.verification.verify import Check
from models_tf.checkpoints import projection as projection_checkpoint
from models_tf.checkpoints.projection import ProjectionCheckpoint
from models_tf.errors import InputError
from models_tf.ops.projection.library import HostProjection
from models_tf.spec import TensorSpec
from models_tf.training.state import interruption


@dataclass(frozen=True, kw_only=True)
class ProjectionSource:
    """A checkpoint, with the length of the request, and its projection on the host."""

    request: ExportRequest
    checkpoint: ProjectionCheckpoint
    projection: HostProjection

    @classmethod
    def load(cls, request: ExportRequest) -> "ProjectionSource":
        checkpoint = _checkpoint(request)
        return cls(request=request, checkpoint=checkpoint, projection=_projection(checkpoint))

    @property
    def files(self) -> tuple[Path, ...]:
        return self.checkpoint.files

    @property
    def notes(self) -> tuple[str, ...]:
        return interruption(self.request.checkpoint_folder)

    def project(self, texts: Sequence[bytes]) -> np.ndarray:
        """Texts -> features int8 [rows, time, feature]."""
        return self.projection.project(texts)[0]

    def rows(self, *, calibrate: bool) -> Rows:
        reader = TextReader(
            labels=self.checkpoint.labels,
            multi_label=self.checkpoint.config.multi_label,
            project=self.project,
            columns=self.request.columns,
            label_separator=self.request.label_separator,
        )
        bundled = self.request.checkpoint_folder if self.request.checkpoint is None else None
        return rows.load(self.request, reader, calibrate=calibrate, bundled=bundled)

    def build(self, rows: Rows) -> "ProjectionModel":
        return ProjectionModel(
            source=self, model=projection_checkpoint.build(self.checkpoint), text=rows.evaluation.keys[0]
        )

    def describe(self) -> dict[str, Any]:
        config = self.checkpoint.config
        return {
            "name": self.checkpoint.model_name,
            "task": self.request.checkpoint_folder.resolve().name,
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
            projection=self.source.projection.config.to_text(),
            any_length=self.model.any_length,
        )

    def describe(self) -> dict[str, Any]:
        return {**self.source.describe(), "any_length": self.model.any_length}

    def side_files(self, placed: Sequence[Placed]) -> dict[str, str | bytes]:
        return {
            "labels.txt": "".join(label + "\n" for label in self.source.checkpoint.labels),
            "projection.json": projection_file(
                self.source.projection.config,
                {one.name: _single(one.file.interface()) for one in placed},
                multi_label=self.source.checkpoint.config.multi_label,
                any_length=self.model.any_length,
            ),
        }

    def worked_examples(self, rows: Rows) -> Worked:
        keys = rows.evaluation.keys
        found = [keys[row] for row in texts.spread([len(key) for key in keys])]
        given = texts.filled(found, texts.GENERATED if rows.source == GENERATED else texts.DATA, str)
        given += texts.hard(self.model.config.max_seq_len).items()
        encoded = [text.encode() for _, text in given]
        features, lengths = self.source.projection.project(encoded)
        examples = [
            Example(origin=origin, text=text, inputs=features_entry(values, int(tokens)))
            for (origin, text), values, tokens in zip(given, features, lengths, strict=True)
        ]
        inputs = {FEATURES: (FEATURES,), TEXT: (TEXT,)}
        return Worked(examples=examples, feed={FEATURES: features, TEXT: encoded}, inputs=inputs)

    def checks(self, references: Sequence[Placed], placed: Sequence[Placed]) -> tuple[list[Check], list[Check]]:
        config = self.model.config
        keras = KerasRunner(lambda features: {LOGITS: self.model.features_to_logits(features)}, inputs=(FEATURES,))
        rows = batch_rows(config.max_seq_len * config.projection.feature_size)
        return checks.for_projection(keras, [*references, *placed], rows=rows)

    def explain(self, rows: Rows) -> tuple[ExplainedText, ...]:  # noqa: ARG002 - these models drop no token
        return ()

    def timed_rows(self, graph: str) -> dict[int, Feed]:
        config = self.source.projection.config
        if graph == TEXT:
            return {config.pad_to: {TEXT: [self.text.encode()]}}
        lengths = sorted({*(LENGTHS if self.model.any_length else ()), config.pad_to})
        return {length: {FEATURES: random_features(length, config.feature_size)} for length in lengths}


def random_features(length: int, feature_size: int) -> np.ndarray:
    """Random ternary rows, all of them real tokens."""
    features = np.random.default_rng(0).integers(-1, 2, (1, length, feature_size), dtype=np.int8)
    features[:, :, 0] = 1
    return features


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


def _projection(checkpoint: ProjectionCheckpoint) -> HostProjection:
    """The projection as the files have it: padded to the static length, without the typos of training."""
    settings = checkpoint.config.projection
    try:
        padded = dataclasses.replace(settings, pad_to=checkpoint.config.max_seq_len, distortion=0.0)
    except ValueError as error:
        raise InputError(f"--max-seq-len does not fit the projection: {error}") from error
    return HostProjection(padded)


def _single(entry: dict[str, Any]) -> dict[str, Any]:
    """Input and output of a file that has one of each, in place of the lists."""
    if "inputs" not in entry:  # by signature
        return {signature: _single(part) for signature, part in entry.items()}
    (given,), (answer,) = entry["inputs"], entry["outputs"]
    return {"input": given, "output": answer}
