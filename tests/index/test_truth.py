"""The truth of an index, in SQLite and in PostgreSQL: one battery for both, then what each has of its own.

NEARDUP_KILLS=1000 kills more writers than the usual 20.
"""

from __future__ import annotations

import os
import random
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import (
    IndexBusy,
    IndexDamaged,
    InputError,
    NeardupError,
    OutputError,
    ParameterError,
    StorageError,
)
from neardup.index.truth import (
    ALL,
    MATCH,
    Attributes,
    Columns,
    DocumentStore,
    Id,
    NewRows,
    Snapshot,
    StoredRows,
)
from neardup.index.truth.sqlite import SqliteTruth

KILLS = int(os.environ.get("NEARDUP_KILLS", "20"))
BATCH = 40


@dataclass(frozen=True)
class Place:
    """Where a truth is: a folder, or the address of a server."""

    address: str

    def create(self, **about: str) -> DocumentStore:
        return self._kind().create(self._typed(), about)

    def open(self, wait: float = 10.0) -> DocumentStore:
        return self._kind()(self._typed(), wait=wait)

    def _kind(self) -> Any:
        if not self.address.startswith("postgresql:"):
            return SqliteTruth
        from neardup.index.truth.postgres import PostgresTruth

        return PostgresTruth

    def _typed(self) -> Any:
        return self.address if self.address.startswith("postgresql:") else Path(self.address)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    if reason := postgres.missing():
        pytest.skip(reason)
    running = postgres.Server()
    yield running
    running.stop()


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Place]:
    """A function that names a new place each time."""
    if request.param == "sqlite":
        return lambda: Place(str(tmp_path / uuid.uuid4().hex / "news.index"))
    running = request.getfixturevalue("server")
    return lambda: Place(running.url("i" + uuid.uuid4().hex))


@pytest.fixture
def place(places: Callable[[], Place]) -> Place:
    return places()


@pytest.fixture
def truth(place: Place) -> Iterator[DocumentStore]:
    created = place.create(plan="p")
    yield created
    created.close()


def new_rows(ids: list[Id], seed: int = 0, size: int = 30) -> NewRows:
    """Documents whose columns all derive from the seed and the id."""
    count = len(ids)
    sources = [random.Random(f"{seed} {name!r}") for name in ids]
    bits = [[source.getrandbits(64) for source in sources] for _ in range(2)]
    attributes = [
        None
        if source.random() < 0.3
        else Attributes(("a", "ü\0\ud800"), source.random(), float(seed), f"http://{seed}/\0\ud800")
        for source in sources
    ]
    return NewRows(
        ids,
        np.array(bits[0], np.uint64),
        np.array(bits[1], np.uint64),
        np.full(count, seed, np.int64),
        np.arange(count, dtype=np.int64),
        [None if source.random() < 0.2 else source.randbytes(source.randrange(size)) for source in sources],
        [None if source.random() < 0.5 else source.randbytes(8) for source in sources],
        attributes,
    )


def as_tuples(rows: NewRows | StoredRows) -> list[tuple[Any, ...]]:
    """All columns but the number, row by row; ids with their type."""
    columns = (rows.low, rows.high, rows.characters, rows.tokens)
    ids = [(type(name).__name__, name) for name in rows.ids]
    lists = [column.tolist() for column in columns]
    return list(zip(ids, *lists, rows.bodies, rows.signatures, rows.attributes, strict=True))


def contents(snapshot: Snapshot) -> dict[int, tuple[Any, ...]]:
    """Every stored row by seq."""
    found: dict[int, tuple[Any, ...]] = {}
    for rows in snapshot.scan(1, snapshot.last(), ALL, 7):
        assert 0 < len(rows) <= 7
        found |= dict(zip(rows.seqs.tolist(), as_tuples(rows), strict=True))
    return found


