"""examples/android/exportmobile-jni on this machine: the native library in a desktop JVM."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from models_tf.data.text import clean_text
from models_tf.ops.projection import config as config_module
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from support import android_jvm, hostile_strings
from support.tokenizers_elsewhere import as_utf16

CORE = Path(config_module.__file__).parent
JNI = android_jvm.PROJECT / "exportmobile-jni" / "src" / "main"
JAVA = Path(__file__).parents[1] / "native" / "ProjectionOnJvm.java"
CONFIG = ProjectionConfig(feature_size=64, features="mixed", pad_to=6, presence_feature=True)
TEXTS = [
    "Play some jazz, please!",
    "",
    "what's the weather in São Paulo at 7",
    "😀 日本 a\0b",
    "one two three four five six",
]


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    javac = shutil.which("javac")
    if not javac:
        pytest.skip("no JDK here (Debian: apt install default-jdk-headless)")
    include = Path(javac).resolve().parents[1] / "include"
    if not (include / "jni.h").is_file():
        pytest.skip(f"no jni.h in {include}")
    compiler = next(
        (name for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name and shutil.which(name)), ""
    )
    if not compiler:
        pytest.skip("no C++ compiler")
    path = tmp_path_factory.mktemp("jni") / "libexport_mobile_jni.so"
    sources = [
        JNI / "cpp" / "projection_jni.cc",
        *(CORE / f"{name}.cc" for name in ("config", "text", "hashing", "projection")),
    ]
    includes = [f"-I{folder}" for folder in (CORE, include, include / "linux", include / "darwin")]
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", *includes, *sources, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    classes = [android_jvm.LIBRARY / "exportmobile" / "FeatureSource.java", *android_jvm.java_files(JNI / "java")]
    android_jvm.compile_java(path.parent, classes, old=True)
    return path


def run(
    library: Path, config_text: str, values: int, folder: Path, texts: Sequence[str] = TEXTS
) -> subprocess.CompletedProcess[str]:
    (folder / "texts").write_bytes("\n".join(texts).encode("utf-16-be", "surrogatepass"))
    options = ["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xcheck:jni", "-Dfile.encoding=UTF-8"]
    options += [f"-Djava.library.path={library.parent}", "-cp", str(library.parent)]
    arguments = [config_text, str(values), folder / "texts", folder / "features"]
    return subprocess.run(["java", *options, JAVA, *arguments], capture_output=True, text=True, check=False)


def test_jni_library_gives_the_features_of_the_host(library, tmp_path):
    values = CONFIG.pad_to * CONFIG.feature_size
    done = run(library, CONFIG.to_text(), values, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr, "-Xcheck:jni found a fault"
    features, lengths = HostProjection(CONFIG).project(TEXTS)
    expected = b"".join(bytes([n]) + rows.tobytes() for n, rows in zip(lengths.tolist(), features, strict=True))
    assert (tmp_path / "features").read_bytes() == expected


def test_jni_library_gives_the_features_of_the_host_for_hostile_strings(library, tmp_path):
    texts = [as_utf16(text).replace("\n", " ") for text in hostile_strings.strings(400)]
    done = run(library, CONFIG.to_text(), CONFIG.pad_to * CONFIG.feature_size, tmp_path, texts)
    assert done.returncode == 0, done.stderr[-2000:]
    features, lengths = HostProjection(CONFIG).project([clean_text(text) for text in texts])
    expected = b"".join(bytes([n]) + rows.tobytes() for n, rows in zip(lengths.tolist(), features, strict=True))
    assert (tmp_path / "features").read_bytes() == expected


def test_jni_library_refuses_a_bad_config_and_a_bad_buffer_with_an_exception(library, tmp_path):
    config = run(library, "projection1:colour=red;pad_to=2", 64, tmp_path)
    assert (config.returncode, config.stderr.strip()) == (2, "Unknown projection setting. Received: 'colour'.")
    buffer = run(library, CONFIG.to_text(), 5, tmp_path)
    assert buffer.returncode == 2
    assert "must be a direct ByteBuffer of 384 bytes" in buffer.stderr
