"""Work on chunks in threads, results in order, never more than a few chunks under way."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

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

    The calling thread draws the items (reads the input, usually) while the other threads work, and works too when
    there are enough of them. At most threads + ahead chunks exist at a time, which is what bounds memory.
    """
    if threads <= 1:
        yield from map(work, items)
        return
    pending: deque[_Piece[Item, Answer]] = deque()
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="neardup") as pool:
        try:
            for item in items:
                pending.append(_Piece(item, pool.submit(work, item)))
                while len(pending) >= threads + ahead:
                    yield _first(pending, work)
            while pending:
                yield _first(pending, work)
        finally:
            for piece in pending:
                piece.answer.cancel()


@dataclass
class _Piece(Generic[Item, Answer]):
    """An item, and what will come of it."""

    item: Item
    answer: Future[Answer]


def _first(pending: deque[_Piece[Item, Answer]], work: Callable[[Item], Answer]) -> Answer:
    """The first answer; until it is there, this thread does what no other has begun."""
    while not pending[0].answer.done():
        piece = next((piece for piece in pending if piece.answer.cancel()), None)
        if piece is None:
            break
        piece.answer = _done(work, piece.item)
    return pending.popleft().answer.result()


def _done(work: Callable[[Item], Answer], item: Item) -> Future[Answer]:
    """The answer, or the error, which is told when its turn comes."""
    answer: Future[Answer] = Future()
    try:
        answer.set_result(work(item))
    except Exception as error:
        answer.set_exception(error)
    return answer


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
