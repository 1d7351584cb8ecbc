"""The table of models. Names are resolved when used: listing them imports no TensorFlow."""

import difflib
import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models_tf.errors import InputError

BUNDLED = Path(__file__).parent / "bundled"
# What goes into a model: features of the projection op, or the ids of a vocabulary's tokens.
KINDS = PROJECTION, TOKENS = ("projection", "tokens")


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One model: where its config and its Keras class are, and which trained ones ship with the package.

    Checkpoints of models of kind "tokens" are folders of Hugging Face's form: `convert` says how they are read.
    """

    name: str
    summary: str
    config: str
    model: str
    kind: str = PROJECTION
    convert: str = ""
    tasks: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(KINDS)}. Received: {self.kind!r}.")
        if bool(self.convert) != (self.kind == TOKENS):
            raise ValueError(f"`convert` is for models of kind {TOKENS}. Received: {self.convert!r} for {self.name}.")

    def config_class(self) -> Any:
        return _resolve(self.config)

    def model_class(self) -> Any:
        return _resolve(self.model)

    def family(self) -> Any:
        """The `Family` of a model of kind "tokens": how its checkpoints are read and written."""
        if self.kind != TOKENS:
            raise InputError(
                f"{self.name} has no checkpoints of Hugging Face's form: expected {' or '.join(names(TOKENS))}."
            )
        return _resolve(self.convert)

    def bundled_folder(self, task: str | None = None) -> Path:
        """Folder of a bundled checkpoint; the first task is the default."""
        if not self.tasks:
            raise InputError(f"No trained {self.name} ships with the package: give --checkpoint DIR.")
        if task is None:
            task = self.tasks[0]
        if task not in self.tasks:
            raise InputError(
                f"Unknown task for {self.name}: expected one of {', '.join(self.tasks)}. Received: {task}."
                + nearest(task, self.tasks)
            )
        return BUNDLED / task


MODELS = {
    entry.name: entry
    for entry in (
        ModelEntry(
            name="prado",
            summary="projection attention network, no vocabulary, about 200 KB; text classification",
            config="models_tf.prado.config:PradoConfig",
            model="models_tf.prado.model:Prado",
            tasks=("snips", "clinc150"),
        ),
        ModelEntry(
            name="sgnn",
            summary="self-governing network, PRADO's small sibling: summed projection, dense layers",
            config="models_tf.sgnn.config:SgnnConfig",
            model="models_tf.sgnn.model:Sgnn",
        ),
        ModelEntry(
            name="mobilebert",
            summary="thin BERT for phones, about 25 MB in int8; classification, tagging, question answering",
            config="models_tf.encoder.config:EncoderConfig",
            model="models_tf.encoder.model:Encoder",
            kind=TOKENS,
            convert="models_tf.mobilebert.convert:FAMILY",
        ),
        ModelEntry(
            name="bert",
            summary="BERT, any size; the same tasks, and a teacher for smaller models",
            config="models_tf.encoder.config:EncoderConfig",
            model="models_tf.encoder.model:Encoder",
            kind=TOKENS,
            convert="models_tf.bert.convert:FAMILY",
        ),
        ModelEntry(
            name="ghostbert",
            summary="a pruned BERT with cheap ghost features beside what was kept; made by `export-mobile compress`",
            config="models_tf.encoder.config:EncoderConfig",
            model="models_tf.encoder.model:Encoder",
            kind=TOKENS,
            convert="models_tf.ghostbert.convert:FAMILY",
        ),
        ModelEntry(
            name="powerbert",
            summary="a BERT that drops the least significant tokens from layer to layer; classification of long texts",
            config="models_tf.encoder.config:EncoderConfig",
            model="models_tf.encoder.model:Encoder",
            kind=TOKENS,
            convert="models_tf.powerbert.convert:FAMILY",
        ),
        ModelEntry(
            name="albert",
            summary="a BERT whose layers share their weights, with a narrow word embedding; about 12 MB in int8",
            config="models_tf.encoder.config:EncoderConfig",
            model="models_tf.encoder.model:Encoder",
            kind=TOKENS,
            convert="models_tf.albert.convert:FAMILY",
        ),
        ModelEntry(
            name="tagger",
            summary="a BERT of three layers that tags words, distilled from a larger one on texts without labels",
            config="models_tf.encoder.config:EncoderConfig",
            model="models_tf.encoder.model:Encoder",
            kind=TOKENS,
            convert="models_tf.tagger.convert:FAMILY",
        ),
    )
}


def get(name: str) -> ModelEntry:
    if name not in MODELS:
        raise InputError(
            f"Unknown model: expected one of {', '.join(MODELS)}. Received: {name}.{nearest(name, tuple(MODELS))}"
        )
    return MODELS[name]


def names(kind: str | None = None) -> tuple[str, ...]:
    """The models of a kind, or all."""
    return tuple(name for name, entry in MODELS.items() if kind in (None, entry.kind))


def nearest(name: str, choices: tuple[str, ...]) -> str:
    """` Did you mean x?` or nothing."""
    match = difflib.get_close_matches(name, choices, n=1)
    return f" Did you mean {match[0]}?" if match else ""


def _resolve(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
