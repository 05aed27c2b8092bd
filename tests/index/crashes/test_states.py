"""States that a disk can have after a kill or a power loss: every one of them is a sound index.

The file operations of whole sessions are recorded (shim.c); at each of them the disk is laid out as a kill leaves it,
and as power losses may leave it (filesystem.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashes.checks import Violation, check_index
from crashes.conftest import Recorder
from crashes.filesystem import Disk, State
from crashes.script import METHODS

SESSIONS = [(method, seed) for method in METHODS for seed in (1, 2)]
STEPS = 40
PARTS = 12  # of a session
STATES = 10_000  # at least


def session_states(
    recorder: Recorder, method: str, seed: int, part: int, parts: int, more: int = 2
) -> Iterator[State]:
    """The distinct states at every so many-th operation of a session."""
    _, operations, root = recorder.record(method, seed, STEPS)
    disk, seen = Disk(root), set[tuple[bytes, int]]()
    for number, operation in enumerate(operations):
        if disk.apply(operation) and number % parts == part:
            for state in disk.states(random.Random(number), more):
                key = (state.key, state.done)
                if key not in seen:
                    seen.add(key)
                    yield state


def check_states(recorder: Recorder, states: Iterator[State], method: str, seed: int, scratch: Path) -> int:
    """The number of states, all of which are sound; the first that is not is named."""
    script, _, _ = recorder.record(method, seed, STEPS)
    rng, count = random.Random(seed), 0
    for count, state in enumerate(states, 1):
        folder = scratch / str(count)
        folder.mkdir()
        state.lay_out(folder, rng.randbytes(32768) if count % 4 == 0 else None)
        try:
            check_index(folder / "news.index", script, state.done, state.begun, again=count % 8 == 0)
        except Violation as violation:
            files = {name: None if content is None else len(content) for name, content in state.files}
            raise Violation(f"after {state.done} of {state.begun} steps, {files}: {violation}") from violation
    return count


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("method", "seed"), SESSIONS)
def test_every_state_after_a_crash_is_sound(
    recorder: Recorder, method: str, seed: int, part: int, scratch: Path
) -> None:
    states = session_states(recorder, method, seed, part, PARTS)
    assert check_states(recorder, states, method, seed, scratch) > 10


@pytest.mark.slow
def test_there_are_enough_states(recorder: Recorder) -> None:
    distinct = 0
    for method, seed in SESSIONS:
        parts = (session_states(recorder, method, seed, part, PARTS) for part in range(PARTS))
        distinct += len({state.key for part in parts for state in part})
    print(f"{distinct:,} distinct states")
    assert distinct >= STATES


def test_some_states_after_a_crash_are_sound(recorder: Recorder, scratch: Path) -> None:
    states = session_states(recorder, "minhash", 1, 0, 34, 4)
    assert check_states(recorder, states, "minhash", 1, scratch) > 50
