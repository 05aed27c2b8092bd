"""A server with more to do than it can: it refuses some requests and keeps its memory."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import httpx
import psutil
import pytest
from serving import Serving, edited, make_index, story

import neardup

MINUTES = float(os.environ.get("NEARDUP_SOAK_MINUTES", "10"))


def test_too_many_requests_are_refused_with_a_time_to_come_back(tmp_path: Path) -> None:
    texts = [edited(story(1, 400), n) for n in range(300)]
    index = make_index(
        tmp_path / "news.index", [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    )
    server = Serving(index, "--max-queue", "2", "--threads", "1", "--max-batch", "50")
    body = {"documents": [{"text": text} for text in texts[:40]], "limit": 1}

    def ask(_: int) -> tuple[int, str | None]:
        with server.client() as client:
            answer = client.post("/v1/query", json=body)
            return answer.status_code, answer.headers.get("retry-after")

    with ThreadPoolExecutor(16) as pool:
        found = Counter(pool.map(ask, range(32)))
    assert found[(200, None)] > 0 and found[(503, "1")] > 0 and found.total() == 32
    assert set(found) == {(200, None), (503, "1")}
    with neardup.Client(server.url, retries=8) as client:  # a client that comes back is answered
        assert client.query(texts[0], limit=1)[0].id == "0"
    assert server.stop() == 0


class Worker(threading.Thread):
    """A client that asks for everything that the service does, and stores a bounded number of documents."""

    def __init__(self, server: Serving, seed: int, end: float) -> None:
        super().__init__()
        self.server, self.seed, self.end, self.random = server, seed, end, random.Random(seed)
        self.answered: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self) -> None:
        with neardup.Client(self.server.url) as client, self.server.client() as http:
            kinds = self._kinds(client, http)
            while time.monotonic() < self.end:
                kind = self.random.choice(sorted(kinds))
                try:
                    name = f"{self.seed}-{self.random.randrange(300)}"
                    kinds[kind](name, story(self.random.randrange(2000), 100))
                    self.answered[kind] += 1
                except (neardup.errors.ServiceError, AssertionError) as error:
                    self.failures.append(f"{kind}: {error}")
                time.sleep(0.005)

    def _kinds(self, client: neardup.Client, http: httpx.Client) -> dict[str, Callable[[str, str], object]]:
        def lines(path: str, name: str, text: str) -> None:
            some = [{"id": f"{name}-{n}", "text": edited(text, n)} for n in range(20)]
            body = "".join(json.dumps(one) + "\n" for one in some)
            answer = http.post(path, content=body, headers={"content-type": "application/x-ndjson"})
            assert answer.status_code == 200 and "counts" in answer.text.splitlines()[-1], answer.text

        def cluster(name: str, text: str) -> None:
            client.add({"id": name, "text": text})
            list(client.cluster(name))

        def wrong(name: str, text: str) -> None:
            assert http.post("/v1/query", json={"text": text, "limit": -1}).status_code == 422

        return {
            "add": lambda name, text: client.add([{"id": f"{name}-{n}", "text": edited(text, n)} for n in range(3)]),
            "add if new": lambda name, text: client.add_if_new(text, id=name),
            "delete": lambda name, text: client.delete(name),
            "get": lambda name, text: client.get(name),
            "query": lambda name, text: client.query(edited(text, 1)),
            "explain": lambda name, text: client.query(edited(text, 2), explain=True),
            "check": lambda name, text: client.check([text, edited(text, 3)]),
            "compare": lambda name, text: client.compare(text, edited(text, 4), explain=True),
            "cluster": cluster,
            "lines": lambda name, text: lines("/v1/documents?if_new=true", name, text),
            "ask lines": lambda name, text: lines("/v1/query", name, text),
            "metrics": lambda name, text: http.get("/metrics").raise_for_status(),
            "wrong": wrong,
        }  # fmt: skip


def middle(samples: list[tuple[int, ...]]) -> list[float]:
    """The median of each value."""
    return [median(some) for some in zip(*samples, strict=True)]


@pytest.mark.slow
def test_ten_minutes_of_everything_leave_memory_flat(tmp_path: Path) -> None:
    server = Serving(make_index(tmp_path / "news.index"))
    process, begin = psutil.Process(server.process.pid), time.monotonic()
    workers = [Worker(server, seed, begin + 60 * MINUTES) for seed in range(4)]
    for worker in workers:
        worker.start()
    samples = []  # MB of memory that is no mapped file, files and threads
    while any(worker.is_alive() for worker in workers):
        known = process.memory_info()
        samples.append(((known.rss - known.shared) >> 20, process.num_fds(), process.num_threads()))
        time.sleep(0.6 * MINUTES)
    answered = sum((worker.answered for worker in workers), Counter())
    print(f"\n{dict(answered)}, {answered.total() / 60 / MINUTES:.0f} requests a second; {samples[::10]}")
    assert not [failure for worker in workers for failure in worker.failures]
    assert len(answered) == 13 and min(answered.values()) > MINUTES
    third = len(samples) // 3  # caches and pools have their size by then
    early, late = middle(samples[third : 2 * third]), middle(samples[-third:])
    assert late[0] < 1.1 * early[0] + 8, (early, late)
    assert late[1] <= early[1] + 8 and late[2] <= early[2] + 2, (early, late)
    assert server.stop() == 0 and not server.events("bug")
