"""The first pass: every document read once, signed, and put aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers, Signatures, Texts
from neardup.documents import (
    Batch,
    Problems,
    Source,
    choose_columns,
    document_ids,
    document_texts,
    joined_ids,
    plain_column,
    stamp,
    watched,
)
from neardup.documents.printed import printed_column
from neardup.engines.counting import count
from neardup.engines.families import without_families
from neardup.engines.joining import Contents
from neardup.engines.populations import cluster_groups, column_groups, first_plan, population_column
from neardup.engines.progress import Progress
from neardup.engines.ranks import rank_ids
from neardup.engines.rows import Rows
from neardup.engines.signing import (
    Stored,
    contents_of,
    cut,
    describe,
    needs_contents_first,
    sign,
    sign_contents,
)
from neardup.engines.spool import Spool
from neardup.engines.told import Told
from neardup.engines.work import Work
from neardup.errors import InputError, ParameterError, PlanError
from neardup.plan import Plan, stage_json
from neardup.statistics import Statistics
from neardup.text.fields import ITEM, SEPARATOR, print_value
from neardup.workers import ordered_map

if TYPE_CHECKING:
    from neardup.text.article import HtmlText


@dataclass(frozen=True)
class Columns:
    """Which columns of the input mean what."""

    text: str | None = None
    id: str | None = None
    html: bool | None = None  # None: a column called html is
    duplicate_ids: str = "error"
    html_text: HtmlText = "visible"  # what is taken of HTML

    def is_html(self, text: str) -> bool:
        """Whether the text column of this name holds HTML."""
        return self.html if self.html is not None else text.lower() == "html"


def _none() -> Numbers:
    return np.zeros(0, np.int64)


@dataclass
class Corpus:
    """The documents of a run, by number, without their texts."""

    sources: Sequence[Source]
    columns: Columns
    work: Work
    ids: pa.Array
    ranks: Hashes  # an order of the documents that depends on their ids alone
    digests: Hashes
    lengths: Numbers  # characters
    values: pa.Array | None  # the column that the keep policy asks for
    text_column: str | None  # the column that the spool holds unchanged, if there is one
    tokens: Numbers = field(default_factory=_none)
    features: Numbers = field(default_factory=_none)  # how many
    present: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # has features
    keys: Stored | None = None
    signatures: Signatures | None = None  # where the check compares them
    contents: Contents | None = None  # where candidates come from features
    statistics: Statistics | None = None
    problems: Problems = field(default_factory=Problems)
    stamps: tuple[object, ...] = ()  # the state of the files when they were read
    numbered: bool = False  # some documents had no id and were numbered

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def spool(self) -> Spool:
        """The texts."""
        return self.work.spool


@dataclass(frozen=True)
class Chunk:
    """Some documents: their texts, and what is known of them beside."""

    texts: Texts
    known: dict[str, pa.Array]


class Reader:
    """Draws batches from the sources, keeps the texts, and hands out chunks to sign."""

    def __init__(self, plan: Plan, columns: Columns, work: Work, problems: Problems) -> None:
        self.plan, self.columns, self.work = plan, columns, work
        self.problems = Told(problems, work)
        self.alone_in_memory = self.numbered = False
        self.text_columns: set[str | None] = set()  # None: some text is not what stands in its column
        self.counts: list[int] = []  # the documents of each source that was read to its end
        self.skip = 0  # documents that an earlier run has read

    def resume(self, rows: Rows) -> None:
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
        columns = {"--keep": self.plan.keep.column, "--stats-group": population_column(self.plan)}
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
        html = self.columns.is_html(text) and not _reads_markup(self.plan)
        array = document_texts(batch, text, self.problems, html=html, html_text=self.columns.html_text)
        array = with_fields(array, [plain_column(batch, name) for name in self._fields])
        self.text_columns.add(text if _same(array, batch, text) else None)
        known = {
            "id": self._ids(batch, identity),
            "source": pa.array(np.full(len(batch), number, np.int32)),
            "record": pa.array(batch.numbers),
        }
        columns = {"value": self.plan.keep.column, "group": population_column(self.plan)}
        known |= {name: plain_column(batch, column) for name, column in columns.items() if column is not None}
        old = min(self.skip, len(batch))
        self._passed(len(batch))
        texts = Texts.from_arrow(array).slice(old, len(batch))
        self.work.spool.append(texts)
        for start, part in cut(texts):
            some = {name: column.slice(old + start, len(part)) for name, column in known.items()}
            yield Chunk(part, some)


def read_corpus(
    plan: Plan,
    sources: Sequence[Source],
    columns: Columns,
    work: Work,
    problems: Problems,
    progress: Progress,
    threads: int,
    statistics: Statistics | None = None,
) -> Corpus:
    """The corpus after its one pass over the input, and one more over its contents where the plan needs it."""
    _check_statistics(plan, statistics)
    later = needs_contents_first(plan)
    corpus = _read(plan, sources, columns, work, problems, progress, threads, sign_now=not later)
    rows = work.rows("read")
    if not later:
        return _seen(corpus, Stored(rows))
    owners, places = contents_of(corpus.digests, corpus.ranks)
    if plan.counts and statistics is None:
        statistics = work.statistics()
    if plan.counts and statistics is None:
        known = _groups(plan, corpus, owners, places, progress, threads)
        statistics = _count(plan, work, owners, known, progress, threads)
        work.keep_statistics(statistics)
    stored = Stored(sign_contents(plan, work, owners, statistics, progress, threads), places)
    seen = _seen(corpus, stored, statistics)
    if plan.candidates.level == "features":
        seen.contents = Contents(owners, seen.features[owners], Stored(stored.rows))
    return seen


def read_contents(
    plan: Plan,
    sources: Sequence[Source],
    columns: Columns,
    work: Work,
    problems: Problems,
    progress: Progress,
    threads: int,
) -> tuple[Numbers, Numbers | None]:
    """One document of each content, and the group of each where the plan's population has groups."""
    corpus = _read(plan, sources, columns, work, problems, progress, threads, sign_now=False)
    owners, places = contents_of(corpus.digests, corpus.ranks)
    return owners, _groups(plan, corpus, owners, places, progress, threads)


