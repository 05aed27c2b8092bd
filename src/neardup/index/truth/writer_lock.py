"""The lock of the one writer of an index: a file that the kernel unlocks when its holder ends, however it ends.

The lock is flock's: it belongs to the open file, so that threads of one process exclude each other like processes do.
The file says who holds it. It is never removed: a lock on a removed file would exclude nobody.

Between writers the file has the number of the last commit, written after that commit was durable. A truth with fewer
commits has lost some: SQLite takes a damaged log for one that ends where the damage begins, and says nothing.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from neardup.errors import IndexBusy, StorageError

_LONGEST_PAUSE = 0.05  # seconds between two attempts
_LONGEST = 4096  # bytes of the file

_held: set[int] = set()  # file descriptors


def _forget_in_child() -> None:
    """Closes inherited locks: a forked worker would otherwise keep the lock of a parent that was killed."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


@dataclass
class HeldLock:
    """What the lock's file keeps for the next writer."""

    commits: int  # that are durable; 0: not known


@contextmanager
def writer_lock(path: Path, wait: float) -> Iterator[HeldLock]:
    """Holds the lock inside; raises IndexBusy if another writer keeps it for longer than `wait` seconds."""
    creator = os.getpid()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        raise StorageError(f"{path}: the index cannot be written ({problem.strerror}).") from problem
    _held.add(descriptor)
    try:
        _acquire(descriptor, path, wait)
        before = _content(descriptor)
        lock = HeldLock(_commits(before))
        size = _write(descriptor, {**_holder(), **_counted(lock.commits)}, len(before))
        try:
            yield lock
        finally:
            if os.getpid() == creator:
                _write(descriptor, _counted(lock.commits), size)
    finally:
        if os.getpid() == creator:  # a forked child has closed its copy already
            _held.discard(descriptor)
            os.close(descriptor)


def _acquire(descriptor: int, path: Path, wait: float) -> None:
    end, pause = time.monotonic() + wait, 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as problem:
            if problem.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                raise StorageError(f"{path}: the file cannot be locked ({problem.strerror}).") from problem
        left = end - time.monotonic()
        if left <= 0:
            raise IndexBusy(str(path.parent), read_holder(path), wait)
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _holder() -> dict[str, Any]:
    """Who holds the lock."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200] if sys.argv else ""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"pid": os.getpid(), "command": command, "since": since}


def _counted(commits: int) -> dict[str, Any]:
    return {"commits": commits, "checksum": crc32(b"%d" % commits)} if commits else {}


def _write(descriptor: int, values: dict[str, Any], size: int) -> int:
    """Replaces the file's content of this size, and returns the new one; spaces cover a longer one.

    The file never shrinks: that would cost each commit two changes of its size. A disk without room for this may still
    have room for the transaction's reuse.
    """
    data = (json.dumps(values).encode() if values else b"").ljust(size)
    with suppress(OSError):
        os.pwrite(descriptor, data, 0)
    return len(data)


def _content(descriptor: int) -> bytes:
    """The first bytes of the file, more than we write; nothing if it cannot be read."""
    try:
        return os.pread(descriptor, _LONGEST, 0)
    except OSError:
        return b""


def _values(data: bytes) -> Any:
    """What the file's content says; after a kill the rest of a longer one may follow it."""
    return json.JSONDecoder().raw_decode(data.decode())[0]


def _commits(data: bytes) -> int:
    try:
        found = _values(data)
        return int(found["commits"]) if _counted(found["commits"])["checksum"] == found["checksum"] else 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0


def read_commits(path: Path) -> int:
    """The number of commits that were durable when the lock was last given back; 0 if it is not known."""
    try:
        return _commits(path.read_bytes())
    except OSError:
        return 0


def read_holder(path: Path) -> str:
    """Who holds the lock, for a sentence."""
    try:
        holder = _values(path.read_bytes())
        return f"process {holder['pid']} ({holder['command']}) since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
