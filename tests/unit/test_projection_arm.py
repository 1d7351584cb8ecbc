"""The core and its C interface on ARM, cross-compiled and run under qemu, against the library of this machine."""

import hashlib
import itertools
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from models_tf.ops.projection import config as config_module
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection, as_bytes
from support.projection_golden import CASES, config_of, texts_of
from support.projection_strings import COUNT, cases

CORE = Path(config_module.__file__).parent
SOURCES = [CORE / name for name in ("config.cc", "text.cc", "hashing.cc", "projection.cc", "c_api.cc")]
DRIVER = Path(__file__).parents[1] / "native" / "c_api_driver.c"
# Android's two ARM ABIs, as Debian names them. Plain `char` is unsigned on both.
PLATFORMS = {"arm64-v8a": ("aarch64-linux-gnu", "qemu-aarch64"), "armeabi-v7a": ("arm-linux-gnueabihf", "qemu-arm")}
BATCH = 100  # padded to its longest text, so not all texts of a config at once

Group = tuple[int, ProjectionConfig, list[bytes]]


def groups() -> Iterator[Group]:
    for seed, config, texts in cases():
        for start in range(0, len(texts), BATCH):
            yield seed, config, texts[start : start + BATCH]
    for case in CASES:
        yield case["seed"], config_of(case), [as_bytes(text) for text in texts_of(case)]


def packed(group: Group) -> bytes:
    seed, config, texts = group
    settings = config.to_text().encode()
    offsets = [0, *itertools.accumulate(map(len, texts))]
    head = struct.pack("<qqq", config.feature_size, seed, len(settings)) + settings
    return head + struct.pack(f"<q{len(offsets)}q", len(texts), *offsets) + b"".join(texts)


def computed_here(group: Group) -> bytes:
    seed, config, texts = group
    host = HostProjection(config)
    features, lengths = host.project(texts, seed)
    exact, _ = host.project(texts, seed, "float32")
    return struct.pack("<q", features.shape[1]) + features.tobytes() + lengths.tobytes() + exact.tobytes()


def build(tools: str, folder: Path) -> Path:
    """A static program: qemu then needs no libraries of the platform."""
    done = subprocess.run(
        [f"{tools}-gcc", "-std=c99", "-Wall", f"-I{CORE}", "-c", DRIVER, "-o", "driver.o"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    flags = ["-std=c++17", "-O1", "-ffp-contract=off", "-static", "-pthread"]
    done = subprocess.run(
        [f"{tools}-g++", *flags, f"-I{CORE}", *SOURCES, "driver.o", "-o", "program"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "program"


@pytest.mark.slow
@pytest.mark.parametrize("abi", PLATFORMS)
def test_features_on_arm_are_those_of_this_machine_bit_for_bit(abi, tmp_path):
    tools, emulator = PLATFORMS[abi]
    for command, package in ((f"{tools}-g++", f"g++-{tools}"), (emulator, "qemu-user")):
        if not shutil.which(command):
            pytest.skip(f"no {command} here (Debian: apt install {package})")
    program = build(tools, tmp_path)
    expected, texts = hashlib.sha256(), 0
    with (tmp_path / "cases.bin").open("wb") as file:
        for group in groups():
            file.write(packed(group))
            expected.update(computed_here(group))
            texts += len(group[2])
    assert texts > COUNT
    command = [emulator, program, tmp_path / "cases.bin", tmp_path / "features.bin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    received = hashlib.sha256((tmp_path / "features.bin").read_bytes())
    assert received.hexdigest() == expected.hexdigest()
