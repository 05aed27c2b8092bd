"""Several processes: readers see all of a batch or nothing and never an error, and writers take turns."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from crashes.script import Session, Step
from neardup.errors import IndexBusy, IndexDamaged
from neardup.index.index import Index

BATCH = 7  # documents that are added, replaced and deleted together
SECONDS = 2.0
TEXT = (
    "the harbour is there and a ship of batch {} is in it, which is number {} of those that will be there {}"
)


class Child:
    """A forked process; its end is that of the function, or a kill."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.pid = os.fork()
        if not self.pid:
            try:
                work()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)

    def join(self) -> int:
        """Its status."""
        return os.waitpid(self.pid, 0)[1]


def batch(number: int, version: int) -> dict[str, str]:
    """Documents of which all or none have a version."""
    words = f"in version {version}"
    return {f"{number}-{n}": TEXT.format(number, n, words) for n in range(BATCH)}


def write(folder: Path, until: float) -> None:
    """Adds, replaces and deletes batches, and compacts."""
    session, number = Session(folder, "minhash"), 0
    while time.monotonic() < until:
        session.perform(Step("add", batch(number, 0)))
        if number % 3 == 1:
            session.perform(Step("add", batch(number - 1, 1)))
        if number % 3 == 2:
            session.perform(Step("delete", ids=tuple(batch(number - 1, 0))))
        if number % 5 == 4:
            session.perform(Step("compact"))
        number += 1
    session.close()


def read(folder: Path, until: float) -> None:
    """Asks for whole batches: a question finds all documents of a batch in one version, or none."""
    index, rounds = Index(folder, threads=1), 0
    while time.monotonic() < until:
        with index._truth.reading() as snapshot:
            last, count = snapshot.last(), snapshot.count()
            names = [str(name) for rows in snapshot.scan(1, last) for name in rows.ids]
        assert count == len(names) and last % BATCH == 0
        assert all(names.count(name) == 1 for name in names)
        batches = {name.split("-")[0] for name in names}
        assert len(names) == BATCH * len(batches)
        newest = max(map(int, batches), default=0)
        for number in {newest, max(newest - 1, 0), 0}:
            found = [str(match.id) for match in index.query(TEXT.format(number, 0, "in version 0"))]
            mine = [name for name in found if name.split("-")[0] == str(number)]
            assert len(mine) in (0, BATCH), mine
        rounds += 1
        if rounds % 10 == 0:  # one that opens the index meanwhile
            index.close()
            index = Index(folder, threads=1)
    index.close()
    assert rounds > 3


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(30.0, marks=pytest.mark.slow)])
def test_readers_see_all_of_a_batch_or_nothing_during_adds_and_compaction(
    scratch: Path, seconds: float
) -> None:
    folder = scratch / "news.index"
    session = Session(folder, "minhash")
    session.perform(Step("add", batch(0, 0)))
    session.close()
    until = time.monotonic() + seconds
    children = [Child(lambda: write(folder, until)), *(Child(lambda: read(folder, until)) for _ in range(2))]
    assert [child.join() for child in children] == [0, 0, 0]


def test_two_writers_take_turns_and_lose_nothing(scratch: Path) -> None:
    folder, each = scratch / "news.index", 12

    def work(writer: int) -> None:
        session = Session(folder, "minhash")
        for number in range(each):
            session.perform(Step("add", batch(1000 * writer + number, 0)))
        session.close()

    assert [child.join() for child in [Child(lambda n=n: work(n)) for n in (1, 2)]] == [0, 0]
    session = Session(folder, "minhash")
    assert len(session.index) == 2 * each * BATCH
    found = session.index.query(TEXT.format(1003, 0, "in version 0"))
    assert {f"1003-{n}" for n in range(BATCH)} <= {str(match.id) for match in found}
    assert session.index.verify().sound
    session.close()


def test_of_two_processes_with_one_text_one_adds_it(scratch: Path) -> None:
    folder, texts = scratch / "news.index", [TEXT.format(7 * n, n, "x " * n) * (n + 1) for n in range(20)]

    def work(writer: int) -> None:
        session = Session(folder, "minhash")
        for number, text in enumerate(texts):
            session.perform(Step("add_if_new", {f"{writer}-{number}": text}))
        session.close()

    assert [child.join() for child in [Child(lambda n=n: work(n)) for n in (1, 2)]] == [0, 0]
    session = Session(folder, "minhash")
    for text in texts:
        copies = [match for match in session.index.query(text) if match.relation == "copy"]
        assert len(copies) <= 1
    session.close()


def test_a_second_writer_is_told_who_writes(scratch: Path) -> None:
    folder = scratch / "news.index"
    session = Session(folder, "minhash")
    session.perform(Step("add", batch(0, 0)))
    session.close()
    reading, writing = os.pipe()

    def hold() -> None:
        with Index(folder).writing():
            os.write(writing, b".")
            time.sleep(60)

    child = Child(hold)
    os.read(reading, 1)
    try:
        with Index(folder, threads=1, wait=0.2) as index:
            assert len(index.query(TEXT.format(0, 0, "in version 0"))) == BATCH  # readers do not wait
            with pytest.raises(IndexBusy, match=f"process {child.pid} "):
                index.add([{"id": "late", "text": "a text"}])
            os.kill(child.pid, signal.SIGKILL)
            child.join()
            assert index.add([{"id": "late", "text": "a text"}]).new == 1
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("way", ["VACUUM INTO", ".backup"])
def test_a_backup_made_while_the_index_is_open_has_everything(scratch: Path, way: str) -> None:
    session = Session(scratch / "news.index", "minhash")
    for number in range(4):
        session.perform(Step("add", batch(number, 0)))
    facts = session.facts(batch(2, 0))
    copy = scratch / "backup.index" / "truth.db"
    copy.parent.mkdir()
    source, target = sqlite3.connect(scratch / "news.index" / "truth.db"), sqlite3.connect(copy)
    if way == ".backup":
        source.backup(target)
    else:
        source.execute("VACUUM INTO ?", (str(copy),))
        target.execute("PRAGMA journal_mode = WAL")
    source.close()
    target.close()
    session.close()
    restored = Session(copy.parent, "minhash")
    restored.options = {}
    assert restored.facts(batch(2, 0)) == facts
    assert restored.index.verify().truth == []
    restored.close()


def test_an_older_copy_put_in_place_is_noticed(scratch: Path) -> None:
    folder = scratch / "news.index"
    session = Session(folder, "minhash")
    session.perform(Step("add", batch(0, 0)))
    session.close()
    older = (folder / "truth.db").read_bytes()
    for number in (1, 2):
        session.perform(Step("add", batch(number, 0)))
    session.close()
    (folder / "truth.db").write_bytes(older)
    with Index(folder, threads=1) as index:
        (sentence,) = index.verify().truth
        assert "has lost its last 2 commits" in sentence
        assert len(index.query(TEXT.format(0, 0, "in version 0"))) >= BATCH
        with pytest.raises(IndexDamaged, match="has lost its last 2 commits"):
            index.add([{"id": "late", "text": "a text"}])
        (folder / "writer.lock").unlink()
        assert index.add([{"id": "late", "text": "a text"}]).new == 1
        assert index.verify().truth == []
