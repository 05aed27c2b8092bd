"""What a run over paragraphs, and one over a web server, costs beside the same run over documents and a local file.

    python benchmarks/in_turns.py {paragraphs,http} CORPUS.parquet [REPEATS]

Each run is a process of its own with one thread, and the two take turns; the least CPU time of each counts. The web
server is another process on this machine, whose time does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from exact_copies import seconds


class Ranges(BaseHTTPRequestHandler):
    """Answers GET with the range that is asked for, of the one file that is served."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        size = Path(sys.argv[2]).stat().st_size
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        begin, end = int(first), min(int(last) + 1 if last else size, size)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - begin))
        self.send_header("ETag", '"1"')
        self.end_headers()
        with open(sys.argv[2], "rb") as file:  # noqa: PTH123
            self.wfile.flush()
            while begin < end and (
                sent := os.sendfile(self.connection.fileno(), file.fileno(), begin, end - begin)
            ):
                begin += sent


def serve() -> None:
    """Serves a file until it is stopped."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextmanager
def served(path: str) -> Iterator[str]:
    """The address of a file on a web server of its own."""
    process = subprocess.Popen([sys.executable, __file__, "serve", path], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/{Path(path).name}"
    finally:
        process.kill()


def compare(others: dict[str, list[str]], repeats: int) -> None:
    """Prints the seconds of each run, and the ratio to the first."""
    with tempfile.TemporaryDirectory() as folder:
        start = [sys.executable, "-m", "neardup", "dedup", "-o", folder, "--threads", "1", "--force"]
        found: dict[str, list[float]] = {name: [] for name in others}
        for _ in range(repeats):
            for name, words in others.items():
                found[name].append(seconds([*start, *words]))
    first = min(next(iter(found.values())))
    for name, values in found.items():
        print(f"{name:<12} {min(values):6.2f} s of CPU, {min(values) / first:.2f} times")


def main() -> None:
    """Prints one comparison."""
    what, corpus = sys.argv[1:3]
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    if what == "serve":
        serve()
    elif what == "paragraphs":
        compare({"documents": [corpus], "paragraphs": [corpus, "--unit", "paragraph"]}, repeats)
    else:
        with served(corpus) as address:
            compare({"local file": [corpus], "web server": [address]}, repeats)


if __name__ == "__main__":
    main()
