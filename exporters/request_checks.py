"""What an `ExportRequest` cannot ask for: checks of fields that belong together, in the order in which they are told.

Leaves out the types of single fields (`request_fields.py`).
"""

import re
from typing import TYPE_CHECKING

from exporters.formats.io import INT8, IOS, is_wide
from exporters.formats.tensor_names import BYTES
from exporters.request_choices import DEFAULT_MODEL, FOLDS, GRAPHS, OUTPUTS, TFLITE, TOKEN_TASKS
from models_tf import registry
from models_tf.checkpoints.kind import kind_of
from models_tf.encoder.heads import EMBEDDING, POOLINGS
from models_tf.errors import InputError
from quantize import recipe as recipes

if TYPE_CHECKING:
    from exporters.request import ExportRequest

# What model hubs take: https://spdx.org/licenses in lower case, ISO 639 with BCP 47's regions and scripts.
_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}", re.ASCII)
# As far back as the versions of operators are known.
OLDEST_RUNTIME = (2, 3)
_RUNTIME_VERSION = re.compile(r"2\.[0-9]{1,3}", re.ASCII)


def check_io(request: "ExportRequest") -> None:
    if request.io is not None and request.io not in IOS:
        raise InputError(
            f"--io must be one of {', '.join(IOS)}. Received: {request.io[:100]}." + registry.nearest(request.io, IOS)
        )
    if request.io != INT8:
        return
    integer = [recipe.name for recipe in recipes.RECIPES.values() if recipe.needs_calibration]
    if request.quantize not in integer:
        raise InputError(
            f"--io int8 is for recipes with int8 answers: {', '.join(integer)}. Received: --quantize "
            f"{request.quantize}, whose answers are float."
        )
    if request.target != (TFLITE,):
        raise InputError(
            "--io int8 is for .tflite files: an .onnx file has no place for the scale of an answer. "
            f"Received: --target {','.join(request.target)}; give --target {TFLITE}."
        )
    if request.answers_labels:
        raise InputError("--outputs labels needs float logits. Received: --io int8.")


def check_min_runtime(request: "ExportRequest") -> None:
    if request.min_runtime is None:
        return
    if not _RUNTIME_VERSION.fullmatch(request.min_runtime) or request.oldest_runtime < OLDEST_RUNTIME:
        oldest = ".".join(map(str, OLDEST_RUNTIME))
        raise InputError(
            f"--min-runtime must be a version of TensorFlow Lite from {oldest} on, such as 2.14. "
            f"Received: {request.min_runtime[:40]}."
        )
    if TFLITE not in request.target:
        raise InputError(f"--min-runtime is for .tflite files. Received: --target {','.join(request.target)}.")
    if request.quantize == "int4":
        raise InputError(
            "--quantize int4 needs LiteRT: no TensorFlow Lite is known to run weights in 4 bits. "
            f"Received: --min-runtime {request.min_runtime}; choose another --quantize."
        )


def check_card(request: "ExportRequest") -> None:
    if request.license is not None and not _LICENSE.fullmatch(request.license):
        raise InputError(f"--license must be an identifier such as apache-2.0. Received: {request.license[:40]!r}.")
    for code in request.language:
        if not _LANGUAGE.fullmatch(code):
            raise InputError(f"--language must be codes such as en or en,pt-BR. Received: {code[:40]!r}.")


def check_projection(request: "ExportRequest") -> None:
    if request.checkpoint is None:
        registry.get(request.model or DEFAULT_MODEL).bundled_folder(request.task)
    elif kind_of(request.checkpoint) == registry.TOKENS:
        raise InputError(
            f"{request.checkpoint} holds a token model: give --model {' or '.join(registry.names(registry.TOKENS))}. "
            f"Received: {request.model}."
        )
    elif request.task is not None:
        raise InputError(f"--task names a bundled model and --checkpoint a folder: give one. Received: {request.task}.")
    for flag, given in (
        ("--text-pair-column", request.text_pair_column is not None),
        ("--random-init", request.random_init),
        ("--preset", request.preset is not None),
        ("--fold", request.fold != FOLDS[0]),
        ("Compression (--prune-heads and the like)", request.compression is not None),
        ("--importance-data", request.importance_data is not None),
        ("--vocab-data", bool(request.vocab_data)),
        ("--mediapipe", request.mediapipe),
        ("--pooling", request.pooling is not None),
    ):
        if given:
            models, name = ", ".join(registry.names(registry.TOKENS)), request.model or DEFAULT_MODEL
            raise InputError(f"{flag} is for token models ({models}). Received: the model {name}.")
    _check_graphs(request)


