"""Work in threads: in order, each piece once, a few at a time, and the caller lends a hand."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.columns import Texts
from neardup.engines.local.checkpoint.texts import AHEAD, Spool
from neardup.errors import OutputError
from neardup.workers import ordered_map, prefetched


@given(st.lists(st.integers()), st.integers(1, 4), st.integers(0, 3))
def test_answers_come_in_order_and_each_once(items: list[int], threads: int, ahead: int) -> None:
    worked: list[int] = []

    def work(place: int) -> int:
        worked.append(place)
        return items[place]

    assert list(ordered_map(work, range(len(items)), threads, ahead)) == items
    assert sorted(worked) == list(range(len(items)))


def test_the_first_error_is_told_whoever_meets_one_sooner() -> None:
    later = threading.Event()

    def work(item: int) -> int:
        if item == 1:
            later.wait(10)
            raise KeyError("first")
        if item > 1:
            later.set()
            raise ValueError("second")
        return item

    answers = ordered_map(work, range(4), 2)
    assert next(answers) == 0
    with pytest.raises(KeyError):
        next(answers)


def test_the_caller_does_what_no_thread_has_begun() -> None:
    """The one other thread waits for a piece that only the caller can do."""
    done = threading.Event()

    def work(item: int) -> tuple[bool, str]:
        waited = done.wait(10) if item == 0 else done.set() or True
        return waited, threading.current_thread().name

    found = list(ordered_map(work, range(2), 2))
    assert [waited for waited, _ in found] == [True, True]
    assert found[1][1] == threading.current_thread().name != found[0][1]


@pytest.mark.parametrize(("threads", "ahead"), [(2, 0), (2, 3), (4, 1)])
def test_few_pieces_are_under_way(threads: int, ahead: int) -> None:
    drawn = taken = most = 0

    def items() -> Iterator[int]:
        nonlocal drawn, most
        for item in range(50):
            drawn += 1
            most = max(most, drawn - taken)
            yield item

    for _ in ordered_map(lambda item: item, items(), threads, ahead):
        taken += 1
    assert most <= threads + ahead + 1


def texts(*strings: str) -> Texts:
    return Texts.from_strings(list(strings))


def test_what_is_written_behind_is_there() -> None:
    with Spool() as spool:
        with spool.writing_behind():
            for number in range(20):
                spool.append(texts(f"a{number}", "", f"b{number}"))
            assert bytes(spool.read(np.array([0, 2, 57])).data) == b"a0b0a19"
        assert bytes(spool.read_range(55, 60).data) == b"b18a19b19"


def test_what_goes_wrong_behind_is_told(tmp_path: Path) -> None:
    class Full:
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    spool = Spool(tmp_path)
    spool._file.close()
    spool._file = Full()
    with pytest.raises(OutputError, match="No space left"), spool.writing_behind():
        spool.append(texts("lost"))


def test_a_restored_spool_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    fetched = threading.Event()

    def advise(file: int, start: int, size: int, what: int) -> None:
        asked.append(start)
        os.fstat(file)  # raises if it is not open
        if start + size >= 300_000:
            fetched.set()

    monkeypatch.setattr(os, "posix_fadvise", advise, raising=False)
    monkeypatch.setattr(os, "POSIX_FADV_WILLNEED", 3, raising=False)
    with Spool(path=tmp_path / "texts.bin") as spool:
        spool.append(texts("a" * 200_000, "b" * 100_000))
        written = spool.checksum
    with Spool(path=tmp_path / "texts.bin") as spool:
        spool.restore(np.array([200_000, 100_000]), (300_000, written))
        assert fetched.wait(10)
        assert asked == list(range(0, 300_000, AHEAD))
        assert bytes(spool.read(np.array([1])).data) == b"b" * 100_000


@pytest.mark.parametrize("threads", [2, 4])
def test_a_thread_that_dies_ends_the_run(monkeypatch, threads):
    """Python's pool waits for ever for a thread that ended outside a task, as happens where memory ends."""
    from concurrent.futures import thread

    monkeypatch.setattr("neardup.workers.PATIENCE", 0.05)
    monkeypatch.setattr(
        thread._WorkItem, "run", lambda self: sys.exit(self.future.set_running_or_notify_cancel())
    )
    with pytest.raises(MemoryError, match="a thread has died"):
        list(ordered_map(lambda item: time.sleep(0.2), range(40), threads, ahead=0))
    with pytest.raises(MemoryError, match="a thread has died"):
        list(prefetched(range(3), threads))
