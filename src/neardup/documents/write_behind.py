"""A file that a thread of its own writes, while others encode what comes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

PIECE = 4 << 20  # bytes that are written together
WAITING = 2  # pieces that wait at the most


@contextmanager
def written_behind(path: Path, threads: int) -> Iterator[Path | IO[bytes]]:
    """The path itself for one thread; for more a stream, whose bytes are in the file at the end.

    An error of writing surfaces in a later write, or at the end.
    """
    if threads <= 1:
        yield path
        return
    with (
        path.open("wb", buffering=0) as file,
        ThreadPoolExecutor(1, thread_name_prefix="neardup-write") as pool,
    ):
        stream = _Behind(file, pool)
        yield cast(IO[bytes], stream)
        stream.flush()


class _Behind:
    """A stream that gathers bytes, and hands pieces of them to a thread."""

    closed = False

    def __init__(self, file: Any, pool: ThreadPoolExecutor) -> None:
        self._file, self._pool = file, pool
        self._parts: list[Any] = []
        self._waiting: deque[Future[None]] = deque()
        self._size = self._position = 0

    def write(self, data: Any) -> int:
        """Take bytes, which nobody changes afterwards."""
        view = memoryview(data).cast("B")
        self._parts.append(view)
        self._size += len(view)
        self._position += len(view)
        if self._size >= PIECE:
            self._submit()
        return len(view)

    def tell(self) -> int:
        """How many bytes came."""
        return self._position

    def flush(self) -> None:
        """Have all bytes written."""
        self._submit()
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Whoever opened the file closes it."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def _submit(self) -> None:
        while len(self._waiting) >= WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(self._write, self._parts))
        self._parts, self._size = [], 0

    def _write(self, parts: list[Any]) -> None:
        for view in parts:
            while len(view):
                view = view[self._file.write(view) :]
