"""A server with more to do than it can: it refuses some requests and keeps its memory."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


@pytest.mark.slow
def test_ten_minutes_of_everything_leave_memory_flat(tmp_path: Path) -> None:
    server = Serving(make_index(tmp_path / "news.index"))
    process, end = psutil.Process(server.process.pid), time.monotonic() + 60 * MINUTES
    failures: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        with neardup.Client(server.url) as client:
            while time.monotonic() < end:
                name, text = f"{seed}-{rng.randrange(500)}", story(rng.randrange(3000), 100)
                try:
                    kind = rng.randrange(6)
                    if kind == 0:
                        client.add([{"id": f"{name}-{n}", "text": edited(text, n)} for n in range(3)])
                    elif kind == 1:
                        client.add_if_new(text, id=name)
                    elif kind == 2:
                        client.delete(name)
                    else:
                        client.query(edited(text, seed), explain=kind == 3)
                except neardup.errors.ServiceError as error:
                    failures.append(str(error))
                time.sleep(0.005)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(60 * MINUTES / 3)  # caches and pools have their size by then
    early = process.memory_info().rss
    for thread in threads:
        thread.join()
    late = process.memory_info().rss
    assert not failures
    assert late < 1.15 * early + (16 << 20), (early, late)
    assert server.stop() == 0 and not server.events("bug")
