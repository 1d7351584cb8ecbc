"""LiteRT.js in Chromium: runs .tflite files in the npm package `@litertjs/core`, in a browser without a window.

The page and the files are served to it on this machine alone. Each file gets a browser of its own.
"""

import contextlib
import json
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from exporters.runtimes import browser, npm
from exporters.runtimes.browser import BrowserError
from exporters.runtimes.row_jobs import Answer, Job, Row

PAGE = Path(__file__).with_name("run_in_litert_js.html")
_TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}
# Of one file: 200 rows of a small one take seconds, of one with 100 MB minutes.
_SECONDS = 600
_LONGEST = 300


def missing() -> str:
    """What is not there, "" if nothing."""
    if browser.find() is None:
        return "Chromium (Debian package chromium)"
    if npm.node_modules(npm.LITERT_JS) is None:
        return f"the npm package {npm.LITERT_JS} ({npm.REMEDY}, or in a folder that NODE_PATH names)"
    return ""


def version() -> str:
    folder = npm.node_modules(npm.LITERT_JS)
    return "" if folder is None else npm.version(folder, npm.LITERT_JS)


def run_rows(jobs: Sequence[Job]) -> list[Answer]:
    """An answer for each job; that of a file which LiteRT.js does not take says why."""
    return [run(job)[0] for job in jobs]


def run(job: Job) -> tuple[Answer, dict[str, Any]]:
    """Also the milliseconds: of starting the runtime, of loading, of each row."""
    inputs = [{"name": name, "sizes": [int(row[name].size) for row in job.rows]} for name in job.rows[0]]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="export-mobile-browser-", ignore_cleanup_errors=True) as profile,
            _served(job) as (address, answers),
            browser.started(str(browser.find()), Path(profile)) as page,
        ):
            page.visit(address)
            found = page.evaluate(f"run(0, {json.dumps(inputs)}, {len(job.rows)})", seconds=_SECONDS)
    except (BrowserError, OSError) as error:
        return Answer(error=" ".join(str(error).split())[:_LONGEST]), {}
    if "error" in found:
        return Answer(error=" ".join(found["error"].split())[:_LONGEST]), {}
    return Answer(rows=_rows(b"".join(answers), found["outputs"], len(job.rows))), found


def _rows(content: bytes, outputs: Sequence[dict[str, Any]], count: int) -> tuple[Row, ...]:
    """All outputs of the first row, then those of the second."""
    values, place, rows = np.frombuffer(content, np.float32), 0, []
    for _ in range(count):
        row = {}
        for output in outputs:
            size = int(np.prod(output["shape"]))
            row[output["name"]] = values[place : place + size].reshape(output["shape"])
            place += size
        rows.append(row)
    return tuple(rows)


@contextlib.contextmanager
def _served(job: Job) -> Iterator[tuple[str, list[bytes]]]:
    """An address of this machine, and what is sent to it."""
    answers: list[bytes] = []
    own = {"/": PAGE.read_bytes(), "/model/0": job.path.read_bytes()}
    for name in job.rows[0]:
        values = np.concatenate([row[name].ravel() for row in job.rows])
        own[f"/rows/0/{name}"] = values.astype(np.float32).tobytes()
    packages = npm.node_modules(npm.LITERT_JS) or Path()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path in own:
                self._send(own[path], ".html" if path == "/" else "")
            elif path.startswith("/npm/") and ".." not in path and (packages / path[5:]).is_file():
                self._send((packages / path[5:]).read_bytes(), Path(path).suffix)
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
