"""TensorFlow Lite for Android, 64-bit ARM, as an npm package ships it: runs .tflite files in it under qemu.

Android's library asks for Android's C library, so a small one stands in for it (tests/native/android_tflite) and the
names of symbol versions, which differ, are taken out of the file. Packages are looked for in NODE_PATH, under names
that say the version: `npm install --legacy-peer-deps android-tflite-2.14@npm:react-native-fast-tflite@1.4.0`.
"""

import io
import os
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).parents[1] / "native" / "android_tflite"
# Versions of TensorFlow Lite, and the releases of react-native-fast-tflite that hold them.
RELEASES = {"2.12": "1.0.0", "2.14": "1.4.0"}
_LIBRARY = "android/src/main/cpp/lib/tensorflow/jni/arm64-v8a/libtensorflowlite_jni.so"
_COMPILER, _EMULATOR, _ROOT = "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"
# Numbers of TfLiteType.
_TYPES = {1: np.float32, 2: np.int32, 3: np.uint8, 9: np.int8}
_SECONDS = 300
# Of an ELF file: where the table of segments is, the kind that holds the dynamic section, its entries for versions, and
# a number for the use of operating systems, which glibc skips.
_SEGMENTS_AT, _SEGMENT_SIZE_AT, _DYNAMIC, _UNUSED = 32, 54, 2, 0x6000000F
_VERSIONS = (0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF)


class RefusedError(Exception):
    """The runtime does not take the file, or died."""


def missing(version: str) -> str:
    """What is not there, "" if nothing."""
    if shutil.which(_COMPILER) is None:
        return f"{_COMPILER} (Debian package gcc-aarch64-linux-gnu)"
    if shutil.which(_EMULATOR) is None:
        return f"{_EMULATOR} (Debian package qemu-user)"
    if _library(version) is None:
        return f"the npm package android-tflite-{version}, in a folder that NODE_PATH names"
    return ""


def _library(version: str) -> Path | None:
    folders = [Path(folder) for folder in os.environ.get("NODE_PATH", "").split(os.pathsep) if folder]
    found = (folder / f"android-tflite-{version}" / _LIBRARY for folder in folders)
    return next((path for path in found if path.is_file()), None)


class AndroidTflite:
    """One version of the runtime, made ready in a folder."""

    def __init__(self, version: str, folder: Path) -> None:
        self.folder = folder
        (folder / "libtensorflowlite_jni.so").write_bytes(_without_versions(_library(version).read_bytes()))
        for name in ("libc", "libm", "libdl", "liblog"):
            source = "libc_shim.c" if name == "libc" else "nothing.c"
            options = ["-fPIC", "-shared", f"-Wl,-soname,{name}.so", "-Wl,--no-as-needed", "-lm", "-ldl"]
            _compile([str(SOURCES / source), *options, "-o", str(folder / f"{name}.so")])
        _compile([str(SOURCES / "run_rows.c"), "-ldl", "-o", str(folder / "run_rows")])

    def run(self, model: bytes, rows: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        """The answers of each row, by name, as the file gives them."""
        path = self.folder / "model.tflite"
        path.write_bytes(model)
        command = [_EMULATOR, "-cpu", "cortex-a76", "-L", _ROOT, "-E", f"LD_LIBRARY_PATH={self.folder}"]
        command += [str(self.folder / name) for name in ("run_rows", "libtensorflowlite_jni.so", "model.tflite")]
        given = b"".join(map(_packed, rows))
        done = subprocess.run(command, input=given, capture_output=True, timeout=_SECONDS, check=False)
        if done.returncode:
            raise RefusedError(f"exit code {done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}")
        answers = io.BytesIO(done.stdout)
        return [_unpacked(answers) for _ in rows]


def _compile(arguments: list[str]) -> None:
    done = subprocess.run([_COMPILER, "-O2", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _without_versions(library: bytes) -> bytes:
    """The library without the table that says which version of which library has a symbol: glibc's are others."""
    changed = bytearray(library)
    (segments,) = struct.unpack_from("<Q", changed, _SEGMENTS_AT)
    size, count = struct.unpack_from("<HH", changed, _SEGMENT_SIZE_AT)
    for segment in range(segments, segments + size * count, size):
        kind, start, length = struct.unpack_from("<I4xQ16xQ", changed, segment)
        if kind == _DYNAMIC:
            for entry in range(start, start + length, 16):
                if struct.unpack_from("<Q", changed, entry)[0] in _VERSIONS:
                    struct.pack_into("<Q", changed, entry, _UNUSED)
    return bytes(changed)


def _packed(row: Mapping[str, np.ndarray]) -> bytes:
    parts = [f"{len(row)}\n".encode()]
    for name, values in row.items():
        sizes = " ".join(map(str, values.shape))
        parts += [f"{name} {values.ndim} {sizes} {values.nbytes}\n".encode(), values.tobytes()]
    return b"".join(parts)


def _unpacked(stream: io.BytesIO) -> dict[str, np.ndarray]:
    found = {}
    for _ in range(int(stream.readline())):
        name, kind, _, *sizes, length = stream.readline().decode().split()
        values = np.frombuffer(stream.read(int(length)), _TYPES[int(kind)])
        found[name] = values.reshape([int(size) for size in sizes])
    return found
