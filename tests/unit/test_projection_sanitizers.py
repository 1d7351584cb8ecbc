"""The core under AddressSanitizer and UndefinedBehaviorSanitizer, on the generated strings and on damaged configs."""

import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from models_tf.ops.projection import config as config_module
from support.projection_strings import CONFIGS, COUNT, cases

CORE = Path(config_module.__file__).parent
SOURCES = [CORE / name for name in ("config.cc", "text.cc", "hashing.cc", "projection.cc")]
DRIVER = Path(__file__).parents[1] / "native" / "sanitizer_driver.cc"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
DAMAGED_CONFIGS = 2000


def compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name):
            return name
    pytest.skip("no C++ compiler")


def build(command: str, flags: list[str], program: Path) -> Path:
    arguments = [command, "-std=c++17", *flags, f"-I{CORE}", *map(str, [*SOURCES, DRIVER]), "-pthread", "-o"]
    done = subprocess.run([*arguments, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, data: Path) -> str:
    done = subprocess.run([str(program), str(data)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def text_block(data: bytes) -> bytes:
    return struct.pack("=Q", len(data)) + data


def damaged_config(rng: random.Random) -> bytes:
    data = bytearray(rng.choice(CONFIGS).to_text().encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        kind = rng.random()
        if kind < 0.3:
            data[at] = rng.randrange(256)
        elif kind < 0.6:
            data[at : at + 1] = rng.choice((b"%", b";", b"=", b"9", b"-", b"\x00", b"=mixed", b"=4096"))
        elif kind < 0.8:
            del data[at : at + rng.randint(1, 9)]
        else:
            data += data[at:]
        if not data:
            break
    return bytes(data)


@pytest.fixture(scope="module")
def case_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("sanitizers") / "cases.bin"
    rng = random.Random(3)
    with path.open("wb") as file:
        for seed, config, texts in cases():
            file.write(text_block(config.to_text().encode()) + struct.pack("=QQ", seed, len(texts)))
            file.writelines(text_block(text) for text in texts)
        # A megabyte in one token, and in tokens of one byte.
        for config in CONFIGS[:4]:
            file.write(text_block(config.to_text().encode()) + struct.pack("=QQ", 0, 2))
            file.write(text_block(b"ab\xc3\xa9" * 250_000) + text_block(b"a " * 20_000))
        for _ in range(DAMAGED_CONFIGS):
            file.write(text_block(damaged_config(rng)) + struct.pack("=QQ", 0, 1) + text_block(b"some Words \xff"))
    return path


def sanitizers_work(command: str, folder: Path) -> bool:
    probe = folder / "probe.cc"
    probe.write_text("int main() { return 0; }\n")
    arguments = [command, *SANITIZE, str(probe), "-o", str(folder / "probe")]
    built = subprocess.run(arguments, capture_output=True, check=False)
    return built.returncode == 0 and subprocess.run([str(folder / "probe")], check=False).returncode == 0


@pytest.mark.slow
def test_core_is_clean_under_sanitizers_and_equals_its_portable_code(case_file, tmp_path):
    command = compiler()
    if not sanitizers_work(command, tmp_path):
        pytest.skip("the C++ compiler has no sanitizers here")
    # Without SSE2 the core takes the code that other processors run.
    plain = run(build(command, ["-O1", "-U__SSE2__"], tmp_path / "plain"), case_file)
    sanitized = run(build(command, ["-O1", *SANITIZE], tmp_path / "sanitized"), case_file)
    texts, refused, _ = plain.split()
    accepted = DAMAGED_CONFIGS - int(refused)
    assert int(texts) == COUNT + 8 + accepted
    assert int(refused) > DAMAGED_CONFIGS // 2, "most damaged configs must be refused"
    assert sanitized == plain
