"""Threads and processes that share one truth: turns, snapshots, kills, forks.

NEARDUP_KILLS=1000 kills more writers than the usual 20.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable

import pytest
from truths import KILLS, Child, Place, assert_whole, new_rows, write_batches

from neardup.errors import (
    IndexBusy,
)
from neardup.index.truth import (
    DocumentStore,
)


def test_a_second_writer_waits_and_then_says_who_writes(place: Place, truth: DocumentStore) -> None:
    impatient = place.open(wait=0.2)
    with truth.writing():
        with pytest.raises(IndexBusy, match=f"{os.getpid()}.*since 20"), impatient.writing():
            pass
        with impatient.reading() as snapshot:
            assert snapshot.count() == 0
    with impatient.writing() as writer:
        writer.insert(new_rows(["a"]))


def test_writers_in_threads_take_turns(place: Place, truth: DocumentStore) -> None:
    truths = [truth, place.open(), truth, place.open()]
    given: list[list[int]] = []

    def write(number: int) -> None:
        for batch in range(8):
            with truths[number].writing() as writer:
                given.append(
                    writer.insert(new_rows([f"{number} {batch} {row}" for row in range(5)])).tolist()
                )

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seq for seqs in given for seq in seqs) == list(range(1, 161))
    with truth.reading() as snapshot:
        assert snapshot.count() == snapshot.last() == 160


def test_readers_never_see_half_a_batch(place: Place, truth: DocumentStore) -> None:
    def read(say: Callable[[str], None]) -> None:
        mine = place.open()
        say("ready")
        batch = -1
        while batch < 39:
            with mine.reading() as snapshot:
                latest = assert_whole(snapshot)
                assert latest >= batch
                batch = latest
        say("done")

    child = Child(read)
    assert child.ready() == "ready"
    seen: set[int] = set()

    def watch() -> None:
        while max(seen, default=-1) < 39:
            with truth.reading() as snapshot:
                seen.add(assert_whole(snapshot))

    thread = threading.Thread(target=watch)
    thread.start()
    write_batches(place, 0, lambda line: None, 40)
    thread.join(60)
    assert not thread.is_alive()
    assert child.join() == ["done"]
    assert len(seen) > 2


def test_a_killed_writer_loses_nothing_that_was_acknowledged(place: Place, truth: DocumentStore) -> None:
    truth.close()
    source, last = random.Random(5), -1
    for _ in range(KILLS):
        child = Child(lambda say, start=last + 1: write_batches(place, start, say))
        said = child.ready()
        assert said.isdigit(), said
        time.sleep(source.random() * 0.06)
        lines = [said, *child.kill()]
        again = place.open(wait=30)
        with again.writing():
            pass  # a server may still be committing what the killed process sent
        with again.reading() as snapshot:
            batch = assert_whole(snapshot)
        assert batch in (int(lines[-1]), int(lines[-1]) + 1)
        again.close()
        last = batch
    assert place.open().check() == []


def test_a_forked_process_can_use_the_truth_of_its_parent(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))

    def work(say: Callable[[str], None]) -> None:
        with truth.writing() as writer:
            writer.insert(new_rows(["b"]))
        say(str(truth.version()))

    assert Child(work).join() == ["2"]
    with truth.reading() as snapshot:
        assert snapshot.count() == 2
    assert truth.check() == []
