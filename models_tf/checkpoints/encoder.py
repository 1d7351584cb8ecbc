"""`EncoderCheckpoint`: a token model as values, read from and written to a folder in Hugging Face format.

`transformers` can read what is written. Needs neither TensorFlow nor PyTorch (PyTorch for .bin files only). Choosing
the head is left to `head_choice.py`, the tokenizer files to `models_tf/tokenizers`.
"""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import registry
from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.document import MULTI_LABEL
from models_tf.checkpoints.family import OTHER, Family
from models_tf.checkpoints.folder import CONFIG_FILE, find_folder, read_document
from models_tf.checkpoints.head_choice import ChosenHead, check_labels, choose_head, stored_labels
from models_tf.checkpoints.initial import initial_tensors
from models_tf.checkpoints.port import port, to_stored
from models_tf.checkpoints.sentence_folder import encoder_folder
from models_tf.checkpoints.sequence_length import trained_length
from models_tf.checkpoints.weights import WEIGHTS_FILE, WeightFiles, open_weights
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, Head, make_head
from models_tf.errors import InputError
from models_tf.tokenizers.files import TOKENIZER, TOKENIZER_FILES, XLMR_SPIECE, read_tokenizer_files

# Our own key in config.json: the weights were never trained.
UNTRAINED_KEY = "export_mobile_untrained"
# Keys that describe the head; they are rewritten with it.
_HEAD_KEYS = ("num_labels", "id2label", "label2id", "problem_type")


@dataclass(frozen=True, kw_only=True)
class EncoderCheckpoint:
    """`tensors` have our names and layout, `document` is config.json as read, `labels` is empty for base and questions.

    `trained` is false for random weights; `new_tensors` are those that `load` could not read and drew at random.
    `trained_length`: how many tokens it was trained on, where `export-mobile train` wrote it. `files` are those read.
    """

    model_name: str
    config: EncoderConfig
    head: Head
    labels: list[str]
    tensors: Mapping[str, np.ndarray]
    tokenizer_files: dict[str, bytes] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    trained: bool = True
    new_tensors: tuple[str, ...] = ()
    trained_length: int | None = None
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if make_head(self.head.kind, self.labels).num_labels != self.head.num_labels:
            raise ValueError(f"The labels must fit the head, {self.head}. Received: {len(self.labels)} labels.")
        shapes = {name: value.shape for name, value in self.tensors.items()}
        wrong = sorted(set(shapes.items()) ^ set(self.config.shapes(self.head).items()))
        if wrong:
            raise ValueError(f"The tensors must fit the config. Received: {wrong[0]} too many or too few.")

    @property
    def problem_type(self) -> str | None:
        """`regression`, `single_label_classification`, `multi_label_classification`, or None if not stated."""
        return self.document.get("problem_type")

    @property
    def gives_several(self) -> bool:
        """Whether a text may have several labels, or none."""
        return self.head.kind == CLASSIFICATION and self.problem_type == MULTI_LABEL


