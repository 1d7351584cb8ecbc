"""The compiled libraries beside this module: where they are, and the host projection through ctypes.

`HostProjection` is the same C++ core as the ops, for features-in models and for tests; it needs only numpy. Leaves out
how the runtimes load their libraries (`layer.py` and the two loaders).
"""

import ctypes
import functools
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig

_ERROR_BYTES = 512
_MAX_CODES = 128


def library_path(name: str) -> Path:
    """Path of libexport_mobile_<name>, one of projection, tf, tflite and ort."""
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    path = Path(__file__).with_name(f"libexport_mobile_{name}{suffix}")
    if not path.is_file():
        raise InputError(
            f"The compiled library {path.name} is missing in {path.parent}. "
            "Remedy: in a checkout `pip install -e .`, or run from another folder after `pip install .`; "
            "both need a C++17 compiler."
        )
    return path


class HostProjection:
    """Texts to features on the host. Safe to use from several threads."""

    def __init__(self, config: ProjectionConfig) -> None:
        self.config = config
        self._library = load_library()
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        text = config.to_text().encode()
        self._handle = self._library.export_mobile_projection_create(text, len(text), error, _ERROR_BYTES)
        if not self._handle:
            raise InputError(error.value.decode())

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.export_mobile_projection_free(self._handle)
            self._handle = None

    def project(
        self, texts: Sequence[str | bytes], seed: int = 0, dtype: str = "int8", threads: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Features [batch, rows, feature_size] and lengths [batch] (int32).

        `rows` is `config.pad_to`, or the longest length; `dtype` is int8 or float32.
        """
        if dtype not in ("int8", "float32"):
            raise InputError(f"`dtype` must be int8 or float32. Received: {dtype!r}.")
        if isinstance(texts, str | bytes):
            raise InputError(f"`texts` must be a sequence of texts. Received: one {type(texts).__name__}.")
        encoded = [as_bytes(text) for text in texts]
        count = len(encoded)
        offsets = np.array([0, *itertools.accumulate(map(len, encoded))], dtype=np.int64)
        rows = ctypes.c_int64()
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        library = self._library
        batch = library.export_mobile_batch_create(
            self._handle,
            b"".join(encoded),
            offsets.ctypes.data,
            count,
            seed & 0xFFFFFFFFFFFFFFFF,
            np.dtype(dtype).itemsize,
            threads,
            ctypes.byref(rows),
            error,
            _ERROR_BYTES,
        )
        if not batch:
            raise InputError(error.value.decode())
        try:
            features = np.empty((count, rows.value, self.config.feature_size), dtype)
            lengths = np.empty(count, np.int32)
            write = getattr(library, f"export_mobile_batch_write_{'int8' if dtype == 'int8' else 'float'}")
            if not write(self._handle, batch, threads, features.ctypes.data, lengths.ctypes.data):
                raise MemoryError("The projection ran out of memory. Remedy: a smaller batch.")
        finally:
            library.export_mobile_batch_free(batch)
        return features, lengths

    def normalize(self, text: str | bytes) -> bytes:
        """The text normalised as the config asks; a stage of `project`."""
        data = as_bytes(text)
        capacity = 3 * len(data) + 1  # a separator adds two spaces at most
        out = ctypes.create_string_buffer(capacity)
        size = self._library.export_mobile_normalize(self._handle, data, len(data), out, capacity)
        return out.raw[:size]

    def split(self, text: str | bytes) -> list[bytes]:
        """The tokens before lower-casing and filtering; a stage of `project`."""
        data = as_bytes(text)
        spans = (ctypes.c_int64 * (2 * len(data) + 2))()
        count = self._library.export_mobile_split(self._handle, data, len(data), spans, len(data) + 1)
        return [data[spans[2 * i] : spans[2 * i + 1]] for i in range(count)]

    def hash_codes(self, token: str) -> list[int]:
        """The 64-bit codes of a non-empty token; a stage of `project`."""
        data = token.encode()
        if not data:
            raise InputError("`token` must not be empty. Received: ''.")
        codes = (ctypes.c_uint64 * _MAX_CODES)()
        count = self._library.export_mobile_hash(self._handle, data, len(data), codes)
        return list(codes[:count])


def default_config_text() -> str:
    """Every key of the C++ config with its default, in the text form."""
    library = load_library()
    size = library.export_mobile_default_config(None, 0)
    out = ctypes.create_string_buffer(size + 1)
    library.export_mobile_default_config(out, size + 1)
    return out.value.decode()


def parse_error(config_text: str | bytes) -> str:
    """The core's objection to a config text; empty if it accepts it."""
    library = load_library()
    data = as_bytes(config_text)
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    handle = library.export_mobile_projection_create(data, len(data), error, _ERROR_BYTES)
    if handle:
        library.export_mobile_projection_free(handle)
    return error.value.decode()


def as_bytes(text: str | bytes) -> bytes:
    """A lone surrogate (JSON can hold one) becomes bytes that are not valid UTF-8, as on other paths."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)


@functools.cache
def load_library() -> ctypes.CDLL:
    path = library_path("projection")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError(f"The library {path.name} must load here. Received: {error}. Remedy: pip install .") from error
    pointer, size, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
    signatures: dict[str, tuple[object, list[object]]] = {
        "default_config": (size, [pointer, size]),
        "projection_create": (pointer, [text, size, pointer, size]),
        "projection_free": (None, [pointer]),
        "batch_create": (
            pointer,
            [pointer, text, pointer, size, ctypes.c_uint64, size, ctypes.c_int, pointer, pointer, size],
        ),
        "batch_write_int8": (ctypes.c_int, [pointer, pointer, ctypes.c_int, pointer, pointer]),
        "batch_write_float": (ctypes.c_int, [pointer, pointer, ctypes.c_int, pointer, pointer]),
        "batch_free": (None, [pointer]),
        "normalize": (size, [pointer, text, size, pointer, size]),
        "split": (size, [pointer, text, size, pointer, size]),
        "hash": (size, [pointer, text, size, pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"export_mobile_{name}")
        function.restype, function.argtypes = result, arguments
    return library
