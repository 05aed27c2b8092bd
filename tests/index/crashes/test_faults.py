"""A full disk and I/O errors at every call of a session: one sentence, nothing lost, and the index works again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from crashes.checks import Violation, check_index
from crashes.conftest import Recorder
from crashes.server import KILL, LASTING, NAMES, ONCE, READS, SYNCS, WRITES, Request

STEPS = 16
PARTS = 8
EVERY = WRITES | SYNCS | NAMES | READS
FAULTS = [
    pytest.param(errno.ENOSPC, WRITES | NAMES, LASTING, id="the disk stays full"),
    pytest.param(errno.ENOSPC, WRITES | NAMES, ONCE, id="the disk is full once"),
    pytest.param(errno.EIO, EVERY, ONCE, id="one I/O error"),
    pytest.param(errno.EIO, EVERY, LASTING, id="lasting I/O errors"),
    pytest.param(0, WRITES | SYNCS | NAMES, KILL, id="a kill"),
]


def count_calls(recorder: Recorder, method: str, classes: int, scratch: Path) -> int:
    """The calls of a session without faults."""
    _, path = recorder.script(method, 3, STEPS)
    (scratch / "none").mkdir(exist_ok=True)
    reply = recorder.run(Request(str(scratch / "none" / "news.index"), str(path), classes=classes))
    assert (reply.status, reply.errors) == (0, [])
    return reply.last("calls")


def check_fault(recorder: Recorder, method: str, request: Request) -> None:
    """Runs a session in which a call fails, and checks what it said and left."""
    script, _ = recorder.script(method, 3, STEPS)
    reply = recorder.run(request)
    killed = request.mode == KILL and os.WIFSIGNALED(reply.status)
    for number, kind, sentence in reply.errors:
        if "\n" in sentence:
            raise Violation(
                f"call {request.at}: step {number} ended with {kind}, not with a sentence:\n{sentence}"
            )
    if reply.status and not killed:
        raise Violation(
            f"call {request.at}: the writer ended with status {reply.status}: {reply.events[-3:]}"
        )
    if request.retry and reply.last("done") != len(script.steps) - 1:
        raise Violation(f"call {request.at}: the session did not go on: {reply.events[-3:]}")
    try:
        check_index(Path(request.folder), script, reply.last("done") + 1, reply.last("begin") + 1)
    except Violation as violation:
        raise Violation(f"call {request.at}, {reply.errors}: {violation}") from violation


def check_faults(
    recorder: Recorder, method: str, error: int, classes: int, mode: int, part: int, parts: int, scratch: Path
) -> int:
    """The number of faults: every so many-th call of a session."""
    _, path = recorder.script(method, 3, STEPS)
    calls = count_calls(recorder, method, classes, scratch)
    assert calls > 100
    numbers = range(1 + part, calls + 1, parts)
    for at in numbers:
        folder = scratch / str(at) / "news.index"
        folder.parent.mkdir()
        check_fault(
            recorder,
            method,
            Request(str(folder), str(path), None, classes, at, error, mode, retry=mode == ONCE),
        )
    return len(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("error", "classes", "mode"), FAULTS)
def test_every_call_may_fail(
    recorder: Recorder, error: int, classes: int, mode: int, part: int, scratch: Path
) -> None:
    check_faults(recorder, "minhash", error, classes, mode, part, PARTS, scratch)


@pytest.mark.parametrize(("error", "classes", "mode"), FAULTS)
def test_some_calls_may_fail(recorder: Recorder, error: int, classes: int, mode: int, scratch: Path) -> None:
    assert check_faults(recorder, "minhash", error, classes, mode, 0, 67, scratch) > 2
