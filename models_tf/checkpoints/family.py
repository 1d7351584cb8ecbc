"""`Family`: everything that is special about one BERT-like architecture. Each `models_tf/<model>/convert.py` has one.

Imports neither TensorFlow nor numpy: help texts are made from families.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from models_tf.checkpoints.config_fields import ConfigTable
from models_tf.checkpoints.rename import PortLine, dense, weights_of
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, EMBEDDING, QUESTION_ANSWERING, TOKEN_CLASSIFICATION, Head
from models_tf.errors import InputError
from models_tf.tokenizers.files import WORDPIECE

# Head -> PyTorch's name of its last layer.
HEAD_LAYERS = {CLASSIFICATION: "classifier", TOKEN_CLASSIFICATION: "classifier", QUESTION_ANSWERING: "qa_outputs"}

# What stands on the encoder of a class that is not listed: nothing of ours, so all of it is left out.
OTHER = "other"

# BERT's heads of pretraining: masked words and next sentence. The dense one without a transform is MobileBERT's.
PRETRAINING_HEADS = weights_of(
    "cls.predictions.decoder",
    "cls.predictions.transform.LayerNorm",
    "cls.predictions.transform.dense",
    "cls.seq_relationship",
) | {"cls.predictions.bias", "cls.predictions.dense.weight"}


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """The family that a compressed network belongs to: one with `ghosts`, one that drops tokens (`retention`), and any
    other (`plain`). None: the family cannot have them. `narrow_words`: words may become narrower than positions.
    `heads`: layers may lose some of their heads.
    """

    plain: str
    ghosts: str | None = None
    retention: str | None = None
    narrow_words: bool = True
    heads: bool = True

    def name(self, config: EncoderConfig) -> str:
        """What such a network is called."""
        if config.ghost_heads or config.ghost_folds:
            return self.ghosts or self.plain
        return self.retention or self.plain if config.retention else self.plain


@dataclass(frozen=True, kw_only=True)
class Family:
    """`config` is the table of its config.json, whose `model_type` is the name.

    `architectures`: class of `transformers` -> head; the first of each head is the one that is written.
    `lines(config, prefix)`: every tensor that an encoder of the family may have, by PyTorch's names.
    `unread(config, prefix)`: names that may be there and that the model does not compute with.
    `fillers(config, prefix)`: the ones among them that PyTorch expects, with their shapes; written as an identity.
    `reads`: other `model_type`s whose checkpoints are taken as they are and become one of this family, if it is asked
    for or the `model_type` is no family's name.
    `own_pieces`: those of them whose file of SentencePiece numbers its pieces in another way than the family's.
    `heads`: what may stand on top of it, the usual one first.
    `head_layers`: head -> PyTorch's name of its last layer.
    `head_poolers`: head -> that of the dense layer in front of it, where it is the head's own and not the encoder's.
    `tokens`: the kind of its own tokenizer.
    `compressed`: what it becomes when it is compressed; None where it cannot be.
    `pretraining_heads`: tensors beside the encoder that are left out where it is read without a head.
    `order_layer`: PyTorch's name of the one among them that tells sentence order.
    """

    config: ConfigTable
    prefix: str
    architectures: Mapping[str, str]
    presets: Mapping[str, Mapping[str, Any]]
    lines: Callable[[EncoderConfig, str], list[PortLine]]
    unread: Callable[[EncoderConfig, str], frozenset[str]]
    fillers: Callable[[EncoderConfig, str], Mapping[str, tuple[int, ...]]] = lambda _config, _prefix: {}
    reads: tuple[str, ...] = ()
    own_pieces: tuple[str, ...] = ()
    heads: tuple[str, ...] = (CLASSIFICATION, TOKEN_CLASSIFICATION, QUESTION_ANSWERING, BASE)
    head_layers: Mapping[str, str] = field(default_factory=lambda: HEAD_LAYERS)
    head_poolers: Mapping[str, str] = field(default_factory=dict)
    pretraining_heads: frozenset[str] = PRETRAINING_HEADS
    order_layer: str | None = None
    compressed: Compressed | None = None
    tokens: str = WORDPIECE

    @property
    def name(self) -> str:
        return self.config.model_type

    def port_lines(
        self, config: EncoderConfig, head: Head, prefix: str, *, head_layer: str | None = None
    ) -> list[PortLine]:
        """The lines of the tensors that `config.shapes(head)` names; `head_layer` replaces PyTorch's usual name."""
        lines = self.lines(config, prefix)
        if head.kind in self.head_poolers:
            lines = [line for line in lines if not line.ours.startswith("pooler.")]
            lines += dense("pooler", self.head_poolers[head.kind])
        if head.kind in self.head_layers:
            lines += dense("classifier", head_layer or self.head_layers[head.kind])
        shapes = config.shapes(head)
        return [line for line in lines if line.ours in shapes]

    def ignored(self, config: EncoderConfig, head: Head, prefix: str, *, replaces: str | None) -> frozenset[str]:
        """Names in the file that may stay unread; `replaces` is the file's own head where it is not read."""
        names = set(self.unread(config, prefix))
        if replaces is not None and replaces in self.head_layers:
            names |= weights_of(self.head_layers[replaces], self.head_poolers.get(replaces, self.head_layers[replaces]))
        elif replaces == BASE:
            names |= self.pretraining_heads
        if not config.pools(head) or head.kind in self.head_poolers:
            # Older releases of `transformers` stored it with every head.
            names |= weights_of(f"{prefix}pooler.dense")
        return frozenset(names)

    def architecture(self, head: str) -> str:
        return next(name for name, kind in self.architectures.items() if kind == head)

    def check_head(self, kind: str, config: EncoderConfig | None = None) -> None:
        """`config` may drop tokens, and a head on every token has nothing to read where tokens are gone."""
        if kind not in self.heads and not (kind == EMBEDDING and BASE in self.heads):  # which has no weights, either
            raise InputError(
                f"{self.name} is for {' or '.join(self.heads)}. Received: {kind}; use --model bert for it."
            )
        if config is not None and config.retention and kind in (TOKEN_CLASSIFICATION, QUESTION_ANSWERING, EMBEDDING):
            raise InputError(
                f"A model with `retention` drops tokens: expected a {CLASSIFICATION} or {BASE} head. Received: {kind}; "
                "leave `retention` out of config.json."
            )

    def head_of(self, document: Mapping[str, Any], where: str) -> str | None:
        """The head that `architectures` names: None where it names nothing, OTHER for a class that is not listed."""
        names = document.get("architectures")
        if names is None or names == []:
            return None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{where}: `architectures` must be a list of class names. Received: {names!r}.")
        heads = {self.architectures.get(name, OTHER) for name in names}
        if OTHER in heads:
            return OTHER
        if len(heads) > 1:
            raise InputError(f"{where}: `architectures` must name one head. Received: {', '.join(names)}.")
        return heads.pop()

    def not_listed(self, document: Mapping[str, Any], where: str) -> InputError:
        """What is said where the head of a class that is not listed is needed."""
        name = next(name for name in document["architectures"] if name not in self.architectures)
        return InputError(
            f"{where} is the config of another architecture: expected one of {', '.join(self.architectures)}. "
            f"Received: {name}. Export its encoder alone with --task base, or train a new head on it with "
            "`export-mobile train --task`."
        )

    def heads_in(self, tensors: Collection[str]) -> tuple[str, ...]:
        """The heads whose last layer is among the tensors; some have a name that others have too."""
        return tuple(kind for kind, layer in self.head_layers.items() if f"{layer}.weight" in tensors)

    def preset(self, name: str | None = None) -> Mapping[str, Any]:
        """Published settings by their name; the first ones are the default."""
        if name is None:
            return next(iter(self.presets.values()))
        if name not in self.presets:
            raise InputError(f"Unknown preset of {self.name}: expected {', '.join(self.presets)}. Received: {name}.")
        return self.presets[name]