@dataclass
class Model:
    """What a truth should have."""

    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)
    last: int = 0

    def insert(self, rows: NewRows) -> list[int]:
        for name, row in zip(rows.ids, as_tuples(rows), strict=True):
            self.last += 1
            self.rows.pop(self.seqs.get(str(name), 0), None)
            self.rows[self.last], self.seqs[str(name)] = row, self.last
        return list(range(self.last - len(rows) + 1, self.last + 1))

    def delete(self, ids: list[Id]) -> int:
        gone = {str(name) for name in ids} & set(self.seqs)
        for name in gone:
            del self.rows[self.seqs.pop(name)]
        return len(gone)

    def assert_is(self, snapshot: Snapshot) -> None:
        assert (snapshot.last(), snapshot.count()) == (self.last, len(self.rows))
        assert contents(snapshot) == self.rows
        assert snapshot.alive(0, self.last + 9).tolist() == sorted(self.rows)
        middle = self.last // 2
        assert snapshot.alive(middle, self.last - 1).tolist() == [
            seq for seq in sorted(self.rows) if middle <= seq < self.last
        ]
        names = [*self.seqs, "unknown"]
        assert snapshot.find(names).tolist() == [*self.seqs.values(), 0]
        every = np.arange(self.last + 3)[::-1]
        fetched = snapshot.fetch(np.concatenate([every, every]), ALL)
        assert fetched.seqs.tolist() == sorted(self.rows)
        assert as_tuples(fetched) == [self.rows[seq] for seq in sorted(self.rows)]


IDS = st.one_of(
    st.integers(-3, 12), st.integers(-3, 12).map(str), st.sampled_from(["", "\0", "a\0", "\ud800", "ß"])
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.lists(IDS, max_size=8)),
        st.tuples(st.just("delete"), st.lists(IDS, max_size=8)),
        st.tuples(st.just("end"), st.sampled_from(["commit", "roll back", "reopen"])),
    ),
    max_size=25,
)


class RolledBack(Exception):
    pass


def apply(steps: list[tuple[str, Any]], place: Place, start: int) -> None:
    """Runs a history in transactions, and compares the truth with the model after each."""
    truth, model = place.create(), Model()
    transaction: list[tuple[str, Any]] = []
    for number, (kind, value) in enumerate([*steps, ("end", "commit")], start):
        if kind != "end":
            transaction.append((kind, (number, value)))
            continue
        tried = Model(dict(model.rows), dict(model.seqs), model.last)
        with suppress(RolledBack), truth.writing() as writer:
            for step, (seed, ids) in transaction:
                if step == "insert":
                    rows = new_rows(ids, seed)
                    assert writer.insert(rows).tolist() == tried.insert(rows)
                else:
                    assert writer.delete(ids) == tried.delete(ids)
            tried.assert_is(writer)
            if value == "roll back":
                raise RolledBack
        model = model if value == "roll back" else tried
        if value == "reopen":
            truth.close()
            truth = place.open()
        with truth.reading() as snapshot:
            model.assert_is(snapshot)
        transaction = []
    assert truth.check() == []
    assert sum(len(rows) for rows in truth.salvage()) == len(model.rows)
    truth.close()


def test_random_histories_agree_with_a_dict(places: Callable[[], Place]) -> None:
    @given(STEPS)
    def histories(steps: list[tuple[str, Any]]) -> None:
        apply(steps, places(), 0)

    histories()


@pytest.mark.slow
def test_a_longer_history_agrees_with_a_dict(place: Place) -> None:
    source = random.Random(3)
    steps: list[tuple[str, Any]] = []
    for _ in range(60):
        ids = [source.choice([str, int])(source.randrange(3000)) for _ in range(source.randrange(300))]
        steps.append((source.choice(["insert", "insert", "delete"]), ids))
        if source.random() < 0.4:
            steps.append(("end", source.choice(["commit", "roll back", "reopen"])))
    apply(steps, place, 1)


