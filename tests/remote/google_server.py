"""A server on loopback that speaks as much of Google's JSON API for objects as the client asks for.

It is a process of its own: Arrow's client holds the interpreter's lock while it opens an object.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from urllib.request import Request, urlopen

BUCKET = "corpus"


class Google(ThreadingHTTPServer):
    """The objects of one bucket, by name."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}
        self.generations: dict[str, int] = {}
        self.failures = 0  # so many requests are answered 503
        self.uploads: dict[str, bytes] = {}
        self.daemon_threads = True

    def put(self, name: str, data: bytes) -> None:
        """Write an object."""
        self.objects[name] = data
        self.generations[name] = self.generations.get(name, 1_700_000_000) + 1


class Handler(BaseHTTPRequestHandler):
    """Metadata, lists, downloads, and uploads in pieces."""

    server: Google
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        pass

    def _asked(self) -> tuple[str, str, dict[str, str]]:
        """The bucket, the object and the query."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        bucket, _, name = parts.path.partition("/b/")[2].partition("/o")
        return unquote(bucket), unquote(name.removeprefix("/")), query

    def _about(self, name: str) -> dict[str, Any]:
        time = f"2024-01-01T00:00:{self.server.generations[name] % 60:02}.000Z"
        size, generation = str(len(self.server.objects[name])), str(self.server.generations[name])
        return {"kind": "storage#object", "bucket": BUCKET, "name": name, "size": size, "generation": generation,
                "metageneration": "1", "timeCreated": time, "updated": time}  # fmt: skip

    def do_GET(self) -> None:
        bucket, name, query = self._asked()
        store = self.server
        if self.path.startswith("/fail"):
            store.failures = int(query["times"])
            return self._send(200, b"")
        if store.failures > 0:
            store.failures -= 1
            return self._send(503, {"error": {"code": 503, "message": "busy"}})
        if bucket != BUCKET or (name and name not in store.objects):
            return self._send(404, {"error": {"code": 404, "message": "No such object or bucket"}})
        if query.get("alt") == "media":
            first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            data = store.objects[name]
            part = data[int(first) : int(last) + 1 if last else len(data)]
            return self._send(
                206, part, **{"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"}
            )
        if name:
            return self._send(200, self._about(name))
        if "/o" not in urlsplit(self.path).path:
            return self._send(200, {"kind": "storage#bucket", "name": bucket, "id": bucket})
        return self._send(200, self._listed(query.get("prefix", ""), query.get("delimiter", "")))

    def _listed(self, prefix: str, delimiter: str) -> dict[str, Any]:
        items, prefixes = [], set()
        for name in sorted(self.server.objects):
            rest = name.removeprefix(prefix)
            if name.startswith(prefix) and delimiter and delimiter in rest:
                prefixes.add(prefix + rest.partition(delimiter)[0] + delimiter)
            elif name.startswith(prefix):
                items.append(self._about(name))
        return {"kind": "storage#objects", "items": items, "prefixes": sorted(prefixes)}

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def do_POST(self) -> None:
        bucket, _, query = self._asked()
        body = self._body()
        if bucket != BUCKET:
            return self._send(404, {"error": {"code": 404, "message": "No such bucket"}})
        name = query.get("name") or json.loads(body)["name"]
        self.server.uploads[name] = b""
        host = self.headers["Host"]
        return self._send(200, {}, Location=f"http://{host}/upload/b/{BUCKET}/o?upload_id=1&name={name}")

    def do_PUT(self) -> None:
        _, _, query = self._asked()
        if self.path.startswith("/put"):
            self.server.put(query["name"], self._body())
            return self._send(200, b"")
        name, span = query["name"], self.headers.get("Content-Range", "bytes */0")
        self.server.uploads[name] += self._body()
        have = len(self.server.uploads[name])
        if span.endswith("/*"):
            return self._send(308, b"", Range=f"bytes=0-{have - 1}")
        self.server.put(name, self.server.uploads.pop(name))
        return self._send(200, self._about(name))

    def do_DELETE(self) -> None:
        self.server.objects.pop(self._asked()[1], None)
        self._send(204, b"")

    def _send(self, status: int, body: bytes | dict[str, Any], **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header(
            "Content-Type", "application/octet-stream" if isinstance(body, bytes) else "application/json"
        )
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Remote:
    """What a test does with the server besides."""

    def __init__(self, host: str) -> None:
        self.host = host

    def put(self, name: str, data: bytes) -> None:
        """Write an object."""
        urlopen(Request(f"{self.host}/put?name={quote(name)}", data=data, method="PUT")).close()

    def get(self, name: str) -> bytes:
        """Its bytes."""
        with urlopen(f"{self.host}/storage/v1/b/{BUCKET}/o/{quote(name, safe='')}?alt=media") as answer:
            found: bytes = answer.read()
        return found

    def fail(self, times: int) -> None:
        """Have so many requests answered 503."""
        urlopen(f"{self.host}/fail?times={times}").close()


@contextmanager
def google_server() -> Iterator[Remote]:
    """Such a server."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Remote(f"http://127.0.0.1:{process.stdout.readline().strip()}")
        process.kill()


if __name__ == "__main__":
    with Google() as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
