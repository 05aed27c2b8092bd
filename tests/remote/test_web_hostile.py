"""Web servers that lie: about sizes, ranges, encodings and places; each ends in one line, or in what was sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from neardup.documents import Problems, open_inputs
from neardup.errors import InputError
from neardup.remote import retries

LINE = b'{"id": "a", "text": "one"}\n'
RANGE = b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\nContent-Range: %s\r\n\r\n{"


class Liar:
    """Sends the same bytes to everybody, whatever they ask for, and closes the connection."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}/a.jsonl"
        self.answer, self.asked = b"", 0
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.asked += 1
                connection.recv(65536)
                connection.sendall(self.answer)


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Iterator[Liar]:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0)
    server = Liar()
    yield server
    server.listener.shutdown(
        socket.SHUT_RDWR
    )  # before it is closed: its number may be another socket's at once
    server.thread.join()
    server.listener.close()


def refusal(address: str) -> str:
    """What a run says of the address: an error of ours, or the problem of the file."""
    problems = Problems()
    try:
        for source in open_inputs([address]):
            for _ in source.read(["text"], problems):
                pass
    except InputError as error:
        return str(error)
    return problems.first[0].reason if problems.total else ""


@pytest.mark.parametrize(
    "answer",
    [
        RANGE % b"bytes 0-0/*",
        RANGE % b"bytes 0-0/-7",
        RANGE % (b"bytes 0-0/" + b"9" * 30),
        RANGE % (b"bytes 0-0/" + b"9" * 5000),
        RANGE % b"nonsense",
        RANGE % "bytes 0-0/²".encode("latin-1", "replace"),
        b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\n{",
        RANGE % b"bytes 0-0/1000000",  # and never more than a byte
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + LINE,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 27\r\n\r\n" + LINE,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/9.9 banana\r\n\r\n",
        b"\xff" * 1000,
        b"",
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/a\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /a.jsonl\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://a\x01b/\r\n\r\n",
        b"HTTP/1.1 302 Found\r\n\r\n",
        b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="a\r\n b"\r\n\r\n',
        b"HTTP/1.1 999 \x1b[31mred\r\n\r\n",
    ],
    ids=lambda answer: str(len(answer)),
)
def test_lies_are_one_line(liar: Liar, answer: bytes) -> None:
    liar.answer = answer
    said = refusal(liar.address)
    assert said and "\n" not in said and "\x1b" not in said
    assert liar.asked < 30


@pytest.mark.parametrize(
    "modified", ["Mon, 01 Jan 0001 00:00:00 -0000", "Fri, 31 Dec 9999 23:59:59 -2300", "x" * 5000, "1"]
)
def test_times_that_are_none_are_no_times(liar: Liar, modified: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nLast-Modified: {modified}\r\nContent-Length: {len(LINE)}\r\n\r\n"
    liar.answer = head.encode() + LINE
    assert refusal(liar.address) == ""
