"""Documents from sources: batches are drawn, texts put aside, and chunks handed out to be signed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Texts
from neardup.documents import (
    Batch,
    Problems,
    Source,
    choose_columns,
    document_ids,
    document_texts,
    plain_column,
    watched,
)
from neardup.documents.column_text import column_as_text
from neardup.engines.core.represent import cut
from neardup.engines.local.checkpoint.problems import ResumableProblems
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.text.fields import ITEM, SEPARATOR, print_value

if TYPE_CHECKING:
    from neardup.text.article import HtmlText


@dataclass(frozen=True)
class InputColumns:
    """Which columns of the input mean what."""

    text: str | None = None
    id: str | None = None
    html: bool | None = None  # None: a column called html is
    duplicate_ids: str = "error"
    html_text: HtmlText = "visible"  # what is taken of HTML

    def is_html(self, text: str) -> bool:
        """Whether the text column of this name holds HTML."""
        return self.html if self.html is not None else text.lower() == "html"


@dataclass(frozen=True)
class Chunk:
    """Some documents: their texts, and what is known of them beside."""

    texts: Texts
    known: dict[str, pa.Array]


class Reader:
    """Draws batches from the sources, keeps the texts, and hands out chunks to sign."""

    def __init__(self, plan: Plan, columns: InputColumns, work: Workspace, problems: Problems) -> None:
        self.plan, self.columns, self.work = plan, columns, work
        self.problems = ResumableProblems(problems, work)
        self.alone_in_memory = self.numbered = False
        self.text_columns: set[str | None] = set()  # None: some text is not what stands in its column
        self.counts: list[int] = []  # the documents of each source that was read to its end
        self.skip = 0  # documents that an earlier run has read

    def resume(self, rows: SpilledRows) -> None:
        """Go on behind what an earlier run has made safe."""
        state = self.work.state["read"]
        self.numbered, self.text_columns = state["numbered"], set(state["text_columns"])
        self.counts, self.skip = state["counts"], len(rows)
        self.work.spool.restore(rows.numbers("bytes") if len(rows) else np.zeros(0, np.int64))
        self.problems.resume(len(rows))

    def state(self, done: int) -> dict[str, Any]:
        """What `resume` needs to know after so many documents."""
        self.problems.keep(done)
        ends = np.cumsum(self.counts)
        return {
            "read": {
                "numbered": self.numbered,
                "text_columns": sorted(self.text_columns, key=str),
                "counts": [count for count, end in zip(self.counts, ends, strict=True) if end <= done],
            }
        }

    def chunks(self, sources: Sequence[Source]) -> Iterator[Chunk]:
        """All texts, chunk by chunk; without those of an earlier run."""
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

    def _source(self, number: int, source: Source) -> Iterator[Chunk]:
        names = source.names()
        text, identity = choose_columns(names, text=self.columns.text, id=self.columns.id, source=source.name)
        wanted = [text, *([identity] if identity else []), *self._extra(names, source.name)]
        start = self.skip if self.problems.spared(source) else 0
        for batch in watched(source, list(dict.fromkeys(wanted)), self.problems, start):
            if start:  # the source has left out whole parts of itself, all of whose rows were documents
                self._passed(int(batch.numbers[0]) - 1)
                start = 0
            yield from self._take(number, batch, text, identity)

    def _passed(self, documents: int) -> None:
        """So many documents have come out of the sources."""
        self.skip = max(0, self.skip - documents)
        self.problems.taken += documents

    @property
    def _fields(self) -> tuple[str, ...]:
        """The columns that the plan reads beside the text."""
        return getattr(self.plan.text, "fields", ())

    def _extra(self, names: Sequence[str], source: str) -> list[str]:
        columns = {"--keep": self.plan.keep.column, "--df-unit": self.plan.df_column}
        asked = [(option, name) for option, name in columns.items() if name is not None]
        asked += [("--fields", name) for name in self._fields]
        for option, column in asked:
            if names and column not in names:
                known = ", ".join(names)
                raise InputError(
                    f"{source} has no column {column!r}, which {option} asks for; its columns are {known}"
                )
        return [column for _, column in asked]

    def _ids(self, batch: Batch, identity: str | None) -> pa.Array:
        """Given ids; a single table in memory without any is numbered from 0, as its owner would."""
        self.numbered = self.numbered or identity is None or batch.columns.column(identity).null_count > 0
        if identity is None and self.alone_in_memory:
            return pa.array(batch.numbers - 1)
        return document_ids(batch, identity, self.problems)

    def _take(self, number: int, batch: Batch, text: str, identity: str | None) -> Iterator[Chunk]:
        html = self.columns.is_html(text) and not reads_markup(self.plan)
        array = document_texts(batch, text, self.problems, html=html, html_text=self.columns.html_text)
        array = with_fields(array, [plain_column(batch, name) for name in self._fields])
        self.text_columns.add(text if _same(array, batch, text) else None)
        known = {
            "id": self._ids(batch, identity),
            "source": pa.array(np.full(len(batch), number, np.int32)),
            "record": pa.array(batch.numbers),
        }
        columns = {"value": self.plan.keep.column, "group": self.plan.df_column}
        known |= {name: plain_column(batch, column) for name, column in columns.items() if column is not None}
        old = min(self.skip, len(batch))
        self._passed(len(batch))
        texts = Texts.from_arrow(array).slice(old, len(batch))
        self.work.spool.append(texts)
        for start, part in cut(texts):
            some = {name: column.slice(old + start, len(part)) for name, column in known.items()}
            yield Chunk(part, some)


def reads_markup(plan: Plan) -> bool:
    """Whether the plan's text stage reads HTML itself."""
    return getattr(plan.text, "markup", False)


def with_fields(texts: pa.Array, fields: list[pa.Array]) -> pa.Array:
    """Texts with their fields behind them; the texts themselves where there are none."""
    if not fields:
        return texts
    printed = (column_as_text(array, print_value, ITEM) for array in fields)
    parts = [texts.cast(pa.large_string()), *printed]
    clean = [pc.replace_substring(part, SEPARATOR, " ") for part in parts]
    return pc.binary_join_element_wise(*clean, pa.scalar(SEPARATOR, pa.large_string()))


def _same(array: pa.Array, batch: Batch, column: str) -> bool:
    """Whether the texts are the column itself: the same memory, no value replaced."""
    stored = batch.columns.column(column)
    mine, theirs = array.buffers()[-1], stored.buffers()[-1]
    same = mine is None or (theirs is not None and mine.address == theirs.address)
    return stored.null_count == 0 and same and array.type == stored.type and array.offset == stored.offset
