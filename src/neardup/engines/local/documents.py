"""Documents from sources: batches are read, their texts spooled, and chunks handed out to be represented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Texts, arrow_array
from neardup.documents import (
    Batch,
    Problems,
    Source,
    choose_columns,
    document_ids,
    plain_column,
    watched,
)
from neardup.engines.core.documents import (
    InputColumns,
    TextColumns,
    compared_texts,
    numbered_ids,
    plan_fields,
)
from neardup.engines.core.represent import chunks
from neardup.engines.local.checkpoint.problems import ResumableProblems
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.errors import InputError
from neardup.plan import Plan


@dataclass(frozen=True)
class DocumentChunk:
    """Some documents: their texts, and their other columns."""

    texts: Texts
    columns: dict[str, pa.Array]


class DocumentReader:
    """Reads batches from the sources, spools the texts, and hands out chunks."""

    def __init__(self, plan: Plan, columns: InputColumns, work: Workspace, problems: Problems) -> None:
        self.plan, self.columns, self.work = plan, columns, work
        self.problems = ResumableProblems(problems, work)
        self.alone_in_memory = self.numbered = False
        self.text_columns: set[str | None] = set()  # None: some text is not what stands in its column
        self.counts: list[int] = []  # the documents of each source that was read to its end
        self.skip = 0  # documents that an earlier run has read

    def resume(self, rows: SpilledRows) -> None:
        """Continue behind the last checkpoint of an earlier run."""
        state = self.work.state["read"]
        self.numbered, self.text_columns = state["numbered"], set(state["text_columns"])
        self.counts, self.skip = state["counts"], len(rows)
        sizes = rows.numbers("bytes") if len(rows) else np.zeros(0, np.int64)
        self.work.spool.restore(sizes, self.work.written)
        self.problems.resume(len(rows))

    def state(self, done: int) -> dict[str, Any]:
        """What `resume` needs after so many documents."""
        self.problems.keep(done)
        ends = np.cumsum(self.counts)
        return {
            "read": {
                "numbered": self.numbered,
                "text_columns": sorted(self.text_columns, key=str),
                "counts": [count for count, end in zip(self.counts, ends, strict=True) if end <= done],
            }
        }

    def chunks(self, sources: Sequence[Source]) -> Iterator[DocumentChunk]:
        """All documents, chunk by chunk; without those of an earlier run."""
        self.alone_in_memory = len(sources) == 1 and sources[0].format == "memory"
        known, self.counts = self.counts, []
        for number, source in enumerate(sources):
            if number < len(known) and self.problems.spared(source):  # read to its end by an earlier run
                self._passed(known[number])
                self.counts.append(known[number])
                continue
            before = self.problems.taken
            yield from self._source(number, source)
            self.counts.append(self.problems.taken - before)

    def _source(self, number: int, source: Source) -> Iterator[DocumentChunk]:
        names = source.names()
        text, identity = choose_columns(names, text=self.columns.text, id=self.columns.id, source=source.name)
        requested = [text, *([identity] if identity else []), *self._extra(names, source.name)]
        start = self.skip if self.problems.spared(source) else 0
        for batch in watched(source, list(dict.fromkeys(requested)), self.problems, start):
            if start:  # the source has left out whole parts of itself, all of whose rows were documents
                self._passed(int(batch.numbers[0]) - 1)
                start = 0
            yield from self._take(number, batch, text, identity)

    def _passed(self, documents: int) -> None:
        """So many documents have come out of the sources."""
        self.skip = max(0, self.skip - documents)
        self.problems.taken += documents

    def _extra(self, names: Sequence[str], source: str) -> list[str]:
        columns = {"--keep": self.plan.keep.column, "--df-unit": self.plan.df_column}
        asked = [(option, name) for option, name in columns.items() if name is not None]
        asked += [("--fields", name) for name in plan_fields(self.plan)]
        for option, column in asked:
            if names and column not in names:
                known = ", ".join(names)
                raise InputError(
                    f"{source} has no column {column!r}, which {option} asks for; its columns are {known}"
                )
        return [column for _, column in asked]

    def _ids(self, batch: Batch, identity: str | None) -> pa.Array:
        """Given ids; a single table in memory without any is numbered from 0."""
        self.numbered = self.numbered or identity is None or batch.columns.column(identity).null_count > 0
        if identity is None and self.alone_in_memory:
            return numbered_ids(batch)
        return document_ids(batch, identity, self.problems)

    def _take(self, number: int, batch: Batch, text: str, identity: str | None) -> Iterator[DocumentChunk]:
        fields, html = plan_fields(self.plan), self.columns.is_html(text)
        columns = TextColumns(text, fields, html, self.columns.html_text)
        array = compared_texts(self.plan, batch, columns, self.problems)
        self.text_columns.add(text if _same(array, batch, text) else None)
        known = {
            "id": self._ids(batch, identity),
            "source": arrow_array(np.full(len(batch), number, np.int32)),
            "record": arrow_array(batch.numbers),
        }
        asked = {"value": self.plan.keep.column, "group": self.plan.df_column}
        known |= {name: plain_column(batch, given) for name, given in asked.items() if given is not None}
        old = min(self.skip, len(batch))
        self._passed(len(batch))
        texts = Texts.from_arrow(array).slice(old, len(batch))
        self.work.memory.refuse_larger(int(np.diff(texts.offsets).max(initial=0)), batch.source)
        self.work.spool.append(texts)
        for start, part in chunks(texts):
            some = {name: values.slice(old + start, len(part)) for name, values in known.items()}
            yield DocumentChunk(part, some)


def _same(array: pa.Array, batch: Batch, column: str) -> bool:
    """Whether the texts are the column itself: the same memory, no value replaced."""
    stored = batch.columns.column(column)
    mine, theirs = array.buffers()[-1], stored.buffers()[-1]
    same = mine is None or (theirs is not None and mine.address == theirs.address)
    return stored.null_count == 0 and same and array.type == stored.type and array.offset == stored.offset
