"""LiteRT.js in Chromium: finds the npm package `@litertjs/core` as node does and runs .tflite files in it."""

import contextlib
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from support import browser

PAGE = Path(__file__).parents[1] / "native" / "run_in_litert_js.html"
PACKAGE = "@litertjs/core"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}


class RefusedError(Exception):
    """LiteRT.js does not take the file."""


def missing() -> str:
    """What is not there, "" if nothing."""
    if browser.find() is None:
        return "Chromium (Debian package chromium)"
    if shutil.which("node") is None:
        return "node (Debian package nodejs)"
    return "" if _packages() else f"the npm package {PACKAGE}, in a folder that NODE_PATH names"


def _packages() -> Path | None:
    """The folder node_modules."""
    script = f"console.log(require.resolve.paths('{PACKAGE}').join('\\n'))"
    found = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout.splitlines()
    return next((Path(folder) for folder in found if Path(folder, PACKAGE, "package.json").is_file()), None)


def run(model: bytes, rows: np.ndarray, folder: Path) -> tuple[bytes, dict[str, Any]]:
    """The first output of all uint8 rows, and milliseconds: of starting the runtime, of loading, of each row."""
    with _served(model, rows) as (address, answers), browser.started(str(browser.find()), folder / "profile") as page:
        page.visit(address)
        times = page.evaluate(f"run({rows.shape[1]})")
    if "error" in times:
        raise RefusedError(times["error"])
    return b"".join(answers), times


def answers(model: bytes, feed: Mapping[str, np.ndarray], folder: Path) -> np.ndarray:
    """The first output, float32, of all rows of inputs of any type. The page asks the model for their order."""
    layout = [
        {"name": name, "dtype": values.dtype.name, "shape": [1, *values.shape[1:]]} for name, values in feed.items()
    ]
    rows = [
        np.ascontiguousarray(values[row]).tobytes()
        for row in range(len(next(iter(feed.values()))))
        for values in feed.values()
    ]
    with (
        _served(model, np.frombuffer(b"".join(rows), np.uint8)) as (address, sent),
        browser.started(str(browser.find()), folder / "profile") as page,
    ):
        page.visit(address)
        done = page.evaluate(f"runInputs({json.dumps(layout)})")
    if "error" in done:
        raise RefusedError(done["error"])
    return np.frombuffer(b"".join(sent), np.float32)


@contextlib.contextmanager
def _served(model: bytes, rows: np.ndarray) -> Iterator[tuple[str, list[bytes]]]:
    """An address of this machine, and what is sent to it."""
    answers: list[bytes] = []
    own = {"/": PAGE.read_bytes(), "/model.tflite": model, "/rows": rows.tobytes()}
    packages = _packages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.startswith("/npm/") and (packages / path.removeprefix("/npm/")).is_file():
                self._send((packages / path.removeprefix("/npm/")).read_bytes(), Path(path).suffix)
            elif path in own:
                self._send(own[path], ".html" if path == "/" else "")
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            answers.append(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(b"", "")

        def _send(self, body: bytes, suffix: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", _TYPES.get(suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
