"""`export-mobile demo`: which files it serves and to whom, what it writes, and what it refuses."""

import base64
import hashlib
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from exporters import DemoRequest, InputError, demo, write_site
from exporters.commands import main as cli
from exporters.example_files import example_folder
from support import web_folders


@pytest.fixture(autouse=True)
def packages(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPORT_MOBILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NODE_PATH", str(web_folders.engines(tmp_path / "node_modules")))


@pytest.fixture
def folder(tmp_path):
    return web_folders.bytes_folder(tmp_path / "my model")


def port_of(page) -> int:
    return int(page.address.rsplit(":", 1)[1].strip("/"))


def ask(page, path, *, host="", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port_of(page), timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port_of(page)}")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def listening() -> set[tuple[str, int]]:
    """Addresses on which this process accepts connections, by /proc."""
    # The list has the descriptor that reads it, which is gone afterwards.
    own = {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if os.path.lexists(entry)}
    found = set()
    for table, width in (("tcp", 8), ("tcp6", 32)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state, inode = line.split()[1], line.split()[3], line.split()[9]
            if state == "0A" and f"socket:[{inode}]" in own:
                address, port = local.split(":")
                name = socket.inet_ntoa(bytes.fromhex(address)[::-1]) if width == 8 else address
                found.add((name, int(port, 16)))
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc/net/tcp")
def test_only_loopback_is_listened_on(folder):
    before = listening()
    with demo(DemoRequest(folders=(folder,))) as page:
        assert listening() - before == {("127.0.0.1", port_of(page))}
        for address in _other_addresses():
            with pytest.raises(OSError), socket.create_connection((address, port_of(page)), timeout=2):  # noqa: PT011
                pass
    assert listening() == before


def _other_addresses() -> list[str]:
    found = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    return [address for address in found if not address.startswith("127.")]


def test_page_models_and_engines_are_served_with_their_types(folder):
    with demo(DemoRequest(folders=(folder,))) as page:
        for path, kind in {
            "/": "text/html; charset=utf-8",
            "/index.html?x=1": "text/html; charset=utf-8",
            "/app.js": "text/javascript; charset=utf-8",
            "/style.css": "text/css; charset=utf-8",
            "/models.json": "application/json",
            "/models/my-model/projection.json": "application/json",
            "/models/my-model/labels.txt": "text/plain; charset=utf-8",
            "/models/my-model/bytes_int8.tflite": "application/octet-stream",
            "/engines/@litertjs/core/dist/index.js": "text/javascript; charset=utf-8",
            "/engines/onnxruntime-web/dist/ort.wasm.min.mjs": "text/javascript; charset=utf-8",
            "/engines/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm": "application/wasm",
        }.items():
            answer, body = ask(page, path)
            assert (answer.status, answer.headers["Content-Type"]) == (200, kind), path
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
            head, nothing = ask(page, path, method="HEAD")
            assert (head.status, nothing) == (200, b"")
            assert head.headers["Content-Length"] == str(len(body))
        assert json.loads(ask(page, "/models.json")[1]) == ["models/my-model"]


@pytest.mark.parametrize(
    "path",
    [
        "/models/my-model/private.txt",
        "/models/my-model/text_int8.tflite",  # needs an op that no browser has
        "/models/my-model/",
        "/models/my-model/../my-model/private.txt",
        "/models/my-model/..%2f..%2fsecret.txt",
        "/../secret.txt",
        "/..%5c..%5csecret.txt",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/etc/passwd",
        "/index.html%00.js",
        "http://127.0.0.1/etc/passwd",
    ],
)
def test_nothing_else_is_served(path, folder):
    (folder.parent / "secret.txt").write_text("secret")
    with demo(DemoRequest(folders=(folder,))) as page:
        answer, body = ask(page, path)
    assert answer.status == 404
    assert body == b"Not part of this page.\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(method, folder):
    with demo(DemoRequest(folders=(folder,))) as page:
        assert ask(page, "/", method=method)[0].status == 501


def test_a_request_for_another_host_is_refused(folder):
    with demo(DemoRequest(folders=(folder,))) as page:
        port = port_of(page)
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "0.0.0.0", " "):
            assert ask(page, "/models.json", host=host)[0].status == 421, host
        for host in (f"localhost:{port}", f"LOCALHOST:{port}"):
            assert ask(page, "/models.json", host=host)[0].status == 200


def test_a_link_out_of_the_folder_is_refused_before_and_while_it_is_served(folder, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    with demo(DemoRequest(folders=(folder,))) as page:
        (folder / "labels.txt").unlink()
        (folder / "labels.txt").symlink_to(tmp_path / "secret.txt")
        answer, body = ask(page, "/models/my-model/labels.txt")
        assert (answer.status, body) == (404, b"Not part of this page.\n")
    with pytest.raises(InputError, match=r"labels\.txt must be a file inside of"):
        demo(DemoRequest(folders=(folder,)))


def test_a_folder_that_is_a_link_itself_is_the_users_choice(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    with demo(DemoRequest(folders=(tmp_path / "link",))) as page:
        assert ask(page, "/models/my-model/labels.txt")[0].status == 200


def test_a_name_in_the_description_that_leaves_the_folder_is_not_served(tmp_path):
    entry = {**web_folders.BYTES_IN, **web_folders.LOGITS}
    folder = web_folders.bytes_folder(
        tmp_path / "out", files={"../secret.onnx": entry, "/etc/secret.onnx": entry, "bytes_int8.onnx": entry}
    )
    (tmp_path / "secret.onnx").write_text("secret")
    with demo(DemoRequest(folders=(folder,))) as page:
        assert ask(page, "/models/out/bytes_int8.onnx")[0].status == 200
        assert ask(page, "/models/secret.onnx")[0].status == 404


def test_folders_of_the_same_name_get_names_of_their_own(tmp_path):
    folders = tuple(web_folders.bytes_folder(tmp_path / place / "out") for place in "ab")
    with demo(DemoRequest(folders=folders)) as page:
        assert json.loads(ask(page, "/models.json")[1]) == ["models/out", "models/out-2"]


def test_a_site_holds_what_is_served_and_nothing_else(folder, tmp_path):
    site = write_site(DemoRequest(folders=(folder,), output=tmp_path / "site"))
    written = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    page = example_folder("web")
    own = {path.relative_to(page).as_posix() for path in page.rglob("*") if path.suffix in (".html", ".css", ".js")}
    assert written > own
    assert {name for name in written - own if not name.startswith("engines/")} == {
        "manifest.json",
        "models.json",
        "models/my-model/projection.json",
        "models/my-model/labels.txt",
        "models/my-model/bytes_int8.tflite",
        "models/my-model/bytes_int8.onnx",
    }
    with pytest.raises(InputError, match="`force`"):
        write_site(DemoRequest(folders=(folder,), output=tmp_path / "site"))
    assert write_site(DemoRequest(folders=(folder,), output=tmp_path / "site", force=True)) == site
    with pytest.raises(InputError, match=r"overlap|inside|apart"):
        write_site(DemoRequest(folders=(folder,), output=folder / "site"))


def test_without_engines_the_remedy_is_one_line(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NODE_PATH", str(tmp_path / "nowhere"))
    assert cli.main(["demo", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("Received: no package @litertjs/core. Run `export-mobile setup web`.")


def test_only_the_engines_of_the_files_are_needed(folder, tmp_path, monkeypatch):
    (tmp_path / "node_modules" / "@litertjs" / "core" / "package.json").unlink()
    document = json.loads((folder / "projection.json").read_text())
    document["files"] = {"bytes_int8.onnx": document["files"]["bytes_int8.onnx"]}
    (folder / "projection.json").write_text(json.dumps(document))
    with demo(DemoRequest(folders=(folder,))) as page:
        assert ask(page, "/")[0].status == 200


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "projection.json").unlink(), "has neither"),
        (lambda folder: (folder / "projection.json").write_text("{"), "must be JSON"),
        (lambda folder: (folder / "projection.json").write_text("[]"), "must list the model files"),
        (lambda folder: (folder / "projection.json").write_text('{"files": []}'), "must list the model files"),
        (lambda folder: (folder / "bytes_int8.onnx").unlink(), "names bytes_int8.onnx"),
        (
            lambda folder: (folder / "projection.json").write_text(
                json.dumps({"files": {"text_int8.tflite": {"input": {"dtype": "string"}, **web_folders.LOGITS}}})
            ),
            "--graphs bytes",
        ),
    ],
)
def test_a_folder_that_the_page_cannot_show_is_one_line(damage, said, folder, capsys):
    damage(folder)
    assert cli.main(["demo", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--port", "70000"], "--port must be 0"),
        (["--port", "80", "--output", "site"], "--port is for"),
        (["--force"], "--force is for --output"),
    ],
)
def test_flags_that_do_not_fit_are_one_line(flags, said, folder, capsys):
    assert cli.main(["demo", str(folder), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_port_that_is_taken_is_one_line(folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert cli.main(["demo", str(folder), "--port", str(taken.getsockname()[1])]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be opened" in line


def test_the_command_prints_its_address_and_ctrl_c_ends_it(folder):
    command = [sys.executable, "-m", "exporters", "demo", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready
        address = re.match(r"http://127\.0\.0\.1:(\d+)/ ", process.stdout.readline())
        assert address
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=10)
        connection.request("GET", "/models.json")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert (said, errors) == ("stopped\n", "")


def test_the_policy_of_the_page_allows_its_import_map_and_nothing_from_elsewhere():
    text = (example_folder("web") / "index.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    (inline,) = re.findall(r'<script type="importmap">(.*?)</script>', text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'self' 'wasm-unsafe-eval' 'sha256-{digest}'"
    assert rules["connect-src"] == "'self'"
    assert "unsafe-inline" not in policy
    assert "http" not in policy


def test_texts_go_into_the_page_as_text():
    for path in example_folder("web").glob("*.js"):
        source = path.read_text(encoding="utf-8")
        for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert name not in source, (path.name, name)
