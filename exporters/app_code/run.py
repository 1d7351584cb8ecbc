"""`android`: assets, a Kotlin class and the Java library of one export, into the folder of an app module."""

from collections.abc import Mapping
from pathlib import Path

from exporters.app_code import kotlin
from exporters.app_code.model import AppModel, open_model
from exporters.app_code.names import asset_name_of, check_class_name, class_name_of
from exporters.app_code.placing import Placing, checksum, recorded
from exporters.app_code.request import AndroidRequest
from exporters.app_code.result import AndroidResult
from exporters.example_files import example_folder
from exporters.request_fields import check_request
from models_tf.errors import InputError, naming_fields
from models_tf.folders.links import path_inside
from models_tf.folders.real_path import real_path

LIBRARY = "android/exportmobile"
SOURCES = "src/main/java"
PACKAGE = "exportmobile"
_ASSETS = "src/main/assets"
_KOTLIN = "src/main/kotlin"


def android(request: AndroidRequest) -> AndroidResult:
    """Do what the request says: write assets, class and library into the app module, all of it or nothing.

    Raises:
        InputError: a folder without a model that an app can run, a folder that is no app module, or files of others.
    """
    check_request(request, AndroidRequest)
    with naming_fields():
        _check_module(request.output)
        model = open_model(request.folder)
        assets = asset_name_of(real_path(request.folder).name)
        name = request.class_name or class_name_of(model.name, model.kind)
        check_class_name(name)
        source = _source(request, name)
        contents = _contents(request, model, source=source, name=name, assets=assets)
        outdated = _outdated(request, source, assets, model_file=f"{_ASSETS}/{assets}/{model.file}", contents=contents)
        owned = (f"{_ASSETS}/{assets}", f"{SOURCES}/{PACKAGE}")
        with Placing(request.output, contents, owned=owned, outdated=outdated, force=request.force) as placing:
            removed = placing.commit()
    return AndroidResult(
        output=request.output,
        package=request.package,
        class_name=name,
        kind=model.kind,
        pairs=model.pairs,
        file=model.file,
        assets=assets,
        library=not request.no_library,
        written=tuple(contents),
        removed=tuple(removed),
    )


def library_files() -> dict[str, bytes]:
    """The Java sources of the library, by path in an app module."""
    folder = example_folder(LIBRARY) / SOURCES / PACKAGE
    return {f"{SOURCES}/{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.java"))}


def _check_module(folder: Path) -> None:
    if not (folder / "src").is_dir() and any((folder / f"settings.gradle{end}").is_file() for end in ("", ".kts")):
        raise InputError(
            f"--output must be the folder of an app module, such as {folder / 'app'}. Received: {folder}, which is the "
            "project around it (settings.gradle)."
        )
    if not any((folder / name).is_file() for name in ("build.gradle.kts", "build.gradle")):
        received = "no build.gradle.kts in it" if folder.is_dir() else "no such folder"
        raise InputError(
            f"--output must be the folder of an app module, with its build.gradle.kts, such as MyProject/app. "
            f"Received: {folder} ({received})."
        )


def _source(request: AndroidRequest, name: str) -> str:
    """Where the class is written: beside the app's own Kotlin files, if they have a folder of theirs."""
    sources = _KOTLIN if (request.output / _KOTLIN).is_dir() else SOURCES
    return f"{sources}/{request.package.replace('.', '/')}/{name}.kt"


def _outdated(
    request: AndroidRequest, source: str, assets: str, *, model_file: str, contents: Mapping[str, bytes]
) -> list[str]:
    """Classes of this export under an earlier name or package. A class and a folder of the assets belong together:
    neither is taken from another export, except by force.
    """
    before = recorded(request.output)
    same_model = before.get(model_file) == checksum(contents[model_file])
    found = []
    for name in before:
        path = request.output / name
        if path.suffix != ".kt" or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if "AssetFiles(" not in text or (name == source) == (kotlin.reads(assets) in text):
            continue
        if name != source and (same_model or request.force):
            found.append(name)
        elif not request.force:
            raise InputError(
                f"{path} belongs to another export, which has the same name of a class or of a folder. "
                "Give --class-name or rename the export folder; --force replaces what is there."
            )
    return found


def _contents(request: AndroidRequest, model: AppModel, *, source: str, name: str, assets: str) -> dict[str, bytes]:
    text = kotlin.kotlin_class(model, package=request.package, name=name, assets=assets)
    contents = {f"{_ASSETS}/{assets}/{file}": path_inside(model.folder, file).read_bytes() for file in model.files}
    contents[source] = text.encode()
    if not request.no_library:
        contents |= library_files()
    return contents
