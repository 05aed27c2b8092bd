"""The first pass: every document read once, signed, and put aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts
from neardup.documents import (
    Batch,
    Places,
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
from neardup.engines.counting import count
from neardup.engines.families import without_families
from neardup.engines.populations import cluster_groups, column_groups, first_plan, population_column
from neardup.engines.progress import Progress
from neardup.engines.signing import (
    Described,
    Signed,
    contents_of,
    cut,
    describe,
    needs_contents_first,
    sign,
    sign_contents,
)
from neardup.engines.spool import Spool
from neardup.errors import InputError, ParameterError, PlanError
from neardup.plan import Plan, stage_json
from neardup.statistics import Statistics
from neardup.text.fields import join_fields
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


@dataclass(frozen=True)
class Contents:
    """The features of some documents, in memory."""

    owners: Numbers
    features: Features


def _none() -> Numbers:
    return np.zeros(0, np.int64)


@dataclass
class Corpus:
    """The documents of a run, by number, without their texts."""

    sources: Sequence[Source]
    columns: Columns
    spool: Spool
    ids: pa.Array
    ranks: Hashes  # an order of the documents that depends on their ids alone
    digests: Hashes
    lengths: Numbers  # characters
    values: pa.Array | None  # the column that the keep policy asks for
    text_column: str | None  # the column that the spool holds unchanged, if there is one
    tokens: Numbers = field(default_factory=_none)
    features: Numbers = field(default_factory=_none)  # how many
    present: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # has features
    keys: Hashes = field(default_factory=lambda: np.zeros((0, 0), np.uint64))  # tables × documents
    signatures: Signatures | None = None  # where the check compares them
    contents: Contents | None = None  # where candidates come from features
    statistics: Statistics | None = None
    problems: Problems = field(default_factory=Problems)
    stamps: tuple[object, ...] = ()  # the state of the files when they were read
    numbered: bool = False  # some documents had no id and were numbered

    def __len__(self) -> int:
        return len(self.lengths)


class Reader:
    """Draws batches from the sources, keeps ids and texts, and hands out chunks to sign."""

    def __init__(self, plan: Plan, columns: Columns, spool: Spool, problems: Problems) -> None:
        self.plan, self.columns, self.spool, self.problems = plan, columns, spool, problems
        self.ids: list[pa.Array] = []
        self.values: list[pa.Array] = []
        self.groups: list[pa.Array] = []  # the column that says what counts once
        self.places = Places()
        self.alone_in_memory = self.numbered = False
        self.text_columns: set[str | None] = set()  # None: some text is not what stands in its column

    def chunks(self, sources: Sequence[Source]) -> Iterator[Texts]:
        """All texts, chunk by chunk."""
        self.alone_in_memory = len(sources) == 1 and sources[0].format == "memory"
        for source in sources:
            names = source.names()
            text, identity = choose_columns(
                names, text=self.columns.text, id=self.columns.id, source=source.name
            )
            wanted = [text, *([identity] if identity else []), *self._extra(names, source.name)]
            for batch in watched(source, list(dict.fromkeys(wanted)), self.problems):
                yield from self._take(batch, text, identity)

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

    def _take(self, batch: Batch, text: str, identity: str | None) -> Iterator[Texts]:
        html = self.columns.is_html(text) and not _reads_markup(self.plan)
        array = document_texts(batch, text, self.problems, html=html, html_text=self.columns.html_text)
        array = with_fields(array, [plain_column(batch, name) for name in self._fields])
        self.text_columns.add(text if _same(array, batch, text) else None)
        texts = Texts.from_arrow(array)
        self.ids.append(self._ids(batch, identity))
        self.places.append(batch)
        if self.plan.keep.column is not None:
            self.values.append(plain_column(batch, self.plan.keep.column))
        if (column := population_column(self.plan)) is not None:
            self.groups.append(plain_column(batch, column))
        self.spool.append(texts)
        yield from cut(texts)

    def renamed(self, document: int, name: str) -> None:
        """Reports that an earlier document has the id of this one."""
        source, record = self.places[document]
        self.problems.add(source, "duplicate id", record=record, action=f"called {name}")


def read_corpus(
    plan: Plan,
    sources: Sequence[Source],
    columns: Columns,
    spool: Spool,
    problems: Problems,
    progress: Progress,
    threads: int,
    statistics: Statistics | None = None,
) -> Corpus:
    """The corpus after its one pass over the input, and one more over its contents where the plan needs it."""
    _check_statistics(plan, statistics)
    later = needs_contents_first(plan)
    corpus, signed, groups = _read(
        plan, sources, columns, spool, problems, progress, threads, sign_now=not later
    )
    if not later:
        return _seen(corpus, Signed.concatenate(signed))
    owners, places = contents_of(corpus.digests, corpus.ranks)
    if plan.counts and statistics is None:
        known = _groups(plan, corpus, owners, places, groups, progress, threads)
        statistics = _count(plan, spool, owners, known, progress, threads)
    seen = sign_contents(plan, spool, owners, statistics, progress, threads)
    contents = None if seen.features is None else Contents(owners, seen.features)
    return _seen(corpus, seen.spread(places), contents, statistics)


def read_contents(
    plan: Plan,
    sources: Sequence[Source],
    columns: Columns,
    spool: Spool,
    problems: Problems,
    progress: Progress,
    threads: int,
) -> tuple[Numbers, Numbers | None]:
    """One document of each content, and the group of each where the plan's population has groups."""
    corpus, _, values = _read(plan, sources, columns, spool, problems, progress, threads, sign_now=False)
    owners, places = contents_of(corpus.digests, corpus.ranks)
    return owners, _groups(plan, corpus, owners, places, values, progress, threads)


