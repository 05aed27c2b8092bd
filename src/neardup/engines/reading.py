"""The first pass: every document read once, signed, and put aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts
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
)
from neardup.engines.progress import Progress
from neardup.engines.signing import (
    Described,
    Signed,
    cut,
    describe,
    needs_contents_first,
    sign,
    sign_contents,
)
from neardup.engines.spool import Spool
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.text.fields import join_fields
from neardup.workers import ordered_map


@dataclass(frozen=True)
class Columns:
    """Which columns of the input mean what."""

    text: str | None = None
    id: str | None = None
    html: bool | None = None  # None: a column called html is
    duplicate_ids: str = "error"


@dataclass(frozen=True)
class Contents:
    """The features of some documents, in memory."""

    owners: Numbers
    features: Features


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
    tokens: Numbers
    features: Numbers  # how many
    present: NDArray[np.bool_]  # has features
    keys: Hashes  # tables × documents
    signatures: Signatures | None  # where the check compares them
    contents: Contents | None  # where candidates come from features
    statistics: Statistics | None
    values: pa.Array | None  # the column that the keep policy asks for
    text_column: str | None  # the column that the spool holds unchanged, if there is one
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
            html = self.columns.html if self.columns.html is not None else text.lower() == "html"
            wanted = [text, *([identity] if identity else []), *self._extra(names, source.name)]
            for batch in source.read(list(dict.fromkeys(wanted)), self.problems):
                yield from self._take(batch, text, identity, html)

    @property
    def _fields(self) -> tuple[str, ...]:
        """The columns that the plan reads beside the text."""
        return getattr(self.plan.text, "fields", ())

    def _extra(self, names: Sequence[str], source: str) -> list[str]:
        kept = [] if self.plan.keep.column is None else [self.plan.keep.column]
        for column, asked in [
            *((name, "keep") for name in kept),
            *((name, "fields") for name in self._fields),
        ]:
            if names and column not in names:
                known = ", ".join(names)
                raise InputError(
                    f"{source} has no column {column!r}, which --{asked} asks for; its columns are {known}"
                )
        return [*kept, *self._fields]

    def _ids(self, batch: Batch, identity: str | None) -> pa.Array:
        """Given ids; a single table in memory without any is numbered from 0, as its owner would."""
        self.numbered = self.numbered or identity is None or batch.columns.column(identity).null_count > 0
        if identity is None and self.alone_in_memory:
            return pa.array(batch.numbers - 1)
        return document_ids(batch, identity)

    def _take(self, batch: Batch, text: str, identity: str | None, html: bool) -> Iterator[Texts]:
        markup = getattr(self.plan.text, "markup", False)  # a stage that reads HTML itself
        array = document_texts(batch, text, self.problems, html=html and not markup)
        array = with_fields(array, [plain_column(batch, name) for name in self._fields])
        self.text_columns.add(text if _same(array, batch, text) else None)
        texts = Texts.from_arrow(array)
        self.ids.append(self._ids(batch, identity))
        if self.plan.keep.column is not None:
            self.values.append(plain_column(batch, self.plan.keep.column))
        self.spool.append(texts)
        yield from cut(texts)


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
    reader = Reader(plan, columns, spool, problems)
    stamps = tuple(stamp(source) for source in sources)
    later = needs_contents_first(plan)

    def work(texts: Texts) -> tuple[Described, Signed | None]:
        return describe(texts), None if later else sign(plan, texts)

    described: list[Described] = []
    signed: list[Signed] = []
    known = [source.rows for source in sources]
    total = None if None in known else sum(count or 0 for count in known)
    with progress.stage("read" if later else "read and sign", total):
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
        ids, ranks = rank_ids(given, columns.duplicate_ids)
    digests, contents = np.concatenate([part.digests for part in described]), None
    if later:
        seen, statistics, owners = sign_contents(plan, spool, digests, ranks, statistics, progress, threads)
        contents = None if seen.features is None else Contents(owners, seen.features)
    else:
        seen = Signed.concatenate(signed)
    return Corpus(
        sources=sources,
        columns=columns,
        spool=spool,
        ids=ids,
        ranks=ranks,
        digests=digests,
        lengths=np.concatenate([part.lengths for part in described]),
        tokens=seen.tokens,
        features=seen.sizes,
        present=seen.present,
        keys=seen.keys,
        signatures=None if seen.slots is None else Signatures(seen.slots, seen.present),
        contents=contents,
        statistics=statistics,
        values=_joined_values(reader.values) if reader.values else None,
        text_column=next(iter(reader.text_columns)) if len(reader.text_columns) == 1 else None,
        problems=problems,
        stamps=stamps,
        numbered=reader.numbered or ids is not given,
    )


def with_fields(texts: pa.Array, fields: list[pa.Array]) -> pa.Array:
    """Texts with their fields behind them; the texts themselves where there are none."""
    if not fields:
        return texts
    columns = [field.to_pylist() for field in fields]
    joined = [join_fields(text, rest) for text, *rest in zip(texts.to_pylist(), *columns, strict=True)]
    return pa.array(joined, pa.large_string())


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


def rank_ids(ids: pa.Array, policy: str) -> tuple[pa.Array, Hashes]:
    """The ids, made unique if asked, and a 64-bit hash of each: the order that no input order changes."""
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
        ids = _renamed(ids, repeated)
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
