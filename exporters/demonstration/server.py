"""Serves a `Site` to browsers of this machine: on 127.0.0.1 only, what its table has and nothing else.

A page elsewhere could have its own name resolve to 127.0.0.1 (DNS rebinding) and read the models: a request is answered
only if it asks for this machine by a name of its own.
"""

import contextlib
import shutil
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from exporters.demonstration.site import MODELS, START, Site
from models_tf.errors import InputError

ADDRESS = "127.0.0.1"
_NAMES = ("127.0.0.1", "localhost")
_SECONDS = 30  # a browser that says nothing for so long has left
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
}
_HEADERS: Mapping[str, str] = {
    # Isolated from other origins: exact clocks, and the threads of an engine if somebody turns them on.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest is in the page, for every server
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Server(ThreadingHTTPServer):
    """Listens once it is made. `port` 0 is any free one."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise InputError(
                f"--port {port} cannot be opened: {error.strerror or error}. Choose another, or none for any free one."
            ) from error

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves in the middle of an answer is nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "export-mobile", ""
    timeout = _SECONDS
    server: Server

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if self.headers.get("Host", "").lower() not in self._hosts():
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "This page is for browsers of this machine.")
            return
        name = unquote(urlsplit(self.path).path).removeprefix("/") or START
        site = self.server.site
        if name == MODELS:
            self._start(HTTPStatus.OK, name, len(site.models_json))
            if with_body:
                self.wfile.write(site.models_json)
            return
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(site.files[name].inside().open("rb"))
            except (KeyError, InputError, OSError):
                self._refuse(HTTPStatus.NOT_FOUND, "Not part of this page.")
                return
            size = file.seek(0, 2)
            file.seek(0)
            self._start(HTTPStatus.OK, name, size)
            if with_body:
                shutil.copyfileobj(file, self.wfile)

    def _hosts(self) -> set[str]:
        port = self.server.server_port
        return {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set())

    def _refuse(self, status: HTTPStatus, line: str) -> None:
        body = f"{line}\n".encode()
        self._start(status, "refused.txt", len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _start(self, status: HTTPStatus, name: str, size: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", _TYPES.get(PurePosixPath(name).suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(size))
        for header, value in _HEADERS.items():
            self.send_header(header, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing: the terminal shows the address."""
