"""`demo` serves the page for exported folders on this machine; `write_site` writes it for any server."""

import threading
from pathlib import Path
from types import TracebackType

from exporters.demonstration.models import read_model
from exporters.demonstration.request import DemoRequest
from exporters.demonstration.server import Server
from exporters.demonstration.site import MODELS, Site, build_site
from exporters.request_fields import check_request
from models_tf.errors import InputError, naming_fields
from models_tf.folders.output_folder import OutputFolder


class Demo:
    """A page that is served: `with demo(request) as page: print(page.address)`. Ends with the block, or `close`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where a browser of this machine finds the page."""
        return self._server.address

    def wait(self) -> None:
        """Until `close`, or Ctrl-C."""
        self._thread.join()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> "Demo":  # noqa: PYI034 - typing.Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@naming_fields()
def demo(request: DemoRequest) -> Demo:
    """Serve the page that the request describes on 127.0.0.1, in a thread of its own.

    Raises:
        InputError: a folder that the page cannot show, engines that are not installed, a port that is taken.
    """
    check_request(request, DemoRequest)
    if request.output is not None:
        raise InputError("demo serves a page. Received: --output, which write_site takes.")
    return Demo(Server(_site(request), request.port))


@naming_fields()
def write_site(request: DemoRequest) -> Path:
    """Write page, engines and models to the request's `output`, complete or not at all, for any static server.

    Raises:
        InputError: a folder that the page cannot show, engines that are not installed, an output that is not free.
    """
    check_request(request, DemoRequest)
    if request.output is None:
        raise InputError("write_site needs --output, the folder to write. Received: none.")
    site = _site(request)
    inputs = [("DIR", folder) for folder in request.folders]
    with OutputFolder(request.output, command="demo", force=request.force, inputs=inputs) as out:
        for name, kept in site.files.items():
            (out.staging / name).parent.mkdir(parents=True, exist_ok=True)
            out.write(name, kept.inside().read_bytes())
        out.write(MODELS, site.models_json)
        out.commit()
    return out.path


def _site(request: DemoRequest) -> Site:
    return build_site([read_model(folder) for folder in request.folders])
