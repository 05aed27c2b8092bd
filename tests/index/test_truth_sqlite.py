"""The truth in SQLite: its file, forks, full disks, damage."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from truths import KILLS, Child, as_tuples, contents, new_rows

from neardup.errors import (
    IndexBusy,
    IndexDamaged,
    InputError,
    NeardupError,
    StorageError,
)
from neardup.index.truth.sqlite import SqliteTruth


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