def _read(
    plan: Plan,
    sources: Sequence[Source],
    columns: Columns,
    spool: Spool,
    problems: Problems,
    progress: Progress,
    threads: int,
    sign_now: bool,
) -> tuple[Corpus, list[Signed], pa.Array | None]:
    """The corpus before the plan has seen it, what it saw if asked, and the column that says what counts once."""
    if _reads_markup(plan) and columns.html_text != "visible":
        allowed = "'visible': with tags it reads whole pages"
        raise ParameterError("html_text", plan.method, allowed, columns.html_text)
    reader = Reader(plan, columns, spool, problems)
    stamps = tuple(stamp(source) for source in sources)

    def work(texts: Texts) -> tuple[Described, Signed | None]:
        return describe(texts), sign(plan, texts) if sign_now else None

    described: list[Described] = []
    signed: list[Signed] = []
    known = [source.rows for source in sources]
    total = None if None in known else sum(count or 0 for count in known)
    with progress.stage("read and sign" if sign_now else "read", total):
        for one, other in ordered_map(work, reader.chunks(sources), threads):
            described.append(one)
            signed += [] if other is None else [other]
            progress.advance(len(one.lengths))
    if not described:
        names = ", ".join(source.name for source in sources[:3])
        hint = f" ({problems.first[0]})" if problems.first else ""
        raise InputError(f"There are no documents in {names}{hint}.")
    with progress.stage("check ids"):
        given = joined_ids(reader.ids)
        ids, ranks = rank_ids(given, columns.duplicate_ids, reader.renamed)
    digests = np.concatenate([part.digests for part in described])
    corpus = Corpus(
        sources=sources,
        columns=columns,
        spool=spool,
        ids=ids,
        ranks=ranks,
        digests=digests,
        lengths=np.concatenate([part.lengths for part in described]),
        values=_joined_values(reader.values) if reader.values else None,
        text_column=next(iter(reader.text_columns)) if len(reader.text_columns) == 1 else None,
        problems=problems,
        stamps=stamps,
        numbered=reader.numbered or ids is not given,
    )
    return corpus, signed, _joined_values(reader.groups) if reader.groups else None


def _seen(
    corpus: Corpus, seen: Signed, contents: Contents | None = None, statistics: Statistics | None = None
) -> Corpus:
    """The corpus with what a plan sees in its documents."""
    return replace(
        corpus,
        tokens=seen.tokens,
        features=seen.sizes,
        present=seen.present,
        keys=seen.keys,
        signatures=None if seen.slots is None else Signatures(seen.slots, seen.present),
        contents=contents,
        statistics=statistics,
    )


