"""Ordered maps over chunks in threads, with a bounded number of chunks in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from neardup.errors import ParameterError

Item = TypeVar("Item")
Output = TypeVar("Output")
MOST_THREADS = 1024
PATIENCE = 5.0  # seconds without a result, after which the threads are looked at


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
    work: Callable[[Item], Output], items: Iterable[Item], threads: int, ahead: int = 16
) -> Iterator[Output]:
    """work(item) for each item, in order; the kernels inside release the interpreter's lock.

    The calling thread draws the items (usually by reading the input) while the other threads work, and works too when
    enough items wait. At most threads + ahead chunks exist at a time, which bounds memory.
    """
    if threads <= 1:
        yield from map(work, items)
        return
    pending: deque[_Piece[Item, Output]] = deque()
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="neardup") as pool:
        try:
            for item in items:
                pending.append(_Piece(item, pool.submit(work, item)))
                while len(pending) >= threads + ahead:
                    yield _first(pending, work, pool)
            while pending:
                yield _first(pending, work, pool)
        finally:
            for piece in pending:
                piece.future.cancel()


@dataclass
class _Piece(Generic[Item, Output]):
    """An item and its future result."""

    item: Item
    future: Future[Output]


def _first(
    pending: deque[_Piece[Item, Output]], work: Callable[[Item], Output], pool: ThreadPoolExecutor
) -> Output:
    """The first result; until it is ready, this thread works on items that no other has begun."""
    while not pending[0].future.done():
        piece = next((piece for piece in pending if piece.future.cancel()), None)
        if piece is None:
            break
        piece.future = _done(work, piece.item)
    return _result(pending.popleft().future, pool)


def _result(future: Future[Output], pool: ThreadPoolExecutor) -> Output:
    """The result of a future; a MemoryError if a thread has died of a lack of memory: it would never come."""
    while True:
        wait([future], timeout=PATIENCE)
        if future.done():
            return future.result()
        if not all(thread.is_alive() for thread in pool._threads):
            raise MemoryError("a thread has died")


def _done(work: Callable[[Item], Output], item: Item) -> Future[Output]:
    """The result, or the error, which is raised when its turn comes."""
    future: Future[Output] = Future()
    try:
        future.set_result(work(item))
    except Exception as error:
        future.set_exception(error)
    return future


def prefetched(items: Iterable[Item], threads: int) -> Iterator[Item]:
    """The same items, drawn one ahead in a thread of their own when there is more than one."""
    if threads <= 1:
        yield from items
        return
    source = iter(items)
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="neardup-read") as pool:
        upcoming = pool.submit(next, source, end)
        while (item := _result(upcoming, pool)) is not end:
            upcoming = pool.submit(next, source, end)
            yield item  # type: ignore[misc]
