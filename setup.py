"""Compiles the projection libraries and copies code for devices into the wheel; the rest is in pyproject.toml.

Four shared libraries, each the dependency-free core and one wrapper, by direct calls of the system's
C++17 compiler. They use no Python interface and need no TensorFlow, TFLite or ONNX Runtime to build,
so one wheel serves every Python version of a platform: `py3-none-<platform>`.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

FOLDER = "models_tf/ops/projection"
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
# Library -> its wrapper. The names are those that models_tf.ops.projection.library looks for.
WRAPPERS = {
    "libexport_mobile_projection": f"{FOLDER}/c_api.cc",
    "libexport_mobile_tf": f"{FOLDER}/tf_op.cc",
    "libexport_mobile_tflite": f"{FOLDER}/tflite_op.cc",
    "libexport_mobile_ort": f"{FOLDER}/ort_op.cc",
}
CORE = sorted(path.as_posix() for path in Path(FOLDER).glob("*.cc") if path.as_posix() not in WRAPPERS.values())
HEADERS = sorted(str(path) for path in Path(FOLDER).glob("*.h"))
# No -march=native: a wheel must run on every machine of its platform.
FLAGS = ["-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
FLAGS += ["-ffunction-sections", "-fdata-sections", "-Wall"]
# Fused multiply-add would round the float features differently on ARM.
FLAGS += ["-ffp-contract=off"]
# The C++ library is linked in and hidden where the compiler can: the process that loads us (a conda
# Python, TensorFlow) may bring an older one.
STATIC = ["-static-libgcc", "-static-libstdc++", "-Wl,--exclude-libs,ALL,--gc-sections", "-s"]
# Segments fit pages of 16 KB, which some ARM machines have and Android 15 asks for; the default of x86 is 4.
STATIC += ["-Wl,-z,max-page-size=16384"]
PROBE = "#include <string_view>\n#include <thread>\nint main() { return std::string_view{}.empty() ? 0 : 1; }\n"
REMEDY = "Remedy: install g++ or clang++ (Debian: `apt install g++`; macOS: `xcode-select --install`), or set CXX."
# Code for devices, which commands hand out: these folders go into the wheel, too.
EXAMPLES = ("web", "android/exportmobile")
# Commands that end in the compiler; asking for it before setuptools starts keeps the error one line.
COMPILING = {"bdist_wheel", "build", "build_ext", "develop", "editable_wheel", "install"}


def compiles(command: list[str], flags: list[str], folder: Path) -> bool:
    source = folder / "probe.cc"
    source.write_text(PROBE)
    try:
        done = subprocess.run(
            [*command, "-std=c++17", "-pthread", *flags, str(source), "-o", str(folder / "probe")],
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def find_compiler() -> tuple[list[str], list[str]]:
    """The compiler's command and the link flags it takes; ends the build with one line when there is none."""
    wanted = os.environ.get("CXX")
    candidates = [shlex.split(wanted)] if wanted else [[name] for name in ("c++", "g++", "clang++")]
    for command in candidates:
        if not shutil.which(command[0]):
            continue
        for flags in (STATIC, []) if sys.platform != "darwin" else ([],):
            with tempfile.TemporaryDirectory() as folder:
                if compiles(command, flags, Path(folder)):
                    return command, flags
    tried = f"CXX={wanted}" if wanted else ", ".join(command[0] for command in candidates)
    raise SystemExit(
        f"export-mobile: expected a working C++17 compiler to build the projection op, received none (tried: {tried}). "
        + REMEDY
    )


class BuildLibraries(build_ext):
    """Calls the compiler itself: what comes out is a plain shared library, not a Python module."""

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split("."))) + SUFFIX

    def build_extensions(self) -> None:
        self.command, self.static_flags = find_compiler()
        self.objects: dict[str, str] = {}
        for extension in self.extensions:
            self.build_extension(extension)

    def build_extension(self, extension: Extension) -> None:
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved: a library that a running process has loaded must not be overwritten.
        partial = target.with_suffix(".tmp")
        flags = ["-shared", "-pthread", *self.static_flags]
        if sys.platform == "darwin":
            # TensorFlow's symbols are there only when it loads the library.
            flags.append("-Wl,-undefined,dynamic_lookup")
        self.call_compiler([*(self.compile(source) for source in extension.sources), *flags, "-o", str(partial)])
        partial.replace(target)

    def compile(self, source: str) -> str:
        """The object file of `source`, compiled once for all libraries."""
        if source not in self.objects:
            target = Path(self.build_temp, source).with_suffix(".o")
            target.parent.mkdir(parents=True, exist_ok=True)
            self.call_compiler([*FLAGS, "-pthread", "-c", source, "-o", str(target)])
            self.objects[source] = str(target)
        return self.objects[source]

    def call_compiler(self, arguments: list[str]) -> None:
        command = [*self.command, *arguments]
        self.announce(shlex.join(command), level=2)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.stderr.write(done.stderr)
            raise SystemExit(
                f"export-mobile: expected {self.command[0]} to compile the projection op, received exit code"
                f" {done.returncode} (its message stands above). {REMEDY}"
            )


class BuildModules(build_py):
    """Also copies the folders of examples/ that `exporters.example_files` finds in an installed package."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the checkout has them
            return
        for name in EXAMPLES:
            target = Path(self.build_lib, "exporters/example_files", name)
            unwanted = shutil.ignore_patterns("build", "engines", "test")
            shutil.copytree(Path("examples", name), target, dirs_exist_ok=True, ignore=unwanted)


class PlatformWheel(bdist_wheel):
    """Tags the wheel for the platform, not for one Python: no library uses CPython's interface."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


if COMPILING.intersection(sys.argv):
    find_compiler()
setup(
    distclass=PlatformDistribution,
    cmdclass={"build_ext": BuildLibraries, "build_py": BuildModules, "bdist_wheel": PlatformWheel},
    ext_modules=[
        Extension(f"{FOLDER.replace('/', '.')}.{name}", [*CORE, wrapper], depends=HEADERS)
        for name, wrapper in WRAPPERS.items()
    ],
)