@pytest.mark.parametrize(
    "name", ["", "\0", "a\0b", "\ud800", "é", "x" * 10_000, "1", 1, -5, 10**30, "01", " 1"], ids=ascii
)
def test_every_id_comes_back_as_it_was(truth: DocumentStore, name: Id) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["before", name, "after"]))
    with truth.reading() as snapshot:
        (seq,) = snapshot.find([name])
        (found,) = snapshot.fetch(np.array([seq])).ids
        assert (type(found), found, seq) == (type(name), name, 2)


def test_an_integer_and_its_digits_are_one_document(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["1"]))
        writer.insert(new_rows([np.int64(1)]))
        assert writer.fetch(np.array([1, 2])).ids == [1]
        assert writer.count() == 1
        assert writer.delete(["1", 1]) == 1


@pytest.mark.parametrize(
    "name", [None, 1.5, True, b"x", 10**5000], ids=["None", "1.5", "True", "bytes", "digits"]
)
def test_other_ids_are_refused_and_change_nothing(truth: DocumentStore, name: Any) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))
        rows = new_rows(["b", "c"])
        with pytest.raises(InputError, match="id"):
            writer.insert(
                NewRows(["b", name], *(getattr(rows, column) for column in list(rows.__dict__)[1:]))
            )
    with truth.reading() as snapshot:
        assert (snapshot.count(), snapshot.last()) == (1, 1)


def test_extreme_values_come_back(truth: DocumentStore) -> None:
    whole = np.array([0, 2**63, 2**64 - 1], np.uint64)
    numbers = np.array([0, 2**62, 2**63 - 1])
    attributes = [
        Attributes(),
        Attributes((), float("inf"), -1e-300),
        Attributes(("a,b", ""), time=0.1, url=""),
    ]
    rows = NewRows(
        ["a", "b", "c"],
        whole,
        whole[::-1],
        numbers,
        numbers,
        [b"", None, b"\0" * 10**6],
        [b"", b"\0", None],
        attributes,
    )
    with truth.writing() as writer:
        writer.insert(rows)
    with truth.reading() as snapshot:
        assert as_tuples(snapshot.fetch(np.arange(4), ALL)) == as_tuples(rows)


