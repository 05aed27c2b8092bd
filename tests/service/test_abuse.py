"""Clients that take more than their part: time, connections, memory, disk. Others are answered meanwhile."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from serving import Serving, edited, make_index, story

SECONDS = 2  # for an answer, for a body, and for reading an answer
LINES = {"content-type": "application/x-ndjson"}
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def posted(path: str, kind: str, body: bytes) -> bytes:
    """The bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    stored = [{"id": f"{n}-" + "x" * 400, "text": edited(story(1, 100), n)} for n in range(1000)]
    index = make_index(tmp_path_factory.mktemp("abuse") / "news.index", stored)
    made = Serving(index, "--timeout", str(SECONDS), "--max-stream", "256")
    yield made
    assert made.stop() == 0
    assert not made.events("bug")


@contextmanager
def others_are_answered(server: Serving, longest: float) -> Iterator[None]:
    """Ask for the health of the server all the time; no answer takes longer than so many seconds."""
    ended, times = threading.Event(), []

    def ask() -> None:
        with server.client() as client:
            while not ended.is_set():
                begin = time.perf_counter()
                assert client.get("/healthz").status_code == 200
                times.append(time.perf_counter() - begin)
                time.sleep(0.01)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        ended.set()
        asking.join(60)
    assert times and max(times) < longest, sorted(times)[-5:]


@pytest.mark.parametrize(
    ("piece", "status"),
    [(b"\n", 200), pytest.param(b" \n", 200, marks=pytest.mark.slow), (b" ", 413), (b"a", 413), (b"{", 413)],
    ids=repr,
)
def test_a_small_body_that_unpacks_to_much_stops_nobody(server: Serving, piece: bytes, status: int) -> None:
    body = gzip.compress(piece * (60_000_000 // len(piece)), 9)
    assert len(body) < 130_000
    memory = psutil.Process(server.process.pid)
    before = memory.memory_info().rss
    with others_are_answered(server, 3.0):
        answer = server.http.post(
            "/v1/query", content=body, headers={**LINES, "content-encoding": "gzip"}, timeout=120
        )
    assert answer.status_code == status, answer.text
    assert memory.memory_info().rss - before < 120 << 20


def test_answers_of_many_lines_are_limited(server: Serving) -> None:
    """Short questions with a thousand matches each: 20 MB unpacked would have answers of gigabytes."""
    line = json.dumps({"text": story(1, 100)}).encode() + b"\n"
    body = gzip.compress(line * 2000)
    answer = server.http.post(
        "/v1/query?limit=1000", content=body, headers={**LINES, "content-encoding": "gzip"}, timeout=300
    )
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (413, "urn:neardup:problem:answer-too-large")
    assert 0 < problem["done"]["answered"] < 2000


def test_who_does_not_read_loses_the_connection(server: Serving) -> None:
    """Requests without end, and nobody reads the answers: the connection and its buffers are given back."""
    process = psutil.Process(server.process.pid)
    body = json.dumps({"text": story(1, 100), "limit": 1000}).encode()
    for data in (HEALTH, posted("/v1/query", "application/json", body)):
        before = len(process.net_connections("tcp"))
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.settimeout(0.2)
            begin, lost = time.monotonic(), False
            while time.monotonic() - begin < 30 and not lost:
                try:
                    connection.sendall(data * 50)
                except TimeoutError:
                    continue
                except ConnectionError:
                    lost = True
            assert lost
        assert len(process.net_connections("tcp")) <= before
    assert server.http.get("/readyz").status_code == 200


def test_slow_readers_get_their_answer(server: Serving) -> None:
    """A client that reads slowly, but reads, gets all of it, though it takes longer than the limit."""
    lines = (json.dumps({"text": story(1, 100)}).encode() + b"\n") * 12
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(posted("/v1/query?limit=1000", "application/x-ndjson", lines))
        begin, found = time.monotonic(), b""
        while part := connection.recv(100_000):
            found += part
            time.sleep(0.05)
            if found.endswith(b"0\r\n\r\n"):
                break
    assert time.monotonic() - begin > SECONDS
    assert found.endswith(b"0\r\n\r\n") and b'{"counts": {"answered": 12}}' in found


def test_idle_and_slow_connections_end(server: Serving) -> None:
    """A thousand connections that send nothing, or a byte now and then, end within the limit; the next are answered."""
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(1000)]
    for one in held[::2]:
        one.sendall(b"GET /v1/info HTTP/1.1\r\nHost: lo")
    begin = time.monotonic()
    for one in held[::50]:
        assert b" 408 " in one.recv(4096)
    assert time.monotonic() - begin < SECONDS + 6
    for one in held:
        one.close()
    assert server.http.get("/readyz").status_code == 200


def test_connections_beyond_the_limit_are_refused(server: Serving) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(1100)]
    refused = sum(b" 503 " in one.recv(4096) for one in held[1030:])
    assert refused == 70
    for one in held:
        one.close()
    time.sleep(0.5)
    assert server.http.get("/readyz").status_code == 200


@pytest.mark.parametrize("count", [2000, 20_000, 200_000])
def test_heads_beyond_the_limit_are_refused(server: Serving, count: int) -> None:
    """Headers in pieces as a network brings them: refused at 32 kB, whatever follows."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n")
        answer = b""
        try:
            for start in range(0, count, 500):
                connection.sendall(b"".join(b"X-%d: aaaaaaaaaaaa\r\n" % n for n in range(start, start + 500)))
                time.sleep(0.01)
            connection.sendall(b"\r\n")
        except ConnectionError:
            pass
        try:
            answer = connection.recv(4096)
        except ConnectionError:  # what it had not read yet makes the system end the connection
            assert count > 2000
    assert not answer or b" 431 " in answer.partition(b"\r\n")[0], answer
    assert server.http.get("/readyz").status_code == 200


def test_a_head_of_30_kilobytes_in_pieces_is_read(server: Serving) -> None:
    head = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 30_000
    assert b" 200 " in server.raw(head, more=b"\r\n\r\n", pause=0.2).partition(b"\r\n")[0]