@dataclass(frozen=True, kw_only=True)
class OpenCheckpoint:
    """A checkpoint folder whose weights are not read yet; `read` reads them for the head you ask for.

    `stored` is the kind of its head, None if config.json does not say, OTHER if it is none of ours.
    """

    folder: Path
    family: Family
    document: dict[str, Any]
    config: EncoderConfig
    stored: str | None
    tokenizer_files: dict[str, bytes]

    @property
    def where(self) -> str:
        return str(self.folder / CONFIG_FILE)

    @property
    def head_kind(self) -> str:
        """The stored head, or "base" if there is none that this model family supports."""
        return self.stored if self.stored in self.family.heads else BASE

    @property
    def labels(self) -> list[str]:
        """The labels of that head."""
        return stored_labels(self.document, self.head_kind, self.where)

    def read(
        self, *, head: str | None = None, new_head_labels: Sequence[str] | None = None, seed: int = 0
    ) -> EncoderCheckpoint:
        """Strict: a tensor that is missing, unread, misshapen or not finite is an InputError that names it.

        `head` must be the checkpoint's own, or "base" for no head. "sentence-order" is a classification head that a
        pretraining checkpoint may also have. With `new_head_labels` (for training; empty for question answering), a
        head that does not exist for these labels is drawn at random, and so is a missing pooler.
        """
        weights = open_weights(self.folder)
        chosen = choose_head(
            family=self.family,
            document=self.document,
            where=self.where,
            stored=self.stored,
            tensors=weights.names,
            asked=head,
            new_labels=new_head_labels,
        )
        self.family.check_head(chosen.head.kind, self.config)
        config = self._config_of(weights, chosen.head)
        tensors, drawn = self._tensors(weights, config, chosen, fresh=new_head_labels is not None, seed=seed)
        return EncoderCheckpoint(
            model_name=self.family.name,
            config=config,
            head=chosen.head,
            labels=chosen.labels,
            tensors=tensors,
            tokenizer_files=self.tokenizer_files,
            document=self.document if chosen.is_stored else _without_head(self.document),
            trained=self.document.get(UNTRAINED_KEY) is not True,
            new_tensors=drawn,
            trained_length=trained_length(self.folder),
            files=(self.folder / CONFIG_FILE, *weights.files, *(self.folder / name for name in self.tokenizer_files)),
        )

    def _prefix(self, weights: WeightFiles) -> str:
        prefix = self.family.prefix
        return prefix if any(name.startswith(prefix) for name in weights.names) else ""

    def _config_of(self, weights: WeightFiles, head: Head) -> EncoderConfig:
        """Masked-language models have no pooler, nor do some models with a head: as base they give hidden states."""
        lines = self.family.port_lines(self.config, head, self._prefix(weights))
        poolers = {line.theirs for line in lines if line.ours.startswith("pooler.")}
        if head.kind != BASE or not poolers or poolers & set(weights.names):
            return self.config
        return dataclasses.replace(self.config, pools_base=False)

    def _tensors(
        self, weights: WeightFiles, config: EncoderConfig, chosen: ChosenHead, *, fresh: bool, seed: int
    ) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
        """All tensors, and the names of those drawn at random: a new head, and the pooler if that head needs one."""
        family, prefix = self.family, self._prefix(weights)
        shapes = config.shapes(chosen.head)
        read = {name: shape for name, shape in shapes.items() if not (chosen.is_new and name.startswith("classifier."))}
        lines = family.port_lines(config, chosen.head, prefix, head_layer=chosen.layer)
        found = port(
            weights,
            [line for line in lines if line.ours in read],
            read,
            ignore=family.ignored(config, chosen.head, prefix, replaces=chosen.replaces),
            all_of=prefix if chosen.replaces == OTHER else "",
            absent=("pooler.kernel", "pooler.bias") if fresh else (),
        )
        missing = {name: shape for name, shape in shapes.items() if name not in found}
        found |= initial_tensors(missing, config.initializer_range, seed)
        return {name: found[name] for name in shapes}, tuple(missing)


def open_checkpoint(source: str | os.PathLike[str], *, model: str | None = None) -> OpenCheckpoint:
    """A checkpoint folder or hub id: its config and tokenizer, without its weights. Of a folder of
    sentence-transformers, the encoder.
    """
    folder = encoder_folder(find_folder(source))
    document = read_document(folder)
    where = str(folder / CONFIG_FILE)
    family = _family(document, model, where)
    return OpenCheckpoint(
        folder=folder,
        family=family,
        document=document,
        config=family.config.from_document(document, where),
        stored=family.head_of(document, where),
        tokenizer_files=_tokenizer_files(folder, family, document),
    )


def load(
    source: str | os.PathLike[str],
    *,
    model: str | None = None,
    head: str | None = None,
    new_head_labels: Sequence[str] | None = None,
    seed: int = 0,
) -> EncoderCheckpoint:
    """A whole checkpoint from a folder or hub id; for the head, see `OpenCheckpoint.read`."""
    return open_checkpoint(source, model=model).read(head=head, new_head_labels=new_head_labels, seed=seed)


def random_init(
    model: str,
    source: str | Mapping[str, Any] | None = None,
    *,
    head: str = BASE,
    labels: Sequence[str] = (),
    seed: int = 0,
    tokenizer_files: Mapping[str, bytes] | None = None,
) -> EncoderCheckpoint:
    """Random weights, to measure size and speed or to train from scratch.

    For a preset by name (None: the family's first) or a config.json document.
    """
    family = registry.get(model).family()
    document = dict(source if isinstance(source, Mapping) else family.preset(source))
    _family(document, model, CONFIG_FILE)
    config = family.config.from_document(document, CONFIG_FILE)
    family.check_head(head, config)
    check_labels(labels, head)
    wanted = make_head(head, labels)
    return EncoderCheckpoint(
        model_name=family.name,
        config=config,
        head=wanted,
        labels=list(labels),
        tensors=initial_tensors(config.shapes(wanted), config.initializer_range, seed),
        tokenizer_files=dict(tokenizer_files or {}),
        document=_without_head(document),
        trained=False,
    )


