"""NDJSON: documents line by line, any number of them, answered line by line when the last one has been read.

A client that sends does not read yet; so results wait in a file, not in memory. Lines are stored or looked up a chunk
at a time, each chunk as a whole. A line that is no document is answered as an error, and the next lines go on.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from neardup.service.bodies import lines, parsed
from neardup.service.changes import COMPARED
from neardup.service.core import LOOKED_UP, Service
from neardup.service.models import Document
from neardup.service.problems import PREFIX, Problem, problem_of
from neardup.service.settings import MEGABYTE

CHUNK = 1000  # documents that are stored together …
CHUNK_BYTES = 4 * MEGABYTE  # … and bytes of their lines
IN_MEMORY = MEGABYTE  # bytes of results
Rows = list[dict[str, Any]]


@dataclass
class Chunk:
    """Some lines, and what became of each."""

    number: int
    first: int  # the number of its first line
    raw: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Read:
    """The documents of a chunk, the raw lines that they are of, and the errors of the other lines."""

    number: int
    documents: Sequence[Document]
    raw: bytes
    places: Sequence[int]  # of the documents among the lines
    errors: dict[int, Problem]


def read_lines(chunk: Chunk, check: Callable[[Document], Document]) -> Read:
    """The documents of a chunk; a line that is none has an error."""
    documents, places, kept, errors = list[Document](), list[int](), list[bytes](), dict[int, Problem]()
    for place, line in enumerate(chunk.raw):
        try:
            documents.append(check(parsed(Document, line)))
            places.append(place)
            kept.append(line)
        except Problem as problem:
            errors[place] = problem
    return Read(chunk.number, documents, b"\n".join(kept), places, errors)


async def chunks(request: Request, service: Service, most: int) -> AsyncIterator[Chunk]:
    """The lines of the body, some at a time."""
    with service.buffered.share() as share, service.buffered.share() as buffer:
        chunk, size, number = Chunk(0, 1), 0, 1
        async for line in lines(request, service.settings.limits, share):
            chunk.raw.append(line)
            size += len(line)
            number += 1
            buffer.resize(size)
            if len(chunk.raw) >= most or size >= CHUNK_BYTES:
                yield chunk
                chunk, size = Chunk(chunk.number + 1, number), 0
        if chunk.raw:
            yield chunk


class Results:
    """The lines of an answer, in memory or in a temporary file of limited size: short lines may have long answers."""

    def __init__(self, most: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self._most, self._size = most, 0
        self.counts: Counter[str] = Counter()

    def add(self, first: int, read: Read, rows: Rows) -> None:
        """Write the results of a chunk in the order of its lines."""
        by_place = dict(zip(read.places, rows, strict=True))
        out = []
        for place in range(len(read.places) + len(read.errors)):
            if place in read.errors:
                problem = read.errors[place]
                row: dict[str, Any] = {
                    "line": first + place,
                    "error": PREFIX + problem.kind,
                    "detail": problem.detail,
                }
                self.counts["error"] += 1
            else:
                row = by_place[place]
                self.counts[str(row.get("status", "answered"))] += 1
            out.append(json.dumps(row))
        data = ("\n".join(out) + "\n").encode()
        self._size += len(data)
        if self._size > self._most:
            raise Problem("answer-too-large", f"Results may have {self._most:,} bytes: send fewer lines.")
        self._file.write(data)

    async def body(self) -> AsyncIterator[bytes]:
        """The answer: a line for each line, and the counts."""
        try:
            await asyncio.to_thread(self._file.seek, 0)
            while data := await asyncio.to_thread(self._file.read, 1 << 16):
                yield data
            yield (json.dumps({"counts": dict(sorted(self.counts.items()))}) + "\n").encode()
        finally:
            self._file.close()

    def close(self) -> None:
        """Forget the results."""
        self._file.close()


async def answer_lines(
    request: Request,
    service: Service,
    most: int,
    check: Callable[[Document], Document],
    answer: Callable[[Read], Coroutine[Any, Any, Rows]],
) -> Results:
    """The results of all lines. If the body cannot be read to its end, the problem says what was done before."""
    results = Results(service.settings.limits.stream)
    try:
        async for chunk in chunks(request, service, most):
            read = await asyncio.to_thread(read_lines, chunk, check)
            rows = await answer(read) if read.documents else []
            await asyncio.to_thread(results.add, chunk.first, read, rows)
    except BaseException as error:
        done = dict(sorted(results.counts.items()))
        results.close()
        if isinstance(error, Exception) and done:
            problem = problem_of(error)
            raise Problem(problem.kind, problem.detail, **problem.more, done=done) from error
        raise
    return results


def chunk_size(changes: bool, if_new: bool) -> int:
    """How many documents are stored or looked up together."""
    return LOOKED_UP if not changes else COMPARED if if_new else CHUNK
