"""A server that is killed under load, again and again: what it acknowledged is there, and nothing is there by half."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import Serving, make_index, story

import neardup

WRITERS = 3
SAMPLE = 25  # documents of a writer that are read after a restart; all of them at the end
BATCH = 7  # documents of a request, stored as a whole or not at all


class Writer(threading.Thread):
    """A client that adds, replaces and deletes, and remembers what was acknowledged."""

    def __init__(self, server: Serving, number: int, round: int) -> None:
        super().__init__(daemon=True)
        self.server, self.random = server, random.Random(1000 * round + number)
        self.name_start = f"r{round}w{number}"
        self.stored: dict[str, str] = {}  # acknowledged
        self.unsure: list[tuple[str, dict[str, str | None]]] = []  # key and change: wholly or not at all

    def run(self) -> None:
        with self.server.client() as client:
            step = 0
            while True:
                change, key = self._change(step), f"{self.name_start}-{step}"
                step += 1
                try:
                    answer = send(client, change, key)
                except httpx.TransportError:
                    self.unsure.append((key, change))
                    return
                assert answer.status_code == 200, answer.text
                for name, text in change.items():
                    self.stored.pop(name, None)
                    if text is not None:
                        self.stored[name] = text

    def _change(self, step: int) -> dict[str, str | None]:
        known = sorted(self.stored)
        if known and self.random.random() < 0.2:
            return {self.random.choice(known): None}
        names = [f"{self.name_start}-{step}-{n}" for n in range(BATCH - 1)]
        names.append(self.random.choice(known) if known else f"{self.name_start}-{step}-last")
        return {name: story(self.random.randrange(10**9), 3) for name in names}


def send(client: httpx.Client, change: dict[str, str | None], key: str) -> httpx.Response:
    """Delete a document, or add several with an idempotency key."""
    if None in change.values():
        return client.delete(f"/v1/documents/{next(iter(change))}")
    documents = [{"id": name, "text": text} for name, text in change.items()]
    return client.post("/v1/documents", json={"documents": documents}, headers={"idempotency-key": key})


def check(server: Serving, writers: list[Writer], expected: dict[str, str]) -> None:
    """Compare what the server has with what was acknowledged; of the rest, every change is there as a whole or not."""
    with server.client() as client:

        def text(name: str) -> str | None:
            answer = client.get(f"/v1/documents/{name}")
            return answer.json()["text"] if answer.status_code == 200 else None

        for writer in writers:
            expected.update(writer.stored)
            for key, change in writer.unsure:
                done = [text(name) == new for name, new in change.items()]
                assert all(done) or not any(done), change
                if repeated := writer.random.random() < 0.5:
                    check_repeated(send(client, change, key), change, all(done), expected)
                if all(done) or repeated:
                    for name, new in change.items():
                        expected.pop(name, None)
                        if new is not None:
                            expected[name] = new
            names = random.Random(1).sample(sorted(writer.stored), min(SAMPLE, len(writer.stored)))
            names += [name for _, change in writer.unsure for name in change]
            for name in names:
                assert text(name) == expected.get(name), name
        assert client.get("/v1/info").json()["documents"] == len(expected)


def check_repeated(
    answer: httpx.Response, change: dict[str, str | None], done: bool, before: dict[str, str]
) -> None:
    """A repeated change is answered like the first, whether or not that was stored before the kill."""
    if None in change.values():
        assert answer.status_code == (404 if done else 200)
        return
    assert answer.status_code == 200, answer.text
    found = {row["id"]: row["status"] for row in answer.json()["results"]}
    assert found == {name: "replaced" if name in before else "new" for name in change}


def kill_again_and_again(folder: Path, times: int, seconds: Any) -> None:
    index = make_index(folder / "news.index")
    expected: dict[str, str] = {}
    acknowledged = 0
    server = Serving(index)
    for round in range(times):
        writers = [Writer(server, number, round) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(seconds())
        server.kill()
        for writer in writers:
            writer.join(30)
            assert not writer.is_alive()
        acknowledged += sum(len(writer.stored) for writer in writers)
        server.start()
        check(server, writers, expected)
    assert server.stop() == 0
    with neardup.Index(index) as opened:
        assert len(opened) == len(expected) and opened.verify().sound
        for name, text in expected.items():
            assert opened.get(name).text == text
        for name, text in random.Random(1).sample(sorted(expected.items()), min(50, len(expected))):
            assert name in [match.id for match in opened.query(text)]
    assert acknowledged > times * BATCH


def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 3, lambda: random.Random(time.time()).uniform(0.1, 0.5))


@pytest.mark.slow
def test_a_server_killed_200_times_loses_nothing(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 200, lambda: random.uniform(0.02, 0.8))