def test_columns_that_were_not_asked_for_are_empty(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a", "b"]))
    with truth.reading() as snapshot:
        rows = snapshot.fetch(np.array([1, 2]), Columns(signature=True))
        assert (len(rows.bodies), len(rows.signatures), len(rows.attributes)) == (0, 2, 0)
        empty = snapshot.fetch(np.array([], np.int64), ALL)
        assert (len(empty), empty.seqs.dtype, empty.low.dtype) == (0, np.int64, np.uint64)
        assert list(snapshot.scan(3, 9, MATCH, 5)) == []


def test_any_number_of_documents_is_fetched_and_found(truth: DocumentStore) -> None:
    ids: list[Id] = [f"d{number}" for number in range(5000)]
    with truth.writing() as writer:
        writer.insert(new_rows(ids))
        assert writer.delete(ids[::3]) == len(ids[::3])
    with truth.reading() as snapshot:
        seqs = np.random.default_rng(0).permutation(np.arange(1, 5001))
        rows = snapshot.fetch(seqs, MATCH)
        assert rows.ids == [name for place, name in enumerate(ids) if place % 3]
        assert snapshot.find(rows.ids).tolist() == rows.seqs.tolist()
        assert snapshot.count() == len(rows)


def test_names_and_data_are_kept(place: Place, truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.set_about(method="minhash", odd="\0\ud800")
        writer.set_about(method="simhash")
        writer.set_blob("statistics", b"1" * 10**6)
        writer.set_blob("statistics", b"\0\xff")
    with place.open().reading() as snapshot:
        assert snapshot.about() == {"plan": "p", "method": "simhash", "odd": "\0\ud800"}
        assert snapshot.blob("statistics") == b"\0\xff"
        assert snapshot.blob("other") is None


def test_a_snapshot_does_not_see_later_commits(truth: DocumentStore) -> None:
    with truth.writing() as writer:
        writer.insert(new_rows(["a", "b"]))
    with truth.reading() as before:
        with truth.writing() as writer:
            writer.insert(new_rows(["b", "c"], seed=1))
            writer.delete(["a"])
            with truth.reading() as meanwhile:
                assert meanwhile.alive(1, 9).tolist() == [1, 2]
        with truth.reading() as after:
            assert after.alive(1, 9).tolist() == [3, 4]
            assert before.alive(1, 9).tolist() == [1, 2]
            assert (before.last(), before.count(), after.last()) == (2, 2, 4)
            assert before.find(["b"]).tolist() == [2]


def test_the_version_changes_with_every_commit_of_anybody(place: Place, truth: DocumentStore) -> None:
    other = place.open()
    seen = [truth.version()]
    for change in (
        lambda writer: writer.insert(new_rows(["a"])),
        lambda writer: writer.delete(["a"]),
        lambda writer: writer.set_about(x="y"),
        lambda writer: writer.set_blob("x", b""),
    ):
        with other.writing() as writer:
            change(writer)
        seen.append(truth.version())
    assert len(set(seen)) == 5
    assert truth.version() == other.version()
    with suppress(RolledBack), other.writing() as writer:
        writer.insert(new_rows(["b"]))
        raise RolledBack
    assert truth.version() == seen[-1]


def test_a_change_that_failed_half_way_is_never_committed(truth: DocumentStore) -> None:
    with pytest.raises(StorageError, match="rolled back"), truth.writing() as writer:
        writer.insert(new_rows(["a"]))
        writer._store = lambda rows: 1 / 0  # type: ignore[attr-defined]
        with suppress(ZeroDivisionError):
            writer.insert(new_rows(["b"]))
    with truth.reading() as snapshot:
        assert (snapshot.count(), snapshot.last()) == (0, 0)


def test_use_after_the_end_is_an_error(truth: DocumentStore) -> None:
    with truth.reading() as snapshot:
        pass
    with pytest.raises(RuntimeError, match="after"):
        snapshot.alive(1, 2)
    with truth.writing() as writer:
        pass
    with pytest.raises(RuntimeError, match="after"):
        writer.insert(new_rows(["a"]))
    truth.close()
    with pytest.raises(StorageError, match="closed"), truth.reading():
        pass


def test_a_place_has_one_truth(place: Place, truth: DocumentStore) -> None:
    with pytest.raises(OutputError, match="already"):
        place.create()
    with place.open().reading() as snapshot:
        assert snapshot.about() == {"plan": "p"}


def test_a_place_without_a_truth_is_refused(place: Place) -> None:
    with pytest.raises(InputError, match=r"no (such )?index"):
        place.open()


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


class Child:
    """A forked process that runs a function with a pipe to say things; any exception is said too."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(reading)
                work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
                code = 0
            except BaseException:
                os.write(writing, traceback.format_exc().encode())
            finally:
                os._exit(code)
        os.close(writing)
        self.pipe = os.fdopen(reading, "r")

    def ready(self, seconds: float = 60) -> str:
        """The next line that the child says."""
        assert select.select([self.pipe], [], [], seconds)[0], "the child says nothing"
        return self.pipe.readline().strip()

    def kill(self) -> list[str]:
        """Ends the child, and gives the lines it said before."""
        os.kill(self.pid, signal.SIGKILL)
        return self.join()

    def join(self) -> list[str]:
        lines = self.pipe.read().splitlines()
        self.pipe.close()
        os.waitpid(self.pid, 0)
        return lines


def write_batches(place: Place, start: int, say: Callable[[str], None], most: int = 10**9) -> None:
    """Batches of documents that replace the documents of earlier batches, each acknowledged when it is durable."""
    truth = place.open(wait=30)
    for batch in range(start, start + most):
        with truth.writing() as writer:
            writer.insert(new_rows([f"{batch % 5} {row}" for row in range(BATCH)], batch, 3000))
            writer.set_about(batch=str(batch))
        say(str(batch))


def assert_whole(snapshot: Snapshot) -> int:
    """The last batch; every batch is there as a whole, or not at all."""
    batch = int(snapshot.about().get("batch", -1))
    rows = [row for part in snapshot.scan(1, snapshot.last()) for row in part.characters.tolist()]
    expected = range(max(0, batch - 4), batch + 1)
    assert sorted(rows) == [each for each in expected for _ in range(BATCH)]
    assert snapshot.last() == (batch + 1) * BATCH
    assert snapshot.count() == len(rows)
    return batch


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


# SQLite


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "news.index"


def filled(folder: Path, count: int = 300, size: int = 300) -> dict[int, tuple[Any, ...]]:
    """A folder with an index, closed; and its rows."""
    truth = SqliteTruth.create(folder, {"plan": "p"})
    with truth.writing() as writer:
        writer.insert(new_rows([f"document {number}" for number in range(count)], 1, size))
        writer.set_blob("statistics", b"12345")
    with truth.writing() as writer:
        writer.delete([f"document {number}" for number in range(0, count, 10)])
    with truth.reading() as snapshot:
        rows = contents(snapshot)
    truth.close()
    return rows


def test_the_file_has_a_log_and_is_synchronous(folder: Path) -> None:
    truth = SqliteTruth.create(folder, {})
    with truth.reading() as snapshot:
        assert snapshot._all("PRAGMA journal_mode") == [("wal",)]
        assert snapshot._all("PRAGMA synchronous") == [(2,)]


def test_a_fork_in_the_middle_of_a_snapshot_is_refused_in_the_child(folder: Path) -> None:
    truth = SqliteTruth.create(folder, {})

    def work(say: Callable[[str], None]) -> None:
        for attempt in (lambda: truth.version(), lambda: SqliteTruth(folder)):
            try:
                attempt()
            except StorageError as problem:
                say(str(problem))

    with truth.reading():
        lines = Child(work).join()
    assert len(lines) == 2
    assert "forked" in lines[0]
    assert truth.version() == 0


def test_the_lock_of_a_killed_parent_is_not_kept_by_its_child(folder: Path) -> None:
    truth = SqliteTruth.create(folder, {})

    def work(say: Callable[[str], None]) -> None:
        with SqliteTruth(folder).writing():
            if os.fork() == 0:
                time.sleep(2)
                os._exit(0)
            say("forked")
            time.sleep(60)

    child = Child(work)
    assert child.ready() == "forked"
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    start = time.monotonic()
    with truth.writing():
        assert time.monotonic() - start < 1.5
    child.pipe.close()


def small_disk(tmp_path: Path) -> Path | None:
    """A file system of 4 MB, or None where this process may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if (
        os.getuid()
        or shutil.which("mount") is None
        or subprocess.run(command, capture_output=True).returncode
    ):
        return None
    return disk


def fill(truth: SqliteTruth) -> tuple[int, str]:
    """Batches until one fails: their number, and the sentence."""
    for batch in range(10_000):
        try:
            with truth.writing() as writer:
                writer.insert(new_rows([f"{batch} {row}" for row in range(20)], batch, 5000))
        except StorageError as problem:
            return batch, str(problem)
    raise AssertionError("the disk never was full")


def test_a_full_disk_loses_nothing_and_room_helps(tmp_path: Path) -> None:
    disk = small_disk(tmp_path)
    if disk is None:
        pytest.skip("a small file system needs the right to mount")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1 << 20))
        truth = SqliteTruth.create(disk / "news.index", {})
        batches, sentence = fill(truth)
        assert "the disk is full" in sentence and "truth.db" in sentence
        with truth.reading() as snapshot:
            assert snapshot.count() == snapshot.last() == 20 * batches
        ballast.unlink()
        with truth.writing() as writer:
            writer.insert(new_rows(["after"]))
        assert truth.check() == []
        truth.close()
        truth = SqliteTruth(disk / "news.index")
        with truth.reading() as snapshot:
            assert snapshot.count() == 20 * batches + 1
        truth.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_file_that_cannot_grow_is_an_error_that_loses_nothing(folder: Path) -> None:
    def work(say: Callable[[str], None]) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        truth = SqliteTruth.create(folder, {})
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        batches, sentence = fill(truth)
        say(sentence)
        with truth.reading() as snapshot:
            assert snapshot.count() == 20 * batches
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with truth.writing() as writer:
            writer.insert(new_rows(["after"]))
        say(str(20 * batches + 1))
        truth.close()

    sentence, count = Child(work).join()
    assert "the disk reports an error" in sentence
    truth = SqliteTruth(folder)
    with truth.reading() as snapshot:
        assert snapshot.count() == int(count)
    assert truth.check() == []


