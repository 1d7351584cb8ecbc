"""Chromium without a window, over its debugging pipe: opens a page, tells what it logged and what it asked for."""

import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models_tf.processes import tied

NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # there is none for root, as in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--remote-debugging-pipe",
)
_SECONDS = 60
_LOGGED = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    """The browser did not do what it was asked for; one line."""


class Browser:
    """One page. `logged` and `requested` are what it said and loaded since it was opened."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._rest = read, write, b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.logged: list[dict[str, Any]] = []
        self.requested: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, *, scheme: str = "light", width: int = 1280, height: int = 900) -> None:
        """Loads the file as a screen of that size and color scheme shows it."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.visit(path.resolve().as_uri())
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")

    def visit(self, address: str) -> None:
        self.logged.clear()
        self.requested.clear()
        self.call("Page.navigate", url=address)
        self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def evaluate(self, script: str, *, seconds: float = _SECONDS) -> Any:
        """The value of the script, which may be promised for later."""
        values = {"expression": script, "returnByValue": True, "awaitPromise": True}
        found = self._call("Runtime.evaluate", values, seconds)
        if "exceptionDetails" in found:
            raise BrowserError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the debugging protocol."""
        return self._call(method, parameters, _SECONDS)

    def _call(self, method: str, parameters: dict[str, Any], seconds: float) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda message: message.get("id") == number, seconds)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _until(self, wanted: Any, seconds: float = _SECONDS) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while True:
            while b"\0" not in self._rest:
                ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
                chunk = os.read(self._read, 1 << 20) if ready else b""
                if not chunk:
                    raise BrowserError(f"The browser gave no answer in {seconds:g} s.")
                self._rest += chunk
            line, _, self._rest = self._rest.partition(b"\0")
            message: dict[str, Any] = json.loads(line)
            method = message.get("method")
            if method in _LOGGED:
                self.logged.append(message["params"])
            elif method == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            if wanted(message):
                return message


@contextlib.contextmanager
def started(program: str, profile: Path) -> Iterator[Browser]:
    """The program gets a profile folder of its own, and is ended with the block."""
    (to_read, to_write), (from_read, from_write) = os.pipe(), os.pipe()
    # The browser reads from 3 and writes to 4, whatever numbers the pipes have here.
    script = f'exec 3<&{to_read} 4>&{from_write}; exec "$0" "$@"'
    process = subprocess.Popen(
        tied(["/bin/bash", "-c", script, program, *_FLAGS, f"--user-data-dir={profile}"]),
        pass_fds=(to_read, from_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(from_read, to_write)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()
        os.close(from_read)
        os.close(to_write)
