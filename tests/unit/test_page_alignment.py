"""Every native library that we ship or build for Android fits pages of 16 KB, as Android 15 and Google Play demand."""

import platform
import shutil
import struct
from pathlib import Path

import pytest

from models_tf.ops.projection import library
from support import android_jvm

PAGE = 16384
WHEEL = sorted(Path(library.__file__).parent.glob("*.so"))
JNI = android_jvm.PROJECT / "exportmobile-jni" / "src" / "main" / "cpp"
PT_LOAD, ET_DYN = 1, 3


def alignments(path: Path) -> list[int]:
    """Of all segments that are loaded, from the program headers of a 64-bit little-endian ELF file."""
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", f"{path.name} is no 64-bit ELF file"
    assert struct.unpack_from("<H", data, 16)[0] == ET_DYN
    start, size, count = (*struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54))
    headers = [struct.unpack_from("<IIQQQQQQ", data, start + size * at) for at in range(count)]
    return [header[7] for header in headers if header[0] == PT_LOAD]


def build(folder: Path, compiler: str) -> Path:
    """The JNI library through its CMakeLists.txt. Its Android branch leaves jni.h to the NDK: here the JDK has it."""
    for program in ("cmake", compiler, "javac"):
        if not shutil.which(program):
            pytest.skip(f"no {program} here (Debian: cmake, g++-aarch64-linux-gnu, default-jdk-headless)")
    include = Path(shutil.which("javac") or "").resolve().parents[1] / "include"
    settings = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS=-I{include} -I{include / 'linux'}"]
    android_jvm.call("cmake", "-S", JNI, "-B", folder, "-DANDROID=ON", *settings)
    android_jvm.call("cmake", "--build", folder, "--parallel", "2")
    return folder / "libexport_mobile_jni.so"


@pytest.mark.skipif(not WHEEL, reason="the libraries are not compiled here, or not ELF files")
def test_the_four_libraries_of_the_wheel_fit_pages_of_16_kb():
    assert len(WHEEL) == 4
    assert {path.name: min(alignments(path)) >= PAGE for path in WHEEL} == {path.name: True for path in WHEEL}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["aarch64-linux-gnu-g++", "g++"])
def test_the_jni_library_fits_pages_of_16_kb_for_arm64_and_x86_64(compiler, tmp_path):
    found = alignments(build(tmp_path, compiler))
    assert len(found) >= 2
    assert min(found) >= PAGE


def test_without_the_flag_for_android_a_linker_for_x86_64_takes_4_kb(tmp_path):
    """So the test above can fail: 4 KB is what binutils of 2018 and later takes by itself."""
    if platform.machine() != "x86_64":
        pytest.skip("the default of other processors is larger")
    if not shutil.which("g++"):
        pytest.skip("no g++ here")
    (tmp_path / "a.cc").write_text("int answer() { return 42; }\n")
    android_jvm.call("g++", "-shared", "-fPIC", tmp_path / "a.cc", "-o", tmp_path / "a.so")
    assert min(alignments(tmp_path / "a.so")) < PAGE
