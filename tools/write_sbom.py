"""Writes the parts list (SBOM, CycloneDX 1.6 in JSON) of a wheel: what it is, what it needs, in which versions.

    python -m build --wheel && python tools/write_sbom.py dist/export_mobile-*.whl --output dist/sbom.cdx.json

The wheel's metadata says what it asks for, requirements/lock.txt in which versions that was tested, by which hashes and
who asks for whom. Packages of the base install are `required`, those of the extras that a user installs `optional`;
what only tests and the documentation need is left out. The same wheel and lock give the same bytes.
"""

import argparse
import email
import hashlib
import json
import re
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).resolve().parents[1] / "requirements" / "lock.txt"
EXTRAS = ("export", "tflite-runtime", "torch", "hub")
_ENTRY = re.compile(
    r"^(?:# )?(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^\s;\\]+)[^\n]*\n"
    r"(?:    --hash=sha256:(?P<sha256>[0-9a-f]{64})\n)?(?:    # via (?P<via>[^\n]+)\n)?",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A package of the lock. `sha256` is None for one that is there by version alone."""

    name: str
    version: str
    sha256: str | None
    via: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    document = sbom(options.wheel, read_lock(LOCK.read_text(encoding="utf-8")))
    options.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def read_lock(text: str) -> dict[str, Locked]:
    return {
        found["name"]: Locked(
            name=found["name"],
            version=found["version"],
            sha256=found["sha256"],
            via=frozenset((found["via"] or "").split(", ")) - {""},
        )
        for found in _ENTRY.finditer(text)
    }


def sbom(wheel: Path, lock: Mapping[str, Locked]) -> dict[str, Any]:
    content = wheel.read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(place))
    own, digest = canonicalize_name(metadata["Name"]), hashlib.sha256(content).hexdigest()
    asked = {extra: names(metadata.get_all("Requires-Dist") or (), extra) for extra in ("", *EXTRAS)}
    required = closure(asked[""], lock)
    shipped = closure(set().union(*asked.values()), lock)
    root = {
        "type": "application",
        "bom-ref": purl(own, metadata["Version"]),
        "name": own,
        "version": metadata["Version"],
        "description": metadata["Summary"],
        "licenses": [{"expression": metadata["License-Expression"]}],
        "purl": purl(own, metadata["Version"]),
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }
    refs = {name: purl(name, lock[name].version) for name in sorted(shipped)}
    direct = set().union(*asked.values()) & refs.keys()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {"component": root},
        "components": [component(lock[name], required=name in required) for name in refs],
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": [refs[name] for name in sorted(direct)]},
            *(
                {"ref": ref, "dependsOn": [refs[other] for other in refs if name in lock[other].via]}
                for name, ref in refs.items()
            ),
        ],
    }


def component(package: Locked, *, required: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl(package.name, package.version),
        "name": package.name,
        "version": package.version,
        "scope": "required" if required else "optional",
        "purl": purl(package.name, package.version),
    }
    return found | ({"hashes": [{"alg": "SHA-256", "content": package.sha256}]} if package.sha256 else {})


def names(requirements: Iterable[str], extra: str) -> set[str]:
    """What is asked for with one extra, "" for none, on the Python of the lock."""
    found = set()
    for text in requirements:
        wanted = Requirement(text)
        if wanted.marker is None:
            applies = not extra
        else:
            applies = wanted.marker.evaluate({"extra": extra, "python_version": "3.11"}) and (
                not extra or not wanted.marker.evaluate({"extra": "", "python_version": "3.11"})
            )
        if applies:
            found.add(canonicalize_name(wanted.name))
    return found


def closure(wanted: Iterable[str], lock: Mapping[str, Locked]) -> set[str]:
    """These packages and all that they ask for."""
    found, waiting = set[str](), [name for name in wanted if name in lock]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other.name for other in lock.values() if name in other.via]
    return found


def purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version.replace('+', '%2B')}"


if __name__ == "__main__":
    main()