def _read(
    plan: Plan,
    sources: Sequence[Source],
    columns: Columns,
    work: Work,
    problems: Problems,
    progress: Progress,
    threads: int,
    sign_now: bool,
) -> Corpus:
    """The corpus before the plan has seen it, though with what it saw among its rows if asked."""
    if _reads_markup(plan) and columns.html_text != "visible":
        allowed = "'visible': with tags it reads whole pages"
        raise ParameterError("html_text", plan.method, allowed, columns.html_text)
    reader, rows = Reader(plan, columns, work, problems), work.rows("read")
    if work.saved:
        reader.resume(rows)
    stamps = tuple(stamp(source) for source in sources)
    known = [source.rows for source in sources]
    total = None if None in known else sum(count or 0 for count in known)
    with progress.stage("read and sign" if sign_now else "read", total):
        progress.advance(len(rows))
        if not rows.complete:
            _read_rest(plan, sources, reader, rows, progress, threads, sign_now)
    if not len(rows):
        names = ", ".join(source.name for source in sources[:3])
        hint = f" ({problems.first[0]})" if problems.first else ""
        raise InputError(f"There are no documents in {names}{hint}.")

    def renamed(document: int, name: str) -> None:
        place = rows.column("source")[document].as_py()
        record = rows.column("record")[document].as_py()
        problems.add(sources[place].name, "duplicate id", record=record, action=f"called {name}")

    with progress.stage("check ids"):
        given = joined_ids(rows.column("id").chunks)
        ids, ranks = rank_ids(given, columns.duplicate_ids, renamed)
    return Corpus(
        sources=sources,
        columns=columns,
        work=work,
        ids=ids,
        ranks=ranks,
        digests=np.column_stack([rows.numbers("low"), rows.numbers("high")]),
        lengths=rows.numbers("length"),
        values=_joined_values(rows.column("value").chunks) if rows.has("value") else None,
        text_column=next(iter(reader.text_columns)) if len(reader.text_columns) == 1 else None,
        problems=problems,
        stamps=stamps,
        numbered=reader.numbered or ids is not given,
    )


