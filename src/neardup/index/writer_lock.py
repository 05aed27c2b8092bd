"""The lock of the one writer of an index: a file that the kernel unlocks when its holder ends, however it ends.

The lock is flock's: it belongs to the open file, so that threads of one process exclude each other like processes do.
The file says who holds it. It is never removed: a lock on a removed file would exclude nobody.
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
from datetime import datetime
from pathlib import Path

from neardup.errors import IndexBusy, StorageError

_LONGEST_PAUSE = 0.05  # seconds between two attempts

_held: set[int] = set()  # file descriptors


def _forget_in_child() -> None:
    """Closes inherited locks: a forked worker would otherwise keep the lock of a parent that was killed."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


@contextmanager
def writer_lock(path: Path, wait: float) -> Iterator[None]:
    """Holds the lock inside; raises IndexBusy if another writer keeps it for longer than `wait` seconds."""
    owner = os.getpid()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        raise StorageError(f"{path}: the index cannot be written ({problem.strerror}).") from problem
    _held.add(descriptor)
    try:
        _acquire(descriptor, path, wait)
        _write_holder(descriptor)
        try:
            yield
        finally:
            if os.getpid() == owner:
                with suppress(OSError):
                    os.ftruncate(descriptor, 0)
    finally:
        if os.getpid() == owner:  # a forked child has closed its copy already
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


def _write_holder(descriptor: int) -> None:
    """Says who holds the lock. A disk without room for this may still have room for the transaction's reuse."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200] if sys.argv else ""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    holder = json.dumps({"pid": os.getpid(), "command": command, "since": since})
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)


def read_holder(path: Path) -> str:
    """Who holds the lock, for a sentence."""
    try:
        holder = json.loads(path.read_bytes())
        return f"process {holder['pid']} ({holder['command']}) since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
