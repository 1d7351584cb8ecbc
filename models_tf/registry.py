"""The table of models. Names are resolved when used: listing them imports no TensorFlow."""

import difflib
import importlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models_tf.errors import InputError

if TYPE_CHECKING:
    from models_tf.checkpoints.family import Family

BUNDLED = Path(__file__).parent / "bundled"
# What goes into a model: features of the projection op, or the ids of a vocabulary's tokens.
KINDS = PROJECTION, TOKENS = ("projection", "tokens")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One model. A projection model names its config and its Keras class, and may have trained ones that ship with the
    package (`tasks`); a token model names its `Family`.
    """

    name: str
    summary: str
    config: str = ""
    model: str = ""
    tasks: tuple[str, ...] = field(default=())
    family_path: str = ""

    def __post_init__(self) -> None:
        if bool(self.family_path) == bool(self.config and self.model):
            raise ValueError(f"{self.name} must name its family, or its config and model. Received: both, or neither.")

    @property
    def kind(self) -> str:
        return TOKENS if self.family_path else PROJECTION

    def config_class(self) -> Any:
        return _resolve(self.config)

    def model_class(self) -> Any:
        return _resolve(self.model)

    def family(self) -> "Family":
        """What is special about a token model."""
        if self.kind != TOKENS:
            raise InputError(
                f"{self.name} has no checkpoints in Hugging Face format: expected {' or '.join(names(TOKENS))}."
            )
        return _resolve(self.family_path)

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
            family_path="models_tf.mobilebert.convert:FAMILY",
        ),
        ModelEntry(
            name="bert",
            summary="BERT, any size; the same tasks, and a teacher for smaller models",
            family_path="models_tf.bert.convert:FAMILY",
        ),
        ModelEntry(
            name="ghostbert",
            summary="a pruned BERT with cheap ghost features beside what was kept; made by `export-mobile compress`",
            family_path="models_tf.ghostbert.convert:FAMILY",
        ),
        ModelEntry(
            name="powerbert",
            summary="a BERT that drops the least significant tokens from layer to layer; classification of long texts",
            family_path="models_tf.powerbert.convert:FAMILY",
        ),
        ModelEntry(
            name="albert",
            summary="a BERT whose layers share their weights, with a narrow word embedding; about 12 MB in int8",
            family_path="models_tf.albert.convert:FAMILY",
        ),
        ModelEntry(
            name="distilbert",
            summary="BERT with half of its layers, distilled; checkpoints in Hugging Face format",
            family_path="models_tf.distilbert.convert:FAMILY",
        ),
        ModelEntry(
            name="electra",
            summary="BERT that was pretrained to find replaced words; the small one is about 14 MB in int8",
            family_path="models_tf.electra.convert:FAMILY",
        ),
        ModelEntry(
            name="roberta",
            summary="BERT with byte-level tokens, without segments; checkpoints in Hugging Face format",
            family_path="models_tf.roberta.convert:FAMILY",
        ),
        ModelEntry(
            name="xlm-roberta",
            summary="RoBERTa for a hundred languages, with a SentencePiece vocabulary",
            family_path="models_tf.xlm_roberta.convert:FAMILY",
        ),
        ModelEntry(
            name="mpnet",
            summary="BERT with relative positions, without segments; checkpoints in Hugging Face format",
            family_path="models_tf.mpnet.convert:FAMILY",
        ),
        ModelEntry(
            name="deberta-v2",
            summary="DeBERTa-v2 and v3: attention to content and to relative positions; exported for one length",
            family_path="models_tf.deberta_v2.convert:FAMILY",
        ),
        ModelEntry(
            name="tagger",
            summary="a BERT of three layers that tags words, distilled from a larger one on texts without labels",
            family_path="models_tf.tagger.convert:FAMILY",
        ),
    )
}


def get(name: str) -> ModelEntry:
    if name not in MODELS:
        raise InputError(f"Unknown model: expected one of {', '.join(MODELS)}. Received: {name}.{nearest_model(name)}")
    return MODELS[name]


def names(kind: str | None = None) -> tuple[str, ...]:
    """The models of a kind, or all."""
    return tuple(name for name, entry in MODELS.items() if kind in (None, entry.kind))


def reader_of(model_type: object) -> str | None:
    """The token model for checkpoints of a `model_type`: the one of that name, else the one whose family reads it."""
    if model_type in names(TOKENS):
        return str(model_type)
    return next((name for name in names(TOKENS) if model_type in MODELS[name].family().reads), None)


def owner_of(architecture: object) -> str | None:
    """The token model that a class of `transformers` belongs to."""
    return next((name for name in names(TOKENS) if architecture in MODELS[name].family().architectures), None)


def compressible(may: str | None = None) -> tuple[str, ...]:
    """The models that `export-mobile compress` takes: all, or those of which a field of `Compressed` is true."""
    found = {name: MODELS[name].family().compressed for name in names(TOKENS)}
    return tuple(name for name, one in found.items() if one is not None and (may is None or getattr(one, may)))


def not_compressible(name: str | None) -> str:
    """The beginning of a refusal."""
    return f"{name} cannot be compressed; these can: {', '.join(compressible())}."


def adds_ghosts(name: str) -> bool:
    """Whether compression makes this model by adding ghosts: then it has lost what can be lost."""
    made = [MODELS[other].family().compressed for other in names(TOKENS)]
    return any(one is not None and one.ghosts == name for one in made)


def presets() -> str:
    """The presets of each token model for help texts, the default first."""
    return "; ".join(f"{name} {', '.join(MODELS[name].family().presets)}" for name in names(TOKENS))


# Models that people look for, and what is near to them in meaning, not in spelling.
_RELATIVES = {
    **dict.fromkeys(("tinybert", "minilm", "bert-tiny", "bert-mini"), "bert, which takes every size"),
    **dict.fromkeys(("xlnet", "modernbert"), "bert"),
    "deberta": "deberta-v2, which reads v2 and v3",
    **dict.fromkeys(("gpt", "gpt2", "llama", "t5", "bart"), ""),
    **dict.fromkeys(("lstm", "cnn", "fasttext", "pqrnn"), "prado"),
}


# Other names of a model.
_OTHER_NAMES = {
    **dict.fromkeys(("deberta-v2", "deberta-v3", "mdeberta", "mdeberta-v3"), "deberta-v2"),
    "camembert": "xlm-roberta",
}


def nearest_model(name: str) -> str:
    """What is near in meaning, or else in spelling: distilbert is nearer to bert than to ghostbert."""
    plain = name.lower().rpartition("/")[2].replace("_", "-")
    for other, model in _OTHER_NAMES.items():
        if plain == other or plain.startswith(f"{other}-"):
            return _instead(model)
    for relative, near in sorted(_RELATIVES.items(), key=lambda item: -len(item[0])):
        if plain == relative or plain.startswith(f"{relative}-"):
            what = f"the nearest is {near}" if near else "no model here writes text"
            return f" {relative} is not supported; {what}."
    for model in sorted(MODELS, key=len, reverse=True):
        if plain.startswith(f"{model}-"):
            return _instead(model)
    if plain in MODELS:  # in capitals, or behind the name of an owner
        return f" Did you mean {plain}?"
    return nearest(plain, tuple(MODELS), cutoff=0.75)  # one letter of four: most names end with "bert"


def _instead(model: str) -> str:
    """For the name of a checkpoint in place of a model's."""
    return f" Did you mean {model}? Give a checkpoint with --checkpoint."


def nearest(name: str, choices: tuple[str, ...], *, cutoff: float = 0.6) -> str:
    """` Did you mean x?` or nothing."""
    match = difflib.get_close_matches(name, choices, n=1, cutoff=cutoff)
    if not match or _DIGIT.sub("0", name) == _DIGIT.sub("0", match[0]):  # int2 is not a misspelt int8
        return ""
    return f" Did you mean {match[0]}?"


def _resolve(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