def _read_rest(
    plan: Plan,
    sources: Sequence[Source],
    reader: Reader,
    rows: Rows,
    progress: Progress,
    threads: int,
    sign_now: bool,
) -> None:
    """Read what is not among the rows yet."""

    def see(chunk: Chunk) -> pa.RecordBatch:
        seen = chunk.known | describe(chunk.texts)
        if sign_now:
            seen |= sign(plan, chunk.texts)
        return pa.record_batch(seen)

    for batch in ordered_map(see, reader.chunks(sources), threads):
        rows.add(batch)
        progress.advance(batch.num_rows)
        reader.work.checkpoint(lambda: reader.state(len(rows)))
    rows.complete = True
    reader.work.checkpoint(lambda: reader.state(len(rows)))


def _seen(corpus: Corpus, stored: Stored, statistics: Statistics | None = None) -> Corpus:
    """The corpus with what a plan sees in its documents."""
    present = stored.numbers("present")
    slots = stored.slots()
    return replace(
        corpus,
        tokens=stored.numbers("tokens"),
        features=stored.numbers("features"),
        present=present,
        keys=stored,
        signatures=None if slots is None else Signatures(slots, present),
        statistics=statistics,
    )


def _reads_markup(plan: Plan) -> bool:
    """Whether the plan's text stage reads HTML itself."""
    return getattr(plan.text, "markup", False)


def with_fields(texts: pa.Array, fields: list[pa.Array]) -> pa.Array:
    """Texts with their fields behind them; the texts themselves where there are none."""
    if not fields:
        return texts
    printed = (printed_column(array, print_value, ITEM) for array in fields)
    parts = [texts.cast(pa.large_string()), *printed]
    clean = [pc.replace_substring(part, SEPARATOR, " ") for part in parts]
    return pc.binary_join_element_wise(*clean, pa.scalar(SEPARATOR, pa.large_string()))


def _check_statistics(plan: Plan, statistics: Statistics | None) -> None:
    """Refuse frequencies that are not those that the plan was made with, or that do not fit it."""
    given = "" if statistics is None else statistics.digest
    if plan.statistics != given:
        raise PlanError(
            f"The plan was made with the statistics {plan.statistics or '(none)'}; given were {given or '(none)'}. "
            "Give the file that belongs to it (--stats), or make the plan again."
        )
    if statistics is not None:
        statistics.check(stage_json(plan.text), [stage_json(feature) for feature in plan.counts])


def _groups(
    plan: Plan, corpus: Corpus, owners: Numbers, places: Numbers, progress: Progress, threads: int
) -> Numbers | None:
    """What counts once: the number of each content's group; None where each content does."""
    rows = corpus.work.rows("read")
    if rows.has("group"):
        return column_groups(plan, _joined_values(rows.column("group").chunks), owners)
    if plan.population != "clusters":
        return None
    first = first_plan(plan)
    with Work(folder=corpus.work.folder, spool=corpus.spool, memory=corpus.work.memory) as apart:
        known = _count(first, apart, owners, None, progress, threads) if first.counts else None
        stored = Stored(sign_contents(first, apart, owners, known, progress, threads), places)
        seen = replace(_seen(corpus, stored, known), work=apart)
        groups = cluster_groups(first, seen, owners, progress, threads)
    if known is None:
        return groups
    with progress.stage("look for families"):
        return without_families(first, corpus.spool, owners, corpus.ranks, groups, known)


def _count(
    plan: Plan, work: Work, owners: Numbers, groups: Numbers | None, progress: Progress, threads: int
) -> Statistics:
    """The frequencies that the plan asks for, over its population."""
    return count(
        plan.text, plan.counts, work.spool, owners, groups, population=plan.population, folder=work.folder,
        memory=work.memory.counters, progress=progress, threads=threads,
    )  # fmt: skip


def _same(array: pa.Array, batch: Batch, column: str) -> bool:
    """Whether the texts are the column itself: the same memory, no value replaced."""
    stored = batch.columns.column(column)
    mine, theirs = array.buffers()[-1], stored.buffers()[-1]
    same = mine is None or (theirs is not None and mine.address == theirs.address)
    return stored.null_count == 0 and same and array.type == stored.type and array.offset == stored.offset


def _joined_values(parts: list[pa.Array]) -> pa.Array:
    if len({part.type for part in parts}) > 1:
        parts = [part.cast(pa.string()) for part in parts]
    return pa.concat_arrays(parts)