def _reads_markup(plan: Plan) -> bool:
    """Whether the plan's text stage reads HTML itself."""
    return getattr(plan.text, "markup", False)


def with_fields(texts: pa.Array, fields: list[pa.Array]) -> pa.Array:
    """Texts with their fields behind them; the texts themselves where there are none."""
    if not fields:
        return texts
    columns = [field.to_pylist() for field in fields]
    joined = [join_fields(text, rest) for text, *rest in zip(texts.to_pylist(), *columns, strict=True)]
    return pa.array(joined, pa.large_string())


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
    plan: Plan,
    corpus: Corpus,
    owners: Numbers,
    places: Numbers,
    values: pa.Array | None,
    progress: Progress,
    threads: int,
) -> Numbers | None:
    """What counts once: the number of each content's group; None where each content does."""
    if values is not None:
        return column_groups(plan, values, owners)
    if plan.population != "clusters":
        return None
    first = first_plan(plan)
    known = _count(first, corpus.spool, owners, None, progress, threads) if first.counts else None
    seen = sign_contents(first, corpus.spool, owners, known, progress, threads).spread(places)
    groups = cluster_groups(first, _seen(corpus, seen, None, known), owners, progress, threads)
    if known is None:
        return groups
    with progress.stage("look for families"):
        return without_families(first, corpus.spool, owners, corpus.ranks, groups, known)


def _count(
    plan: Plan, spool: Spool, owners: Numbers, groups: Numbers | None, progress: Progress, threads: int
) -> Statistics:
    """The frequencies that the plan asks for, over its population."""
    return count(
        plan.text, plan.counts, spool, owners, groups, population=plan.population, folder=spool.folder,
        progress=progress, threads=threads,
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


def rank_ids(
    ids: pa.Array, policy: str, renamed: Callable[[int, str], None] | None = None
) -> tuple[pa.Array, Hashes]:
    """The ids, made unique if asked, and a 64-bit hash of each: the order that no input order changes.

    `renamed` is told each document that got another id, and the id.
    """
    ranks = _hash_ids(ids)
    order = np.argsort(ranks)
    same = np.flatnonzero(ranks[order[1:]] == ranks[order[:-1]])
    if len(same) == 0:
        return ids, ranks
    repeated = _repeated(ids, order, same)
    if repeated and policy == "error":
        shown = ", ".join(repr(value) for value in list(repeated)[:3])
        raise InputError(
            f"{len(repeated)} ids stand for more than one document, {shown} among them: "
            "choose another --id-column, or have them renamed with --duplicate-ids rename"
        )
    if repeated:
        again = sorted(number for numbers in repeated.values() for number in numbers[1:])
        ids = _renamed(ids, repeated)
        if renamed is not None:
            for number in again:
                renamed(number, ids[number].as_py())
        return rank_ids(ids, "error")
    return ids, ranks


def _hash_ids(ids: pa.Array) -> Hashes:
    """The same hash for an id whether it stands among integers or strings."""
    texts = Texts.from_arrow(ids.cast(pa.large_string()))
    digests = np.empty((len(ids), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, 1, digests)
    return np.ascontiguousarray(digests[:, 0])


def _repeated(ids: pa.Array, order: Numbers, same: Numbers) -> dict[Any, list[int]]:
    """Ids that occur more than once, with the documents that have them."""
    found: dict[Any, list[int]] = {}
    for place in np.unique(np.concatenate([same, same + 1])):
        found.setdefault(ids[int(order[place])].as_py(), []).append(int(order[place]))
    return {value: sorted(numbers) for value, numbers in found.items() if len(numbers) > 1}


def _renamed(ids: pa.Array, repeated: dict[Any, list[int]]) -> pa.Array:
    """Ids as strings, where the second and later holders of an id have '#2', '#3' … appended."""
    values = ids.cast(pa.string()).to_pylist()
    taken = set(values)
    for value, numbers in repeated.items():
        count = 1
        for number in numbers[1:]:
            count += 1
            while f"{value}#{count}" in taken:
                count += 1
            values[number] = f"{value}#{count}"
            taken.add(values[number])
    return pa.array(values, pa.string())
