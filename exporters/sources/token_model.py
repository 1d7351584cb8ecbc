"""`TokenModel`: a token model's network to export, what lies beside its files, and what they are compared with.

One graph for every file, with ids, mask (and segments) as inputs, converted once. It uses the rewritten weights and a
bounded mask, and is compared with the Keras model as read, with PyTorch's mask. Leaves out batches: a signature takes
one row.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exporters.data.rows import GENERATED, Rows
from exporters.data.token_rows import TokenRows
from exporters.explanation.run import ExplainedText, drops_tokens, explain_texts
from exporters.formats.artifacts import Placed
from exporters.formats.graph import Graph
from exporters.formats.runners import Feed, KerasRunner
from exporters.formats.tensor_names import MARGIN, MEDIAPIPE
from exporters.self_test.example import Worked
from exporters.sources.embedding import described
from exporters.sources.token_examples import worked_examples
from exporters.sources.token_file import token_file
from exporters.verification import checks
from exporters.verification.verify import Check
from models_tf import memory
from models_tf.checkpoints.tensors_on_disk import TensorFile, TensorsOnDisk
from models_tf.encoder.heads import BASE
from models_tf.encoder.network import Network
from models_tf.spec import IDS, MASK, SEGMENTS

if TYPE_CHECKING:
    from exporters.sources.tokens import TokenSource

GRAPH = "model"
_WEIGHTS = "weights.bin"  # while files are made
_REFERENCE_BATCH = 64
# Tokens of the rows that time is measured with, beside the longest.
_TIMED_LENGTHS = (16, 32, 64, 128)
# Rows whose words the report shows.
_EXPLAINED_ROWS = 3


@dataclass(frozen=True, kw_only=True)
class TokenModel:
    """A source with the network to export and its Keras model, the reference. `shown` are some rows; `pairs` says
    whether the model reads two texts, None where neither task nor data tell.
    """

    source: "TokenSource"
    network: Network
    rewrites: tuple[str, ...]
    mask_value: float
    shown: Mapping[str, np.ndarray]
    pairs: bool | None

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
            "multi_label": self.source.multi_label,
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
            multi_label=source.multi_label,
            pairs=self.pairs,
            any_length=self.graph.any_length,
            attends_to_distances=bool(source.checkpoint.config.position_attention),
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