def save(folder: Path, checkpoint: EncoderCheckpoint, *, beside: Mapping[str, bytes] | None = None) -> None:
    """Writes config.json, model.safetensors, the tokenizer's files and the files `beside` them: all or none."""
    from safetensors.numpy import save as to_bytes

    family = registry.get(checkpoint.model_name).family()
    prefix = "" if checkpoint.head.kind == BASE else family.prefix
    document = to_document(checkpoint)
    tensors = to_stored(checkpoint.tensors, family.port_lines(checkpoint.config, checkpoint.head, prefix))
    for name, shape in family.fillers(checkpoint.config, prefix).items():
        tensors[name] = np.eye(shape[0], dtype=np.float32) if len(shape) == 2 else np.zeros(shape, np.float32)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(
        folder,
        {
            **checkpoint.tokenizer_files,
            **(beside or {}),
            WEIGHTS_FILE: to_bytes(tensors, metadata={"format": "pt"}),  # `transformers` wants the format
            CONFIG_FILE: (json.dumps(document, indent=2) + "\n").encode(),
        },
        # Weights of another epoch fit the config already there; those of another model do not. In that case the
        # folder is not a checkpoint until the last rename.
        remove_first=None if _is_same_model(folder, document) else CONFIG_FILE,
    )
    if checkpoint.tokenizer_files:
        for name in set(TOKENIZER_FILES) - set(checkpoint.tokenizer_files):
            (folder / name).unlink(missing_ok=True)  # left from the previous checkpoint


def to_document(checkpoint: EncoderCheckpoint) -> dict[str, Any]:
    """config.json as written: as read, updated with the config, the head and the labels."""
    family = registry.get(checkpoint.model_name).family()
    dropped = {*_HEAD_KEYS, "architectures", "torch_dtype", "dtype", UNTRAINED_KEY}
    kept = {key: value for key, value in checkpoint.document.items() if key not in dropped}
    found = {
        "architectures": [family.architecture(checkpoint.head.kind)],
        **family.config.to_document(checkpoint.config, kept),
        "torch_dtype": "float32",
    }
    if checkpoint.labels:
        found["id2label"] = {str(number): label for number, label in enumerate(checkpoint.labels)}
        found["label2id"] = {label: number for number, label in enumerate(checkpoint.labels)}
    if checkpoint.head.kind == CLASSIFICATION:
        several = len(checkpoint.labels) > 1
        known = checkpoint.problem_type if several else checkpoint.problem_type or "regression"
        if known is not None:
            found["problem_type"] = known
    if not checkpoint.trained:
        found[UNTRAINED_KEY] = True
    return found


def with_tensors(checkpoint: EncoderCheckpoint, tensors: dict[str, np.ndarray]) -> EncoderCheckpoint:
    """After training: new values under the same names."""
    return dataclasses.replace(checkpoint, tensors=tensors, trained=True, new_tensors=())


def _family(document: Mapping[str, Any], model: str | None, where: str) -> Family:
    names = registry.names("tokens")
    stated = document.get("model_type", model)
    found = registry.reader_of(stated)
    if model in names and stated in registry.get(str(model)).family().reads:
        found = model
    if found is None or model not in (None, found):
        expected = f"`model_type` {model or ' or '.join(names)}"
        received = json.dumps(document.get("model_type")) if "model_type" in document else "no `model_type`"
        if document.get("model") in registry.names("projection"):
            received = f"{document['model']}, which reads hashed words in place of tokens"
        remedy = f": give --model {found}" if found is not None else ""
        near = registry.nearest_model(stated) if isinstance(stated, str) and found is None else ""
        raise InputError(
            f"{where} is the config of another architecture: expected {expected}. Received: {received}{remedy}.{near}"
        )
    family = registry.get(found).family()
    classes = document.get("architectures")
    for name in classes if isinstance(classes, list) else ():
        if name not in family.architectures and (owner := registry.owner_of(name)):
            raise InputError(
                f"{where}: `model_type` and `architectures` must be of one model. Received: {stated}, and {name} of "
                f"{owner}. Correct the one that is wrong."
            )
    return family


def _tokenizer_files(folder: Path, family: Family, document: Mapping[str, Any]) -> dict[str, bytes]:
    """Those of the folder. A file of pieces with numbers of its own is left out: what is written of the checkpoint has
    the family's name, under which the file would give other ids.
    """
    files = read_tokenizer_files(folder)
    stated = document.get("model_type")
    if stated in family.own_pieces and files.pop(XLMR_SPIECE, None) is not None and TOKENIZER not in files:
        raise InputError(
            f"{folder} must have {TOKENIZER}, since {stated} numbers the pieces of {XLMR_SPIECE} in a way of its own. "
            f"Received: {XLMR_SPIECE} without it. Load and save the tokenizer with `transformers`, which writes it."
        )
    return files


def _without_head(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in _HEAD_KEYS}


def _is_same_model(folder: Path, document: dict[str, Any]) -> bool:
    try:
        return read_document(folder) == document
    except (OSError, InputError):
        return False
