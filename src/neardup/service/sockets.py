"""Sockets, a server that ends in order, and which Host headers mean it: for every server of this package."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
from collections.abc import Collection, Iterable, Iterator

import uvicorn

from neardup.errors import InputError

__all__ = ["BACKLOG", "GracefulServer", "listening_socket", "names_host"]

BACKLOG = 2048  # connections that wait to be accepted
PORT = re.compile(r":\d{1,5}$")


class GracefulServer(uvicorn.Server):
    """Stops on SIGTERM and SIGINT with exit code 0, after everything under way."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals on the event loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        yield

    def stop(self) -> None:
        """End after what is under way."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; then say where."""
        await super().startup(sockets)
        if self.started and sockets:
            self.report(*sockets[0].getsockname()[:2])

    def report(self, host: str, port: int) -> None:
        """Called once the server listens."""


def listening_socket(host: str, port: int, *, share_port: bool = False) -> socket.socket:
    """The socket of a server; an address that is in use is refused."""
    address = host.strip("[]")
    try:
        family, *_, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if share_port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(place)
        made.listen(
            BACKLOG
        )  # here, where it can fail: two servers can bind an address that neither listens on
    except OSError as problem:
        raise InputError(f"{address}:{port} cannot be listened on ({problem.strerror}).") from problem
    return made


def names_host(headers: Iterable[tuple[bytes, bytes]], hosts: Collection[str]) -> bool:
    """Whether the one Host header of a request names one of these hosts.

    A page whose name was bound to this address (DNS rebinding) sends its own name.
    """
    named = [value for name, value in headers if name == b"host"]
    host = named[0].decode("latin-1").strip().lower() if len(named) == 1 else ""
    return "*" in hosts or PORT.sub("", host).strip("[]") in hosts
