"""No socket for a mere question: TensorFlow and tf2onnx import urllib3, which opens one to see whether there is IPv6.

For processes that are ours. Nothing is sent through that socket, but a command that opens none is easier to trust.
"""

import contextlib
import socket
import sys


def import_http_without_a_socket() -> None:
    """Imports urllib3 before anybody else does, if it is installed. It takes IPv6 as Python was built."""
    if "urllib3" in sys.modules:
        return
    has, socket.has_ipv6 = socket.has_ipv6, False
    try:
        with contextlib.suppress(ImportError):
            from urllib3.util import connection

            connection.HAS_IPV6 = has
    finally:
        socket.has_ipv6 = has