def flip(path: Path, source: random.Random) -> None:
    """Changes a bit, or a byte."""
    data = bytearray(path.read_bytes())
    place = source.randrange(len(data) if source.random() < 0.8 else 2000)
    data[place] ^= source.choice([1 << source.randrange(8), 255])
    path.write_bytes(data)


def everything(truth: SqliteTruth) -> tuple[Any, ...]:
    """What the truth answers to every question."""
    with truth.reading() as snapshot:
        rows = contents(snapshot)
        found = snapshot.find([row[0][1] for row in rows.values()]).tolist()
        state = (snapshot.last(), snapshot.count(), snapshot.about(), snapshot.blob("statistics"))
        return rows, found, snapshot.alive(0, 10**6).tolist(), state


def test_a_flipped_bit_is_noticed_or_harmless(folder: Path) -> None:
    rows = filled(folder)
    sound = (folder / "truth.db").read_bytes()
    expected = everything(SqliteTruth(folder))
    source, noticed, salvaged = random.Random(7), 0, 0
    flips = 5 * KILLS
    for _ in range(flips):
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "truth.db").write_bytes(sound)
        flip(folder / "truth.db", source)
        truth = SqliteTruth(folder, checked=False)
        damage = truth.check()
        noticed += bool(damage)
        if not damage:
            assert everything(truth) == expected
        else:
            with suppress(NeardupError):  # and nothing else
                everything(truth)
        saved = dict(
            pair for part in truth.salvage() for pair in zip(part.seqs.tolist(), as_tuples(part), strict=True)
        )
        assert saved.items() <= rows.items()
        salvaged += len(saved)
        truth.close()
    assert noticed > flips / 3
    assert salvaged > 0.75 * flips * len(rows)


