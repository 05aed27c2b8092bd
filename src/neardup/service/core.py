"""What all requests of a server share: the index, the queues before it, and who may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from neardup.errors import NeardupError
from neardup.index.index import Index
from neardup.service.batcher import Batcher
from neardup.service.bodies import Buffered
from neardup.service.changes import Change, Results, store
from neardup.service.logs import Log
from neardup.service.metrics import Metrics
from neardup.service.problems import Problem
from neardup.service.questions import Answers, Question, answered
from neardup.service.replays import Replays
from neardup.service.settings import Settings
from neardup.service.tokens import AccessTokens

Value = TypeVar("Value")
LOOKED_UP = 64  # documents of a batch of questions: few enough that small requests do not wait long
COMMITTED = 1000  # documents of a batch of changes


class Service:
    """A server without its network."""

    def __init__(self, index: Index, settings: Settings, tokens: AccessTokens, log: Log) -> None:
        self.index, self.settings, self.tokens, self.log = index, settings, tokens, log
        self.metrics, self.replays = Metrics(), Replays()
        self.buffered = Buffered(settings.limits.buffered)
        self.stopping = False
        queue = settings.limits.queue
        self.questions: Batcher[Question, Answers] = Batcher(
            "questions",
            self._answered,
            threads=settings.threads,
            documents=LOOKED_UP,
            queue=queue,
            notice=lambda _, documents: self.metrics.batches.labels("questions").observe(documents),
        )
        self.changes: Batcher[Change, Results] = Batcher(
            "changes",
            self._stored,
            threads=1,
            documents=COMMITTED,
            queue=queue,
            notice=lambda _, documents: self.metrics.batches.labels("changes").observe(documents),
        )
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="neardup-single")
        self._singles = 0
        for gauge, value in (
            (self.metrics.waiting.labels("questions"), lambda: len(self.questions)),
            (self.metrics.waiting.labels("changes"), lambda: len(self.changes)),
            (self.metrics.buffered, lambda: self.buffered.used),
            (self.metrics.logs_lost, lambda: self.log.lost),
        ):
            self.metrics.watch(gauge, value)

    def _answered(self, questions: Sequence[Question]) -> Sequence[Answers | Exception]:
        return answered(self.index, questions)

    def _stored(self, changes: Sequence[Change]) -> Sequence[Results | Exception]:
        return store(self.index, changes, self.replays)

    async def single(self, work: Callable[..., Value], *arguments: Any) -> Value:
        """Something about one document, done in a thread."""
        if self._singles >= self.settings.limits.queue:
            raise Problem("overloaded", f"{self._singles} requests are waiting. Try again later.")
        self._singles += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        finally:
            self._singles -= 1

    def warm_up(self) -> None:
        """Compile what a question needs, and open what it reads."""
        from neardup.service.models import Document
        from neardup.service.tokens import Caller

        try:
            answered(
                self.index, [Question("check", [Document(text="one two three four five six")], Caller())]
            )
        except Problem:  # an index without document frequencies
            return

    def reload_tokens(self) -> None:
        """Read the tokens again; a file that cannot be used leaves them as they are."""
        try:
            self.log.line("tokens-reloaded", tokens=self.tokens.reload())
        except NeardupError as error:
            self.log.line("tokens-not-reloaded", "error", message=str(error))

    async def close(self) -> None:
        """Finish what waits, and write segments, so that the next start has little to sign again."""
        self.stopping = True
        await self.changes.close()
        await self.questions.close()
        self._pool.shutdown()
        await asyncio.to_thread(self._flush)
        self.index.close()

    def _flush(self) -> None:
        try:
            with self.index.reading() as (snapshot, captured):
                captured.search.flush(snapshot)
        except NeardupError as error:  # derived files only: the documents are durable
            self.log.line("segments-not-written", "warning", message=str(error))
