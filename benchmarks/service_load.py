"""A load generator for HTTP: questions and additions at fixed rates over open connections, in a process of its own.

    python benchmarks/service_load.py PORT TEXTS.parquet --queries 500 --adds 100 --seconds 30

Requests are sent when they are due, answered or not (an open loop): a slow answer delays no other request, and its
latency counts from the time it was due. With --closed, each connection sends its next request after the last answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.parquet as pq

CONNECTIONS = 32


def request(path: str, value: dict[str, Any]) -> bytes:
    """The bytes of a request."""
    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """One connection with one request under way."""

    def __init__(self) -> None:
        self.data, self.answer = b"", asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to send."""
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Collect an answer, whose length its head says."""
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        if found:
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            if len(body) >= length:
                self.data = b""
                self.answer.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer that never comes."""
        if not self.answer.done():
            self.answer.set_result(0)

    async def send(self, data: bytes) -> int:
        """The status of the answer."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        status: int = await self.answer
        return status


@dataclass
class Load:
    """What was sent, and how long each answer took, by kind."""

    port: int
    free: deque[Connection] = field(default_factory=deque)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"query": [], "add": []})
    failed: int = 0
    _space: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def connect(self, count: int) -> None:
        """Open connections."""
        loop = asyncio.get_running_loop()
        for _ in range(count):
            _, connection = await loop.create_connection(Connection, "127.0.0.1", self.port)
            self.free.append(connection)
            self._space.release()

    async def ask(self, kind: str, data: bytes, due: float) -> None:
        """Send a request over a free connection, and note its latency since it was due."""
        await self._space.acquire()
        connection = self.free.popleft()
        status = await connection.send(data)
        self.seconds[kind].append(time.perf_counter() - due)
        self.failed += status != 200
        self.free.append(connection)
        self._space.release()


async def open_loop(load: Load, kind: str, requests: list[bytes], rate: float, seconds: float) -> None:
    """Requests at a fixed rate."""
    start, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        due = start + number / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(load.ask(kind, requests[number % len(requests)], due)))
    await asyncio.gather(*tasks)


async def closed_loop(load: Load, requests: list[bytes], connections: int, seconds: float) -> None:
    """Requests one after the other on each connection."""
    end = time.perf_counter() + seconds

    async def work(first: int) -> None:
        number = first
        while (now := time.perf_counter()) < end:
            await load.ask("query", requests[number % len(requests)], now)
            number += connections

    await asyncio.gather(*(work(first) for first in range(connections)))


def figures(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    if not seconds:
        return {}
    found = np.percentile(np.array(seconds) * 1000, [50, 90, 99, 99.9, 100])
    names = ("p50", "p90", "p99", "p999", "most")
    return {"count": len(seconds), **dict(zip(names, np.round(found, 3).tolist(), strict=True))}


async def main(options: argparse.Namespace) -> None:
    """Send the load, and print a report."""
    texts = pq.read_table(options.texts, columns=["text"]).column("text").to_pylist()
    queries = [request("/v1/query", {"text": text}) for text in texts]
    adds = [
        request("/v1/documents", {"id": f"{options.start}-{n}", "text": f"{text} {options.start}"})
        for n, text in enumerate(texts)
    ]
    load = Load(options.port)
    await load.connect(options.connections)
    before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    if options.closed:
        await closed_loop(load, queries, options.connections, options.seconds)
    else:
        sent = [("query", queries, options.queries), ("add", adds, options.adds)]
        await asyncio.gather(*(open_loop(load, *one, options.seconds) for one in sent if one[2]))
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = {kind: figures(seconds) for kind, seconds in load.seconds.items()}
    print("REPORT", json.dumps({**report, "wall": wall, "cpu": spent, "failed": load.failed}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("port", type=int)
    parser.add_argument("texts")
    parser.add_argument("--queries", type=float, default=500)
    parser.add_argument("--adds", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--closed", action="store_true")
    parser.add_argument("--start", default="added")
    asyncio.run(main(parser.parse_args()))