def test_a_state_that_promises_too_much_does_not_stop_a_salvage(folder: Path) -> None:
    rows = filled(folder)
    other = sqlite3.connect(folder / "truth.db", isolation_level=None)
    other.execute("UPDATE state SET last = ?", (2**62,))
    other.close()
    truth = SqliteTruth(folder, checked=False)
    assert "The state of the index is damaged: its row has another checksum." in truth.check()
    assert sum(len(part) for part in truth.salvage()) == len(rows)


@pytest.mark.parametrize(
    "data", [b"", b"x" * 10_000, b"SQLite format 3\0" + bytes(5000)], ids=["empty", "text", "header"]
)
def test_a_file_that_is_not_ours_is_refused(folder: Path, data: bytes) -> None:
    folder.mkdir()
    (folder / "truth.db").write_bytes(data)
    with pytest.raises(
        IndexDamaged, match=r"truth\.db: the file is damaged, or it is not an index of neardup"
    ):
        SqliteTruth(folder)
    assert SqliteTruth(folder, checked=False).check()


def test_the_database_of_another_program_is_refused(folder: Path) -> None:
    folder.mkdir()
    other = sqlite3.connect(folder / "truth.db")
    other.execute("CREATE TABLE documents (seq)")
    other.commit()
    with pytest.raises(IndexDamaged, match="not an index of neardup"):
        SqliteTruth(folder)


