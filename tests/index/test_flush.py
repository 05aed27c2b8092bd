"""Segments written while the index is asked: look-ups neither wait nor lose what they have. The lock of the writer."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from neardup.index.index import Index
from neardup.index.segments.folder import SegmentFolder
from neardup.index.segments.segment import Segment
from neardup.index.truth.writer_lock import read_commits, read_holder, writer_lock


def text(number: int) -> str:
    return " ".join(f"word{number}x{place}" for place in range(20))


def add(index: Index, *numbers: int) -> None:
    index.add([{"id": str(number), "text": text(number)} for number in numbers])


def found(index: Index, number: int) -> list[Any]:
    return [match.id for match in index.query(text(number))]


def flush(index: Index) -> None:
    with index.reading() as (snapshot, captured):
        captured.search.flush(snapshot)


def test_look_ups_and_additions_continue_while_a_segment_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    write = SegmentFolder.add

    def slow(self: SegmentFolder, *given: Any) -> Segment:
        begun.set()
        assert go_on.wait(30)
        return write(self, *given)

    with Index(tmp_path / "index", method="minhash") as index:
        add(index, 1, 2)
        monkeypatch.setattr(SegmentFolder, "add", slow)
        thread = threading.Thread(target=flush, args=[index])
        thread.start()
        assert begun.wait(30)
        asked: list[list[Any]] = []

        def ask() -> None:
            add(index, 3)
            asked.extend(found(index, number) for number in (1, 2, 3, 4))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(20)
        go_on.set()
        thread.join()
        assert asked == [["1"], ["2"], ["3"], []]
        assert [found(index, number) for number in (1, 2, 3)] == [["1"], ["2"], ["3"]]
        search = index._known_search()
        assert [(one.low, one.high) for one in search.folder.segments] == [(1, 3)]
        assert search.in_memory[0] == 1 and search.rebuilt == 0


def test_a_look_up_that_began_before_a_flush_keeps_the_segments(tmp_path: Path) -> None:
    """Its snapshot is older than the segments, but the index is not older than them."""
    with Index(tmp_path / "index", method="minhash") as index:
        add(index, 1)
        flush(index)
        search = index._known_search()
        captured = search.capture()
        with index._truth.reading() as snapshot:
            add(index, 2)
            flush(index)
            assert not captured.covers(snapshot)
        assert [(one.low, one.high) for one in search.folder.segments] == [(1, 2), (2, 3)]
        assert not search.folder.damaged
        assert found(index, 1) == ["1"] and found(index, 2) == ["2"] and search.rebuilt == 0


def test_the_lock_keeps_its_size_and_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    for commits in (1, 1234, 56):
        with writer_lock(path, 1) as lock:
            assert f"process {os.getpid()} (" in read_holder(path)
            lock.commits = commits
            size = path.stat().st_size
        assert (read_commits(path), path.stat().st_size) == (commits, size)
        assert json.loads(path.read_bytes()).keys() == {"commits", "checksum"}
        assert read_holder(path) == "another process"
