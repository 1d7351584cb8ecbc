"""`export-mobile demo`: its flags and its run. The work is in `exporters/demonstration`."""

import argparse
import signal
from pathlib import Path

from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.demonstration.request import DemoRequest
from exporters.errors import EXIT_PASS

DESCRIPTION = (
    "Try exported models on a page in the browser, with LiteRT.js and ONNX Runtime Web. Serves it on 127.0.0.1 until "
    "Ctrl-C, to browsers of this machine only; --output writes it for any server instead. The engines come from "
    "`export-mobile setup web`."
)
EXAMPLES = (
    "export-mobile demo export-mobile-out/prado-snips-int8 --open",
    "export-mobile demo small large --output site",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="DIR", help="folders that export-mobile wrote")
    add("--port", type=int, metavar="N", help="port of 127.0.0.1 (default: any free one)")
    add("--open", action="store_true", help="open the page in your browser")
    flags.add_output(parser, "write the page to this folder in place of serving it", metavar="SITE")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = DemoRequest(**request_values(options, DemoRequest))
    from exporters.demonstration.run import demo, write_site

    if wanted.output is not None:
        folder = write_site(wanted)
        files = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        terminal.show(f"{folder}: {len(files)} files, {size:.1f} MB; put them on any server")
        return EXIT_PASS
    with demo(wanted) as page:
        # Here Ctrl-C is how it ends, not how it is cut off.
        usual = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            terminal.show(f"{page.address} (Ctrl-C ends it)")
            if options.open:
                import webbrowser

                webbrowser.open(page.address)
            page.wait()
        except KeyboardInterrupt:
            terminal.show("stopped")
        finally:
            signal.signal(signal.SIGINT, usual)
    return EXIT_PASS
