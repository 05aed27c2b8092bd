"""Servers on loopback: an S3 store by moto, and a web server that can have ranges, failures and cut connections."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Web(ThreadingHTTPServer):
    """Files by path, and how the server behaves: see the attributes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.ranges = True
        self.failures = 0  # so many requests are answered 503
        self.cuts = 0  # so many answers end in the middle
        self.status: int | None = None  # every request is answered with it
        self.requests: list[str] = []
        self.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Answers GET."""

    server: Web
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        asked, web = self.headers.get("Range"), self.server
        web.requests.append(f"{self.path} {asked}")
        if web.status is not None:
            return self._send(web.status, b"")
        if web.failures > 0:
            web.failures -= 1
            return self._send(503, b"")
        data = web.files.get(self.path.partition("?")[0])
        if data is None:
            return self._send(404, b"")
        tag = f'"{hashlib.md5(data).hexdigest()}"'
        if not (web.ranges and asked):
            return self._send(200, data, ETag=tag)
        first, last = (int(part) for part in asked.removeprefix("bytes=").split("-"))
        if first >= len(data):
            return self._send(416, b"", **{"Content-Range": f"bytes */{len(data)}", "ETag": tag})
        part = data[first : last + 1]
        span = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
        return self._send(206, part, **{"Content-Range": span, "ETag": tag})

    def _send(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.server.cuts > 0 and data:
            self.server.cuts -= 1
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self.wfile.write(data)


@contextmanager
def web_server() -> Iterator[Web]:
    """A web server in a thread."""
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a moto server."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
