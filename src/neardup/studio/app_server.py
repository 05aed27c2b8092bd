"""The studio as a server of this process, on this machine alone: it prints its address and opens the browser."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from neardup.service.sockets import GracefulServer, listening_socket
from neardup.studio.app import Studio, make_app
from neardup.studio.app_session import Sessions
from neardup.studio.app_target import Target

__all__ = ["LOOPBACK", "StudioServer", "serve"]

LOOPBACK = "127.0.0.1"
GRACE = 5  # seconds for requests that are under way at the end


class StudioServer(GracefulServer):
    """A server that calls `ready` with its address once it listens."""

    def __init__(self, studio: Studio, ready: Callable[[str], None] = lambda address: None) -> None:
        config = uvicorn.Config(
            make_app(studio),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)
        self._studio, self._ready = studio, ready

    def report(self, host: str, port: int) -> None:
        """Says where the studio is."""
        self._ready(f"http://{host}:{port}/?token={self._studio.sessions.token}")


def serve(target: Target, port: int, *, browser: bool = True, say: Callable[[str], None] = print) -> None:
    """Shows the target until Ctrl-C or SIGTERM ends it."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="%(message)s")
    made = open_socket(port)
    studio = Studio(target, Sessions(made.getsockname()[1]))

    def ready(address: str) -> None:
        say(f"The studio of {target.name} is at\n  {address}\nCtrl-C ends it.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    StudioServer(studio, ready).run([made])


def open_socket(port: int) -> socket.socket:
    """A socket that listens on this machine; port 0 takes any free one."""
    return listening_socket(LOOPBACK, port)
