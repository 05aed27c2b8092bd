"""A real server for tests: `neardup serve` in a process of its own, and requests of bytes that no client would send."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

import neardup
from sentences import overlapping

OPTIONS = {"method": "minhash", "threshold": 0.5, "ngram": 2}


def story(seed: int, words: int = 60) -> str:
    """A text that has little in common with those of other seeds."""
    return overlapping(random.Random(seed), 1)[0] + " " + " ".join(f"w{seed}x{n}" for n in range(words))


def edited(text: str, seed: int = 0) -> str:
    """The text with a word changed."""
    words = text.split(" ")
    words[random.Random(seed).randrange(len(words))] = f"changed{seed}"
    return " ".join(words)


def make_index(path: Path, documents: Any = (), **options: Any) -> Path:
    with neardup.Index(path, **(options or OPTIONS)) as index:
        if documents:
            index.add(documents)
    return path


class Serving:
    """A server process, and a client of it."""

    def __init__(
        self,
        index: Path | str,
        *arguments: str,
        token: str | None = None,
        tls: bool = False,
        before: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        served = [sys.executable, "-m", "neardup", "serve", str(index), "--port", "0", *arguments]
        self.command = [*before, *served]
        self.environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})}
        self.token, self.scheme = token, "https" if tls else "http"
        self.log: list[dict[str, Any]] = []
        self.start()

    def start(self) -> None:
        """Start the process, and wait until it listens."""
        self.log.clear()
        self.process = subprocess.Popen(
            self.command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=self.environment
        )
        listening = threading.Event()
        threading.Thread(target=self._read, args=(self.process.stderr, listening), daemon=True).start()
        assert listening.wait(120), self.log
        assert self.events("listening"), self.log
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.http = self.client(self.token)

    def client(self, token: str | None = None, **settings: Any) -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **settings)

    def _read(self, stream: Any, listening: threading.Event) -> None:
        for line in stream:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": "not json", "line": line.decode(errors="replace")}
            self.log.append(entry)
            if entry.get("event") == "listening":
                self.port = entry["port"]
                listening.set()
        listening.set()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [entry for entry in self.log if entry["event"] == name]

    def wait_for(self, name: str, count: int = 1, seconds: float = 10.0) -> list[dict[str, Any]]:
        end = time.monotonic() + seconds
        while len(self.events(name)) < count and time.monotonic() < end:
            time.sleep(0.01)
        return self.events(name)

    def post(self, path: str, value: Any, **settings: Any) -> httpx.Response:
        return self.http.post(path, json=value, **settings)

    def lines(self, path: str, documents: Any, **settings: Any) -> list[dict[str, Any]]:
        """The answer to NDJSON."""
        data = "".join(json.dumps(one) + "\n" for one in documents).encode()
        headers = {"content-type": "application/x-ndjson", **settings.pop("headers", {})}
        answer = self.http.post(path, content=data, headers=headers, **settings)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def raw(self, data: bytes, *, seconds: float = 5.0, more: bytes = b"", pause: float = 0.0) -> bytes:
        """What the server answers to these bytes, until it closes the connection or says nothing more."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(data)
            if more:
                time.sleep(pause)
                connection.sendall(more)
            found = b""
            try:
                while part := connection.recv(65536):
                    found += part
                    if _complete(found):
                        break
            except (TimeoutError, ConnectionError):
                pass
            return found

    def kill(self) -> None:
        """End the process like a power cut ends it."""
        self.process.kill()
        self.process.wait(30)
        self.http.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the process by a signal; its exit code."""
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


def _complete(data: bytes) -> bool:
    """Whether an answer with a length is there as a whole."""
    head, separator, body = data.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return bool(separator) and len(body) >= int(value)
        if name.lower() == b"transfer-encoding":
            return body.endswith(b"0\r\n\r\n")
    return False