def _check_graphs(request: "ExportRequest") -> None:
    if request.graphs is not None:
        unknown = [name for name in request.graphs if name not in GRAPHS]
        if unknown or not request.graphs:
            received = ", ".join(unknown) or "none"
            raise InputError(
                f"--graphs must be some of {', '.join(GRAPHS)}. Received: {received[:100]}."
                + registry.nearest(received, GRAPHS)
            )
        object.__setattr__(request, "graphs", tuple(name for name in GRAPHS if name in request.graphs))
    if request.outputs not in OUTPUTS:
        raise InputError(
            f"--outputs must be one of {', '.join(OUTPUTS)}. Received: {request.outputs[:100]}."
            + registry.nearest(request.outputs, OUTPUTS)
        )
    for flag, given in (("--max-bytes", request.max_bytes is not None), ("--outputs labels", request.answers_labels)):
        if given and request.graphs is not None and BYTES not in request.graphs:
            raise InputError(f"{flag} is for bytes-in files. Received: --graphs {','.join(request.graphs)}.")
    if request.answers_labels and not recipes.RECIPES[request.quantize].has_float and not is_wide(request.io):
        raise InputError(
            f"--outputs labels needs float for the probabilities. Received: --quantize {request.quantize} "
            "without --io float32."
        )
    if request.max_bytes is not None:
        from exporters.bytes_in.settings import MAX_BYTES, MIN_BYTES

        if not MIN_BYTES <= request.max_bytes <= MAX_BYTES:
            raise InputError(f"--max-bytes must be {MIN_BYTES} to {MAX_BYTES}. Received: {request.max_bytes}.")


def check_tokens(request: "ExportRequest") -> None:
    name = request.model or "token"
    received = f"the model {name}" if request.model else "a token model"
    for flag, is_given in (
        ("--graphs", request.graphs is not None),
        ("--max-bytes", request.max_bytes is not None),
        ("--outputs", request.outputs != OUTPUTS[0]),
    ):
        if is_given:
            models = ", ".join(registry.names(registry.PROJECTION))
            raise InputError(f"{flag} is for projection models ({models}). Received: {received}.")
    if request.checkpoint is None and not request.random_init:
        raise InputError(
            f"No trained {name} ships with the package: give --checkpoint DIR, or --random-init for untrained "
            "weights (size and speed only)."
        )
    if request.checkpoint is not None and request.random_init:
        raise InputError(f"Give --random-init or --checkpoint, not both. Received: {request.checkpoint}.")
    if request.preset is not None and not request.random_init:
        raise InputError(f"--preset is for --random-init. Received: {request.preset} with a checkpoint.")
    _check_mediapipe(request)
    _check_compression(request)
    for path in (request.eval_data, request.calibration_data, request.importance_data):
        if request.random_init and path is not None:
            raise InputError(f"--random-init has no tokenizer to read texts with. Received: {path}.")
    for flag, value, choices in (
        ("--task", request.task, TOKEN_TASKS),
        ("--fold", request.fold, FOLDS),
        ("--pooling", request.pooling, POOLINGS),
    ):
        if value is not None and value not in choices:
            raise InputError(
                f"{flag} of {received} must be one of {', '.join(choices)}. Received: {value}."
                + registry.nearest(value, choices)
            )
    if request.pooling is not None and request.token_task != EMBEDDING:
        raise InputError(
            f"--pooling is for --task {EMBEDDING}. Received: --task {request.token_task or 'read from the head'}."
        )


def _check_mediapipe(request: "ExportRequest") -> None:
    if not request.mediapipe:
        return
    if TFLITE not in request.target:
        raise InputError(f"--mediapipe is for .tflite files. Received: --target {','.join(request.target)}.")
    if request.random_init:
        raise InputError("--mediapipe needs a model with a vocabulary. Received: --random-init.")
    if request.text_pair_column is not None:
        raise InputError(
            f"--mediapipe is for single texts. Received: --text-pair-column {request.text_pair_column[:100]}."
        )
    if request.io == INT8:
        raise InputError("--mediapipe needs float answers. Received: --io int8.")


def _check_compression(request: "ExportRequest") -> None:
    wanted = request.compression
    if wanted is not None and request.model not in (None, *registry.compressible()):
        raise InputError(
            f"{registry.not_compressible(request.model)} Received: --model {request.model} with --prune-heads or the "
            "like; leave them out."
        )
    if wanted is not None and wanted.needs_rows and request.random_init:
        raise InputError(
            "Untrained weights have no importance to choose by: give --drop-layers top:K, --remove-heads or "
            "--head-importance random. Received: --random-init."
        )
    prunes = wanted is not None and wanted.prune_vocab
    if prunes and request.random_init:
        raise InputError("--prune-vocab needs a model with a vocabulary. Received: --random-init.")
    if prunes != bool(request.vocab_data):
        raise InputError(
            "--prune-vocab and --vocab-data FILE go together: the tokens of these texts stay. "
            f"Received: {'the first' if prunes else 'the second'} alone."
        )
    if request.importance_data is not None and (wanted is None or not wanted.needs_rows):
        raise InputError(
            "--importance-data is for --prune-heads, --prune-ffn and --drop-layers contribution:K. "
            f"Received: {request.importance_data} without."
        )
    if wanted is not None and wanted.needs_rows and (request.importance_data or request.calibration_data) is None:
        labels = " with labels" if wanted.needs_gradients else ""
        raise InputError(
            f"--importance-data FILE{labels} is needed to choose what is removed "
            "(default: --calibration-data; rows of --eval-data are never used). Received: neither."
        )
