"""Documents to stored rows: signed in threads, stored in batches that are committed as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers
from neardup.engines.core.progress import Progress
from neardup.index.inputs import InputChunk
from neardup.index.postings import Postings, stored_keys
from neardup.index.signed import Signer
from neardup.index.truth import Columns, Id, NewRows, StoreWriter
from neardup.workers import ordered_map

BATCH_ROWS = 10_000  # documents of a transaction …
BATCH_BYTES = 32 << 20  # … and bytes of their bodies, about


@dataclass(frozen=True)
class Addition:
    """Counts of documents that were added."""

    documents: int = 0
    new: int = 0  # ids that were not in the index
    replaced: int = 0  # ids whose document was another one
    unchanged: int = 0  # ids whose document was the same: nothing was stored
    refreshed: bool = False  # document frequencies were counted again afterwards

    def __add__(self, other: Addition) -> Addition:
        """The counts of both."""
        return Addition(
            self.documents + other.documents,
            self.new + other.new,
            self.replaced + other.replaced,
            self.unchanged + other.unchanged,
            self.refreshed or other.refreshed,
        )


@dataclass(frozen=True)
class PreparedChunk:
    """Documents ready to be stored, and their postings."""

    rows: NewRows
    postings: Postings

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Sequence[Id]:
        """The ids of the documents."""
        return self.rows.ids

    def take(self, some: NDArray[np.bool_]) -> PreparedChunk:
        """Some of the documents."""
        places: list[int] = np.flatnonzero(some).tolist()
        renumbered = np.cumsum(some) - 1
        inside = some[self.postings.documents]
        rows = self.rows
        return PreparedChunk(
            NewRows(
                [rows.ids[n] for n in places],
                rows.low[places],
                rows.high[places],
                rows.characters[places],
                rows.tokens[places],
                [rows.bodies[n] for n in places],
                [rows.signatures[n] for n in places],
                [rows.attributes[n] for n in places],
            ),
            Postings(renumbered[self.postings.documents[inside]], self.postings.keys[inside]),
        )


def prepared(signer: Signer, chunk: InputChunk) -> PreparedChunk:
    """The chunk, signed and packed: the part of the work that threads share."""
    documents = signer.sign(chunk.texts)
    rows = NewRows(
        chunk.ids,
        documents.digests[:, 0],
        documents.digests[:, 1],
        documents.characters,
        documents.made.tokens,
        signer.bodies(documents),
        signer.signatures(documents),
        chunk.attributes or [None] * len(documents),
    )
    return PreparedChunk(rows, stored_keys(signer.plan, documents.made, documents.digests))


def prepared_chunks(signer: Signer, chunks: Iterable[InputChunk], threads: int) -> Iterator[PreparedChunk]:
    """The chunks in order, signed and packed in threads."""
    chunks = iter(chunks)
    first = list(islice(chunks, 2))
    threads = threads if len(first) > 1 else 1  # a single chunk is not worth starting threads for
    return ordered_map(lambda chunk: prepared(signer, chunk), chain(first, chunks), threads)


def add_prepared(
    chunks: Iterable[PreparedChunk],
    writing: Callable[[], AbstractContextManager[StoreWriter]],
    remember: Callable[[Numbers, Numbers, Hashes], None],
    progress: Progress,
) -> Addition:
    """Store all chunks; `remember` takes the postings of each batch after its commit."""
    total = Addition()
    for batch in _batches(iter(chunks)):
        with writing() as writer:
            stored = [store(writer, chunk) for chunk in batch]
        for _, seqs, postings in stored:
            if len(seqs):
                remember(seqs, postings.documents, postings.keys)
        total = sum((addition for addition, _, _ in stored), total)
        progress.advance(sum(addition.documents for addition, _, _ in stored))
    return total


def store(writer: StoreWriter, chunk: PreparedChunk) -> tuple[Addition, Numbers, Postings]:
    """The counts, the sequence numbers of what was stored, and its postings; unchanged documents are left alone."""
    before = writer.find(chunk.rows.ids)
    known = before > 0
    same = np.zeros(len(chunk), np.bool_)
    if known.any():
        same = _unchanged(writer, chunk, before)
    fresh = chunk.take(~same) if same.any() else chunk
    seqs = writer.insert(fresh.rows, before[~same]) if len(fresh) else np.zeros(0, np.int64)
    counts = Addition(len(chunk), int((~known).sum()), int((known & ~same).sum()), int(same.sum()))
    return counts, seqs, fresh.postings


def _unchanged(writer: StoreWriter, chunk: PreparedChunk, before: Numbers) -> NDArray[np.bool_]:
    """Which documents are stored already, with this text and these attributes."""
    rows = writer.fetch(before[before > 0], Columns(attributes=True))
    place = np.minimum(np.searchsorted(rows.seqs, before), len(rows) - 1)
    same = (before > 0) & (rows.low[place] == chunk.rows.low) & (rows.high[place] == chunk.rows.high)
    for n in np.flatnonzero(same).tolist():
        same[n] = rows.attributes[int(place[n])] == chunk.rows.attributes[n]
    ids = chunk.rows.ids
    if len(set(map(str, ids))) < len(ids):  # the last of equal ids wins, which may not be the stored one
        same[:] = False
    return same


def _batches(chunks: Iterator[PreparedChunk]) -> Iterator[list[PreparedChunk]]:
    """Chunks that are committed together."""
    waiting: list[PreparedChunk] = []
    rows = size = 0
    for chunk in chunks:
        waiting.append(chunk)
        rows += len(chunk)
        size += sum(len(body) for body in chunk.rows.bodies if body is not None)
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield waiting
            waiting, rows, size = [], 0, 0
    if waiting:
        yield waiting
