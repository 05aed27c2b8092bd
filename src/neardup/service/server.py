"""A server in this process: signals, TLS, and the sockets it listens on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial

import uvicorn

from neardup.index.index import Index
from neardup.service.app import make_app
from neardup.service.core import Service
from neardup.service.logs import Log, ServerLog
from neardup.service.protocol import BoundedProtocol
from neardup.service.settings import LARGEST_HEAD, Settings
from neardup.service.sockets import BACKLOG, GracefulServer, listening_socket
from neardup.service.tokens import AccessTokens

GRACE = 30  # seconds for requests that are under way when the server has to stop
OTHER_FILES = 256  # that a server needs beside its connections: segments, the database
SWITCH = 0.001  # seconds after which a thread in Python code lets the event loop run


class Server(GracefulServer):
    """Stops in order, and reads tokens again on SIGHUP."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals on the event loop."""
        with super().capture_signals():
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._service.reload_tokens)
            yield

    def stop(self) -> None:
        """End after what is under way; new requests are refused."""
        self._service.stopping = True
        super().stop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; then say where."""
        if (
            self.config.is_ssl
        ):  # a minute to shake hands would be one to hold a connection that no limit counts
            loop, seconds = asyncio.get_running_loop(), self._service.settings.limits.head_seconds
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=seconds)  # type: ignore[method-assign]
        await super().startup(sockets)

    def report(self, host: str, port: int) -> None:
        """Log where the server listens."""
        self._service.log.line("listening", host=host, port=port, tls=self.config.is_ssl)


def serve(index: Index, settings: Settings) -> None:
    """Answer requests about an index until a signal ends it."""
    tokens = AccessTokens(settings.tokens)
    settings.check(len(tokens) > 0)
    log = Log()
    service = Service(index, settings, tokens, log)
    service.warm_up()
    gc.collect()
    gc.freeze()  # what lives as long as the server is not searched for garbage again: that takes a tenth of a second
    sys.setswitchinterval(SWITCH)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers = [ServerLog(log)] if name == "uvicorn" else []
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn").propagate = False
    try:
        made = listening_socket(
            settings.host, settings.port, share_port=settings.share_port
        )  # after the warm-up: whoever connects is answered at once
        Server(_configuration(service), service).run([made])
    finally:
        log.close()


def _configuration(service: Service) -> uvicorn.Config:
    settings, limits = service.settings, service.settings.limits
    values = {
        "head_seconds": limits.head_seconds,
        "answer_seconds": limits.seconds,
        "most": possible_connections(limits.connections),
    }
    protocol = type("ServiceProtocol", (BoundedProtocol,), values)
    return uvicorn.Config(
        make_app(service),
        http=protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )


def possible_connections(asked: int) -> int:
    """The connections that the process may have files for; without a file, no question could be answered either."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        limit = most
    return asked if limit == resource.RLIM_INFINITY else max(1, min(asked, limit - OTHER_FILES))
