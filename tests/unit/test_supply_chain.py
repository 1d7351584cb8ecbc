"""What CI installs is locked by hash, and a wheel has a list of its parts."""

import importlib.metadata
import json
import re
import runpy
import zipfile
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "lock.txt").read_text(encoding="utf-8")
SBOM = runpy.run_path(str(ROOT / "tools" / "write_sbom.py"))
WRITER = runpy.run_path(str(ROOT / "tools" / "write_lock.py"))
LOCKED = SBOM["read_lock"](LOCK)
INSTALL = (
    "pip install --require-hashes --no-deps -r requirements/lock.txt",
    'pip install --no-build-isolation -e ".[test]"',
)


def wanted():
    """Every requirement of `.[test]` that pyproject.toml states, and what it builds with."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader for TOML")
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, texts, extras = document["project"], [*document["build-system"]["requires"]], ["test"]
    texts += project["dependencies"]
    while extras:
        for text in project["optional-dependencies"][extras.pop()]:
            requirement = Requirement(text)
            if requirement.name == project["name"]:
                extras += requirement.extras
            else:
                texts.append(text)
    return [Requirement(text) for text in texts]


def test_every_locked_package_has_its_hash_but_torch():
    assert len(LOCKED) > 100
    assert [name for name, entry in LOCKED.items() if entry.sha256 is None] == ["torch"]
    lines = [line for line in LOCK.splitlines() if line and not line.lstrip().startswith("#")]
    assert len(lines) == 2 * (len(LOCKED) - 1)  # a pin and its hash, nothing that pip would read otherwise


def test_the_lock_names_no_host_and_no_path():
    assert not re.search(r"://|@ |file:|--(?:index|extra|find|trusted)|(?:^|\s)/\w", LOCK)


def test_the_locked_versions_are_in_the_ranges_of_the_project():
    for requirement in wanted():
        if requirement.marker is None or requirement.marker.evaluate({"python_version": "3.11"}):
            entry = LOCKED[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(entry.version, prereleases=True), (str(requirement), entry.version)


def test_the_lock_has_everything_that_the_installed_packages_ask_for():
    seen, waiting = set(), [(canonicalize_name(one.name), extra) for one in wanted() for extra in ("", *one.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        assert name in LOCKED
        try:
            texts = importlib.metadata.requires(name) or ()
        except importlib.metadata.PackageNotFoundError:
            continue  # a smaller environment than that of tests
        for text in texts:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({**default_environment(), "extra": extra}):
                waiting += [(canonicalize_name(requirement.name), each) for each in ("", *requirement.extras)]
    assert len(seen) > 100


@pytest.mark.parametrize("place", [".ci/run", "README.md", "CONTRIBUTING.md"])
def test_ci_installs_from_the_lock_as_the_pages_say(place):
    text = (ROOT / place).read_text(encoding="utf-8")
    assert [text.count(line) for line in INSTALL] == [1, 1]
    assert text.index(INSTALL[0]) < text.index(INSTALL[1])


def test_the_lock_says_how_it_is_installed_and_torch_by_which_version():
    assert " && ".join(INSTALL) in LOCK
    exact = next(str(one.specifier) for one in wanted() if one.name == "torch")
    assert exact == f"=={LOCKED['torch'].version}"


def test_a_lock_is_written_from_a_report_of_pip():
    def one(name, version, requires=(), **place):
        metadata = {"name": name, "version": version, "requires_dist": list(requires)}
        return {"metadata": metadata, "download_info": {"url": "https://host.example/x", **place}}

    digest = "ab" * 32
    archive = {"archive_info": {"hashes": {"sha256": digest}}}
    written = WRITER["lock"](
        [
            one("export-mobile", "0.2", ["A_b>=1", 'c; extra == "test"', 'gone; extra == "docs"'], dir_info={}),
            one("A_b", "1.5", ["c[more]"], **archive),
            one("c", "2", ['torch; extra == "more"'], **archive),
            one("torch", "2.13.0+cpu", **archive),
            one("setuptools", "80", **archive),
        ]
    )
    assert f"a-b==1.5 \\\n    --hash=sha256:{digest}\n    # via export-mobile\n" in written
    assert f"c==2 \\\n    --hash=sha256:{digest}\n    # via a-b, export-mobile\n" in written
    assert "# torch==2.13.0 (by version alone, see tools/write_lock.py)\n    # via c\n" in written
    assert "host.example" not in written
    assert list(SBOM["read_lock"](written)) == ["a-b", "c", "setuptools", "torch"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Metadata in its place, as a wheel has it: building a real one takes a compiler and a minute."""
    path = tmp_path_factory.mktemp("wheel") / "export_mobile-0.0-py3-none-any.whl"
    extras = wanted_metadata()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export_mobile-0.0.dist-info/METADATA", extras)
    return path


def wanted_metadata():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader for TOML")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = ["Metadata-Version: 2.4", "Name: export-mobile", "Version: 0.0", f"Summary: {project['description']}"]
    lines += [
        f"License-Expression: {project['license']}",
        *(f"Requires-Dist: {one}" for one in project["dependencies"]),
    ]
    for extra, texts in project["optional-dependencies"].items():
        for text in texts:
            head, _, marker = text.partition(";")
            condition = f"({marker.strip()}) and extra == '{extra}'" if marker else f"extra == '{extra}'"
            lines.append(f"Requires-Dist: {head.strip()}; {condition}")
    return "\n".join(lines) + "\n\n"


def test_the_sbom_lists_what_the_wheel_needs_with_versions_and_hashes_of_the_lock(wheel):
    document = SBOM["sbom"](wheel, LOCKED)
    parts = {part["name"]: part for part in document["components"]}
    assert (parts["onnxruntime"]["scope"], parts["tensorflow"]["scope"]) == ("required", "optional")
    assert parts["protobuf"]["scope"] == "required"  # onnx asks for it
    assert not parts.keys() & {"pytest", "mkdocs", "mypy", "export-mobile"}
    for name, part in parts.items():
        assert part["version"] == LOCKED[name].version
        assert ("hashes" in part) is (name != "torch")


def test_the_sbom_has_the_form_of_cyclonedx_and_is_the_same_every_time(wheel):
    document = SBOM["sbom"](wheel, LOCKED)
    assert json.dumps(document) == json.dumps(SBOM["sbom"](wheel, LOCKED))
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    everything = [document["metadata"]["component"], *document["components"]]
    refs = [part["bom-ref"] for part in everything]
    assert len(set(refs)) == len(refs)
    assert [entry["ref"] for entry in document["dependencies"]] == refs
    assert {ref for entry in document["dependencies"] for ref in entry["dependsOn"]} == set(refs[1:])
    for part in everything:
        assert part["type"] in ("application", "library")
        assert re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[A-Za-z0-9.%-]+", part["purl"])
        for found in part.get("hashes", ()):
            assert found["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", found["content"])