def test_another_format_is_refused(folder: Path) -> None:
    filled(folder)
    other = sqlite3.connect(folder / "truth.db")
    other.execute("PRAGMA user_version = 9")
    other.close()
    with pytest.raises(InputError, match=r"format 9, .* reads 1"):
        SqliteTruth(folder)


def test_a_log_left_by_a_removed_file_is_not_read(folder: Path) -> None:
    def work(say: Callable[[str], None]) -> None:
        truth = SqliteTruth.create(folder, {})
        with truth.writing() as writer:
            writer.insert(new_rows(["old"]))
        say("written")
        time.sleep(60)

    child = Child(work)
    child.ready()
    child.kill()
    assert (folder / "truth.db-wal").stat().st_size > 0
    (folder / "truth.db").unlink()
    truth = SqliteTruth.create(folder, {})
    with truth.reading() as snapshot:
        assert snapshot.count() == 0
    assert truth.check() == []


def test_a_program_that_locks_the_file_is_named_as_such(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neardup.index.truth.sqlite_file.PATIENCE", 0.1)
    filled(folder)
    other = sqlite3.connect(folder / "truth.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    truth = SqliteTruth(folder)
    with pytest.raises(IndexBusy, match="another program"), truth.writing():
        pass
    other.execute("ROLLBACK")
    with truth.writing():
        pass


# PostgreSQL


@pytest.fixture
def own_server() -> Iterator[postgres.Server]:
    if reason := postgres.missing():
        pytest.skip(reason)
    running = postgres.Server()
    yield running
    running.stop()


def test_a_server_killed_in_the_middle_of_a_batch_leaves_the_index_unchanged(
    own_server: postgres.Server,
) -> None:
    truth = Place(own_server.url()).create()
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))
    with (
        pytest.raises(StorageError, match=r"server cannot be reached.*Nothing was changed"),
        truth.writing() as writer,
    ):
        writer.insert(new_rows(["b"]))
        own_server.kill()
        writer.insert(new_rows(["c"]))
    with pytest.raises(StorageError, match="cannot be reached"):
        truth.version()
    own_server.start()
    with truth.reading() as snapshot:
        assert (snapshot.count(), snapshot.last()) == (1, 1)
    with truth.writing() as writer:
        assert writer.insert(new_rows(["b"])).tolist() == [2]


def test_a_connection_lost_while_idle_is_made_again(own_server: postgres.Server) -> None:
    truth = Place(own_server.url()).create()
    with truth.reading(), truth.reading():
        pass  # two connections
    own_server.kill()
    own_server.start()
    assert truth.version() == 0
    with truth.writing() as writer:
        writer.insert(new_rows(["a"]))


def test_a_commit_without_an_answer_is_looked_up(own_server: postgres.Server) -> None:
    truth = Place(own_server.url()).create()

    def write(name: str, commits: bool) -> None:
        with truth.writing() as writer:
            writer.insert(new_rows([name]))
            writer._connection = Lost(writer._connection, own_server, commits)  # type: ignore[attr-defined]

    write("committed", True)
    with pytest.raises(StorageError, match="lost during a commit; nothing was changed"):
        write("not committed", False)
    with truth.reading() as snapshot:
        assert snapshot.find(["committed", "not committed"]).tolist() == [1, 0]
        assert (snapshot.count(), snapshot.last(), snapshot.version()) == (1, 1, 1)


def test_a_commit_whose_server_stays_away_is_in_doubt(own_server: postgres.Server) -> None:
    Place(own_server.url()).create()
    truth = Place(own_server.url()).open(wait=0.3)
    with (
        pytest.raises(StorageError, match="lost during a commit; the batch is stored wholly or not at all"),
        truth.writing() as writer,
    ):
        writer.insert(new_rows(["a"]))
        writer._connection = Lost(writer._connection, own_server, True, False)  # type: ignore[attr-defined]
    own_server.start()
    with truth.reading() as snapshot:
        assert snapshot.count() == 1


