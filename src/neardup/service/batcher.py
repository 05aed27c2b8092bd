"""Small requests answered together: threads take what waits, so that a batch grows with the load and is one without.

The first request of an idle server starts at once. While a thread is busy, or batches find several requests waiting,
the next one lingers until it is worth a thread's turn, for 2 ms at the most: two threads at work on one request each
take turns with the interpreter, and are slower than one with both.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from neardup.service.problems import Problem

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
LINGER = 0.002  # seconds
ENOUGH = 8  # documents that are worth a turn


@dataclass(frozen=True)
class _Waiting(Generic[Asked, Answer]):
    asked: Asked
    size: int
    since: float
    answer: asyncio.Future[Answer]


class Batcher(Generic[Asked, Answer]):
    """A bounded queue before some threads. Everything but `run` happens on the event loop."""

    def __init__(
        self,
        name: str,
        run: Callable[[Sequence[Asked]], Sequence[Answer | Exception]],
        *,
        threads: int,
        documents: int,
        queue: int,
        notice: Callable[[int, int], None] = lambda requests, documents: None,
    ) -> None:
        self.name, self._run, self._notice = name, run, notice
        self._most, self._queue = documents, queue
        self._waiting: deque[_Waiting[Asked, Answer]] = deque()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"neardup-{name}")
        self._threads, self._free, self._loaded = threads, threads, False
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False

    def __len__(self) -> int:
        return len(self._waiting)

    async def ask(self, asked: Asked, size: int, *, patient: bool = False) -> Answer:
        """The answer; refused if the queue is full, unless the caller is patient (a stream that waits its turn)."""
        if self._closing:
            raise Problem("stopping", "The server is stopping. Ask another one, or try again later.")
        if len(self._waiting) >= self._queue and not patient:
            raise Problem("overloaded", f"{len(self._waiting)} requests are waiting. Try again later.")
        loop = asyncio.get_running_loop()
        waiting: _Waiting[Asked, Answer] = _Waiting(asked, size, loop.time(), loop.create_future())
        self._waiting.append(waiting)
        self._start()
        return await waiting.answer

    def _start(self) -> None:
        """Give batches to free threads, now or when they have lingered."""
        while self._free and self._waiting:
            loop = asyncio.get_running_loop()
            due = self._waiting[0].since + LINGER
            few = sum(one.size for one in self._waiting) < ENOUGH
            others = self._loaded or self._free < self._threads
            if others and few and loop.time() < due and not self._closing:
                if self._timer is None:
                    self._timer = loop.call_at(due, self._due)
                return
            batch = self._take()
            if batch:
                self._loaded = len(batch) > 1
                self._free -= 1
                self._notice(len(batch), sum(one.size for one in batch))
                self._pool.submit(self._work, loop, batch)

    def _work(self, loop: asyncio.AbstractEventLoop, batch: list[_Waiting[Asked, Answer]]) -> None:
        """In a thread: the answers of a batch, handed to the event loop."""
        answers: Sequence[Answer | Exception]
        try:
            answers = self._run([one.asked for one in batch])
        except BaseException as error:
            answers = [_as_error(error)] * len(batch)
        with suppress(RuntimeError):  # the event loop was closed: nobody waits
            loop.call_soon_threadsafe(self._finish, batch, answers)

    def _due(self) -> None:
        self._timer = None
        self._start()

    def _take(self) -> list[_Waiting[Asked, Answer]]:
        batch: list[_Waiting[Asked, Answer]] = []
        size = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= self._most):
            one = self._waiting.popleft()
            if not one.answer.done():  # its request was given up
                batch.append(one)
                size += one.size
        return batch

    def _finish(self, batch: list[_Waiting[Asked, Answer]], answers: Sequence[Answer | Exception]) -> None:
        self._free += 1
        for one, answer in zip(batch, answers, strict=True):
            if one.answer.done():
                continue
            if isinstance(answer, Exception):
                one.answer.set_exception(answer)
            else:
                one.answer.set_result(answer)
        self._start()

    async def close(self) -> None:
        """Finish what waits, and end the threads."""
        self._closing = True
        self._start()
        while self._waiting or self._free < self._threads:
            await asyncio.sleep(0.01)
        self._pool.shutdown()


def _as_error(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
