"""Scripted judges with known error rates, who label through the pages of a studio as people do."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studios import Client

ITEM = re.compile(r'name="item" value="(\d+)"')
NAMES = re.compile(r"<figcaption>(?:<span.*?</span> )?(?:[AB]: )?<bdi>(?:[AB]: )?(.*?)</bdi>")


def wait_for_job(client: Any) -> str:
    """The page that a job leads back to."""
    for _ in range(1200):
        answer = client.get("/label/job")
        if "Running for" not in answer.text:
            assert "message error" not in answer.text, answer.text
            return answer.text
        time.sleep(0.05)
    raise AssertionError("the job did not end")


def begin(folder: Path, preset: str, count: int, kind: str = "spread", **protocol: Any) -> Client:
    """A studio in which a sample was drawn."""
    client = Client(folder)
    assert client.send_form("/label/begin", preset=preset).status_code == 200
    if protocol:
        assert client.send_form("/label/protocol", **protocol).status_code == 200
    client.send_form("/label/sample", kind=kind, count=count)
    wait_for_job(client)
    return client


@dataclass
class Judge:
    """A person with a browser, who errs in a known share of answers."""

    name: str
    errors: float
    client: Client
    seed: int
    answers: dict[str, list[tuple[tuple[str, ...], str]]] = field(
        default_factory=lambda: {"documents": [], "pairs": []}
    )

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        assert self.client.send_form("/you", name=self.name).status_code == 200

    def judge(self, phase: str, truth: Any, wrong: Any) -> bool:
        """Judges the next item of a phase; False if nothing is left."""
        page = self.client.get(f"/label/{phase}").text
        item = ITEM.search(page)
        if item is None:
            return False
        ids = tuple(NAMES.findall(page))
        right = truth(*ids)
        answer = right if self.random.random() >= self.errors else self.random.choice(wrong(right))
        done = self.client.send_form("/label/judge", item=item.group(1), role="judge", answer=answer)
        assert done.status_code == 200 and "said=stored" in str(done.url)
        self.answers[phase].append((tuple(sorted(ids)), answer))
        return True


def judge_all(judges: list[Judge], phase: str, truth: Any, wrong: Any) -> None:
    """Lets the judges work in turn until none has anything to judge."""
    busy = True
    while busy:
        got = [judge.judge(phase, truth, wrong) for judge in judges]
        busy = any(got)


def votes_of(judges: list[Judge], phase: str) -> dict[tuple[str, ...], dict[str, str]]:
    """What each judge answered, item by item."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for judge in judges:
        for ids, answer in judge.answers[phase]:
            found.setdefault(ids, {})[judge.name] = answer
    return found


def by_hand(table: list[list[str]]) -> tuple[float, float]:
    """Raw agreement and Fleiss' kappa of items with equally many answers, by the formulas of Fleiss (1971)."""
    names = sorted({answer for row in table for answer in row})
    n, items = len(table[0]), len(table)
    shares = []
    for row in table:
        counts = Counter(row)
        shares.append(sum(k * (k - 1) for k in counts.values()) / (n * (n - 1)))
    raw = sum(shares) / items
    chance = sum((sum(row.count(name) for row in table) / (n * items)) ** 2 for name in names)
    return raw, (raw - chance) / (1 - chance)
