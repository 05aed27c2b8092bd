"""Work on chunks in threads, results in order, never more than a few chunks under way."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from neardup.errors import ParameterError

Item = TypeVar("Item")
Answer = TypeVar("Answer")
MOST_THREADS = 1024


def default_threads() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(given: object) -> int:
    """The number of threads to use: as given, or one for each processor."""
    if given is None:
        return default_threads()
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MOST_THREADS:
        raise ParameterError("threads", "neardup", f"a whole number from 1 to {MOST_THREADS}", given)
    return given


def ordered_map(
    work: Callable[[Item], Answer], items: Iterable[Item], threads: int, ahead: int = 16
) -> Iterator[Answer]:
    """work(item) for each item, in order; the kernels inside release the interpreter's lock.

    The calling thread draws the items (reads the input, usually) while the threads work. At most
    threads + ahead chunks exist at a time, which is what bounds memory.
    """
    if threads <= 1:
        yield from map(work, items)
        return
    pending: deque[Future[Answer]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="neardup") as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                while len(pending) >= threads + ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def prefetched(items: Iterable[Item], threads: int) -> Iterator[Item]:
    """The same items, drawn one ahead in a thread of their own when there is more than one."""
    if threads <= 1:
        yield from items
        return
    source = iter(items)
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="neardup-read") as pool:
        upcoming = pool.submit(next, source, end)
        while (item := upcoming.result()) is not end:
            upcoming = pool.submit(next, source, end)
            yield item  # type: ignore[misc]
