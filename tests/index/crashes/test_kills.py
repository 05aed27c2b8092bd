"""Writers killed at random moments: nothing acknowledged is lost, nothing is there by half."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from crashes.checks import check_index
from crashes.conftest import Recorder
from crashes.script import METHODS
from crashes.server import Request

STEPS = 24
PARTS = 10
KILLS = int(os.environ.get("NEARDUP_KILLS", "1000"))


def kill_writers(recorder: Recorder, method: str, kills: int, seed: int, scratch: Path) -> int:
    """Kills writers; the number of those that were killed in the middle of their work."""
    script, path = recorder.script(method, 4, STEPS)
    rng, longest, killed = random.Random(seed), 0.5, 0
    for number in range(2 * kills):
        folder = scratch / str(number) / "news.index"
        folder.parent.mkdir()
        reply = recorder.run(Request(str(folder), str(path), kill_after=rng.uniform(0, longest)))
        assert not reply.errors
        if os.WIFSIGNALED(reply.status):
            killed += 1
        else:
            longest *= 0.8  # it had ended before
        check_index(folder, script, reply.last("done") + 1, reply.last("begin") + 1, again=number % 8 == 0)
        if killed == kills:
            break
    return killed


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_writers_lose_nothing(recorder: Recorder, part: int, scratch: Path) -> None:
    kills = -(-KILLS // PARTS)
    assert kill_writers(recorder, list(METHODS)[part % len(METHODS)], kills, part, scratch) == kills


def test_some_killed_writers_lose_nothing(recorder: Recorder, scratch: Path) -> None:
    assert kill_writers(recorder, "minhash", 20, -1, scratch) == 20
