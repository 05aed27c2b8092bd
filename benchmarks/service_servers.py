"""Servers for the benchmark of the service: started, awaited, and ended; their CPU time and memory."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

import redis_server


@dataclass(frozen=True)
class Served:
    """A running server; with a database of its own, both processes count."""

    port: int
    processes: tuple[psutil.Process, ...]

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        times = [process.cpu_times() for process in self.processes]
        return float(sum(one.user + one.system for one in times))

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        return float(sum(process.memory_info().rss for process in self.processes) / 1e6)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@contextmanager
def serving(
    command: Sequence[str], port: int, database: psutil.Process | None = None, seconds: float = 7200
) -> Iterator[Served]:
    """A server that is ready, ended afterwards; one that does not start says why."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stderr=said)
        try:
            end = time.monotonic() + seconds
            while not answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    said.seek(0)
                    last = said.read().decode(errors="replace").strip().splitlines()[-1:]
                    raise RuntimeError(f"the server did not start: {''.join(last)[:300]}")
                time.sleep(0.1)
            yield Served(port, (psutil.Process(process.pid), *([database] if database else [])))
        finally:
            process.terminate()
            process.wait(60)


def answers(port: int) -> bool:
    """Whether a server is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@dataclass(frozen=True)
class Redis:
    """A Redis server on a socket."""

    socket: Path
    version: str
    process: psutil.Process


@contextmanager
def redis() -> Iterator[Redis]:
    """A Redis server that appends changes to a file and syncs it every second, as it does by default."""
    known = redis_server.variables()
    if not known:
        raise RuntimeError("redis-server was not there, and could not be unpacked from Debian's packages")
    program, libraries = known["REDIS_SERVER"], known.get("REDIS_LIBRARIES", "")
    folder = Path(tempfile.mkdtemp(prefix="redis-"))  # a socket's path must be short
    place = folder / "redis.sock"
    given = [
        "--port",
        "0",
        "--unixsocket",
        str(place),
        "--save",
        "",
        "--appendonly",
        "yes",
        "--dir",
        str(folder),
    ]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    process = subprocess.Popen([program, *given], env=environment, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while not place.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("redis-server did not start")
            time.sleep(0.05)
        yield Redis(place, redis_server.version(program, libraries), psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(120)
        shutil.rmtree(folder, ignore_errors=True)
