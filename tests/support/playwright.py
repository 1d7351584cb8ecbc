"""Chromium driven by Playwright in node: what people do with a page, and what it then shows."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exporters.runtimes import npm
from support import browser

SCRIPT = Path(__file__).parents[1] / "native" / "drive_page.cjs"
PACKAGES = ("playwright-core", npm.ORT_WEB, npm.LITERT_JS)
_SECONDS = 600  # as long as other tests run beside this one


def missing() -> str:
    """What is not there, "" if nothing."""
    if browser.find() is None:
        return "Chromium (Debian package chromium)"
    if shutil.which("node") is None:
        return "node (Debian package nodejs)"
    absent = [package for package in PACKAGES if npm.node_modules(package) is None]
    return f"the npm package {absent[0]}, in a folder that NODE_PATH names" if absent else ""


def drive(folder: Path, pages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each page gave: `answers` of its steps, `errors`, `requests`. See the script."""
    job, result = folder / "job.json", folder / "result.json"
    job.write_text(json.dumps({"program": browser.find(), "pages": list(pages)}))
    done = subprocess.run(
        ["node", str(SCRIPT), str(job), str(result)], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    found: list[dict[str, Any]] = json.loads(result.read_text())
    failed = [page["failed"] for page in found if "failed" in page]
    assert failed == []
    return found