class Lost:
    """A connection whose server dies with COMMIT: just after it, or just before."""

    def __init__(self, connection: Any, server: postgres.Server, commits: bool, returns: bool = True) -> None:
        self.connection, self.server, self.commits, self.returns = connection, server, commits, returns

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, statement: str, *values: Any, **options: Any) -> Any:
        if statement != "COMMIT":
            return self.connection.execute(statement, *values, **options)
        if self.commits:
            self.connection.execute(statement)
        self.server.kill()
        if self.returns:
            self.server.start()
        return self.connection.execute("SELECT 1")


@pytest.mark.slow
def test_killed_servers_lose_nothing_that_was_acknowledged(own_server: postgres.Server) -> None:
    place, source, last = Place(own_server.url()), random.Random(6), -1
    place.create().close()
    for _ in range(max(3, KILLS // 5)):
        child = Child(lambda say, start=last + 1: write_batches(place, start, say))
        said = child.ready()
        assert said.isdigit(), said
        time.sleep(source.random() * 0.2)
        own_server.kill()
        os.kill(child.pid, signal.SIGTERM)  # it may be waiting for the outcome of a commit
        lines = [said, *(line for line in child.join() if line.isdigit())]
        own_server.start()
        truth = place.open()
        with truth.reading() as snapshot:
            last = assert_whole(snapshot)
        assert last in (int(lines[-1]), int(lines[-1]) + 1)
        assert truth.check() == []
        truth.close()


def test_indexes_of_one_database_are_apart(server: postgres.Server) -> None:
    truths = [Place(server.url(name)).create(name=name) for name in ("one", 'two "x" %s', "three")]
    with truths[0].writing() as writer, truths[1].writing() as other:
        writer.insert(new_rows(["a"]))
        other.insert(new_rows(["b", "c"]))
    counts = []
    for truth in truths:
        with truth.reading() as snapshot:
            counts.append(snapshot.count())
    assert counts == [1, 2, 0]


def test_a_damaged_row_in_the_server_is_noticed_and_not_salvaged(server: postgres.Server) -> None:
    truth = Place(server.url("damaged")).create()
    with truth.writing() as writer:
        writer.insert(new_rows([f"{number}" for number in range(20)], size=300))
        writer._all("UPDATE documents SET tokens = tokens + 1 WHERE seq = 3")
        writer._all("UPDATE bodies SET signature = 'x' WHERE seq = (SELECT max(seq) FROM bodies)")
    found = truth.check()
    assert len(found) == 2 and "Document 3 is damaged" in found[0]
    assert sum(len(rows) for rows in truth.salvage()) == 18


def test_a_schema_that_is_not_ours_is_refused(server: postgres.Server) -> None:
    import psycopg

    address = server.url("x").replace("&index=x", "")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.documents (seq int)")
        connection.execute("CREATE SCHEMA newer; CREATE TABLE newer.state (last int)")
        connection.execute("COMMENT ON SCHEMA newer IS 'neardup index, format 9'")
    with pytest.raises(InputError, match="not an index of neardup"):
        Place(server.url("other")).open()
    with pytest.raises(InputError, match="format 9"):
        Place(server.url("newer")).open()


def test_messages_do_not_have_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match="cannot be reached") as raised:
        Place("postgresql://me:secret@localhost:1/news?index=a").open()
    assert "secret" not in str(raised.value)
    with pytest.raises(InputError) as unread:
        Place("postgresql://me:secret@localhost:1/news?nonsense=secret").open()
    assert "secret" not in str(unread.value)
    with pytest.raises(ParameterError, match="index"):
        Place("postgresql://localhost/news?index=").open()
