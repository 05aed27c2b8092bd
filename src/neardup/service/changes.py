"""Changes of an index, committed together: documents added, replaced, or added if they are new.

Changes that wait at the same time share a transaction, and so one flush of the disk. Each is decided as if it came
alone, after those before it: a document that is to be added if new is compared with the index and with the documents
of the same transaction that stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.errors import NeardupError, StorageError
from neardup.index.bulk import PreparedChunk
from neardup.index.documents import covers
from neardup.index.index import Index
from neardup.index.lookup import matches_of
from neardup.index.matches import Match, find_matches
from neardup.index.postings import Postings, probe_keys, stored_keys
from neardup.index.search import CapturedSearch
from neardup.index.signed import SignedDocuments, Signer
from neardup.index.truth import Attributes, Id, NewRows, StoredRows, StoreWriter
from neardup.service.models import Document
from neardup.service.problems import Problem
from neardup.service.questions import WITH_ACCESS, access_of, check_statistics, texts_of, visible_candidates
from neardup.service.replays import ReplayKey, Replays
from neardup.service.tokens import Caller, effective_access

Results = list[dict[str, Any]]
COMPARED = 256  # documents of a transaction that are compared with each other


@dataclass(frozen=True)
class Change:
    """Documents of one request, all with ids, or ids to delete."""

    caller: Caller
    documents: Sequence[Document] = ()
    if_new: bool = False
    key: ReplayKey | None = None
    delete: Sequence[Id] = ()


def attributes_of(caller: Caller, document: Document) -> Attributes | None:
    """What is stored beside the text; None if nothing was given."""
    access = effective_access(caller, document.access)
    groups = None if access is None else tuple(sorted(access))
    known = Attributes(groups, document.quality, document.time, document.url)
    return None if known == Attributes() else known


def store(index: Index, changes: Sequence[Change], replays: Replays) -> list[Results | Exception]:
    """The results of each change, all durable; a change that fails fails alone or with its transaction."""
    results: list[Results | Exception] = []
    for some in _transactions(changes):
        try:
            results += _deleted(index, some[0]) if some[0].delete else _stored(index, some, replays)
        except (Problem, NeardupError) as error:
            results += [error] * len(some)
    return results


def _transactions(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes that share a transaction: no id and no key occurs twice, and what is compared pairwise is little."""
    some: list[Change] = []
    known: set[str] = set()
    compared = 0
    for change in changes:
        names = {f"id {document.id}" for document in change.documents}
        names |= {f"key {change.key.key}"} if change.key else set()
        compared += len(change.documents)
        several = compared > COMPARED and any(one.if_new for one in (*some, change))
        if some and (change.delete or some[0].delete or not known.isdisjoint(names) or several):
            yield some
            some, known, compared = [], set(), len(change.documents)
        some.append(change)
        known |= names
    if some:
        yield some


def _deleted(index: Index, change: Change) -> list[Results]:
    """Delete documents that exist for the caller."""
    with index.writing() as writer:
        rows = writer.fetch(writer.find(change.delete), WITH_ACCESS)
        visible = [
            name for name, known in zip(rows.ids, rows.attributes, strict=True) if change.caller.sees(known)
        ]
        return [[{"deleted": writer.delete(visible) if visible else 0}]]


def _stored(index: Index, changes: Sequence[Change], replays: Replays) -> list[Results | Exception]:
    results: list[Results | Exception] = [[] for _ in changes]
    with index.writing() as writer:
        search = index.captured_for(writer)
        check_statistics(index.plan, search)
        fresh: list[int] = []
        for place, change in enumerate(changes):
            try:
                known = replays.find(writer, change.key) if change.key else None
            except Problem as problem:
                results[place] = problem
                continue
            if known is None:
                fresh.append(place)
            else:
                results[place] = known
        if not fresh:
            return results
        batch = _Batch(index, writer, search, [changes[place] for place in fresh])
        made = batch.decide()
        for place, part in zip(fresh, made, strict=True):
            results[place] = part
            key = changes[place].key
            if key is not None:
                replays.remember(writer, key, part)
        seqs, postings = batch.insert()
    if len(seqs):
        with suppress(
            StorageError
        ):  # documents are durable; a segment that cannot be written is written later
            index.remember(seqs, postings)
    return results


@dataclass
class _Batch:
    """The documents of a transaction, signed; decided one after the other, and stored together."""

    index: Index
    writer: StoreWriter
    search: CapturedSearch
    changes: Sequence[Change]
    kept: list[int] = field(default_factory=list)  # places of documents to store

    def __post_init__(self) -> None:
        self.documents = [document for change in self.changes for document in change.documents]
        self.sources = [change for change in self.changes for _ in change.documents]
        self.ids: list[Id] = [_id(document) for document in self.documents]
        self.attributes = [
            attributes_of(change.caller, document)
            for change, document in zip(self.sources, self.documents, strict=True)
        ]
        self.signed = self.search.signer.sign(texts_of(self.index.plan, self.documents))
        self.prepared = _prepared(self.search.signer, self.signed, self.ids, self.attributes)

    def decide(self) -> list[Results]:
        """What becomes of each document, for each change."""
        before = self._before()
        compared = _Compared(self) if any(change.if_new for change in self.changes) else None
        results: list[Results] = []
        place = 0
        for change in self.changes:
            part: Results = []
            for name in self.ids[place : place + len(change.documents)]:
                twin = compared.twin(place) if compared is not None and change.if_new else None
                part.append(_duplicate(name, twin) if twin else {"id": name, "status": before[place]})
                if not twin and before[place] != "unchanged":
                    self.kept.append(place)
                    if compared is not None:
                        compared.keep(place)
                place += 1
            results.append(part)
        return results

    def _before(self) -> list[str]:
        """What a document is to the one with its id: new, or its replacement, or unchanged."""
        seqs = self.writer.find(self.ids)
        rows = self.writer.fetch(seqs[seqs > 0], WITH_ACCESS) if seqs.any() else None
        status = []
        for place, seq in enumerate(seqs.tolist()):
            if rows is None or not seq:
                status.append("new")
                continue
            row = int(np.searchsorted(rows.seqs, seq))
            known = rows.attributes[row]
            mine = self.signed.digests[place]
            same = bool(rows.low[row] == mine[0] and rows.high[row] == mine[1])
            if not self.sources[place].caller.sees(known):
                status.append("new")  # also if nothing changes: that would reveal the hidden document
            else:
                status.append("unchanged" if same and known == self.attributes[place] else "replaced")
        return status

    def insert(self) -> tuple[Numbers, Postings]:
        """Store what is kept; returns its numbers and postings."""
        chosen = np.zeros(len(self.ids), np.bool_)
        chosen[self.kept] = True
        made = self.prepared if chosen.all() else self.prepared.take(chosen)
        seqs = self.writer.insert(made.rows) if len(made) else np.zeros(0, np.int64)
        return seqs, made.postings


def _id(document: Document) -> Id:
    assert document.id is not None
    return document.id


def _duplicate(name: Id, twin: Match) -> dict[str, Any]:
    found = {"id": name, "status": "duplicate", "duplicate_of": twin.id}
    return {**found, "relation": twin.relation, "similarity": twin.similarity}


def _prepared(
    signer: Signer, signed: SignedDocuments, ids: Sequence[Id], attributes: Sequence[Attributes | None]
) -> PreparedChunk:
    rows = NewRows(
        ids,
        signed.digests[:, 0],
        signed.digests[:, 1],
        signed.characters,
        signed.made.tokens,
        signer.bodies(signed),
        signer.signatures(signed),
        attributes,
    )
    return PreparedChunk(rows, stored_keys(signer.plan, signed.made, signed.digests))


class _Compared:
    """The matches of the documents of a transaction: with stored documents, and with each other."""

    def __init__(self, batch: _Batch) -> None:
        self._batch = batch
        self._kept: set[int] = set()
        self._replaced: set[str] = set()
        self._stored = self._stored_matches()
        self._near = self._own_matches()

    def keep(self, place: int) -> None:
        """A document stays: later ones are compared with it, and no more with the one that it replaces."""
        self._kept.add(place)
        self._replaced.add(str(self._batch.ids[place]))

    def twin(self, place: int) -> Match | None:
        """The best document that makes this one a duplicate, which everybody with access to this one may see."""
        caller = self._batch.sources[place].caller
        access = effective_access(caller, self._batch.documents[place].access)
        own = str(self._batch.ids[place])
        found = [
            match
            for match, known in self._stored[place]
            if str(match.id) != own and str(match.id) not in self._replaced
            if caller.sees(known) and covers(access_of(known), access)
        ]
        for other, match in self._near[place]:
            known = self._batch.attributes[other]
            if other in self._kept and caller.sees(known) and covers(access_of(known), access):
                found.append(match)
        return min(found, key=lambda one: (one.relation != "copy", -(one.similarity or 0.0)), default=None)

    def _stored_matches(self) -> list[list[tuple[Match, Attributes | None]]]:
        batch = self._batch
        callers = [change.caller for change in batch.changes if change.if_new]
        visible = visible_candidates(batch.writer, batch.search, batch.signed, callers)
        found, rows = matches_of(batch.search, batch.writer, batch.signed, visible)
        seqs = rows.seqs[found.rows]
        stored = batch.writer.fetch(seqs, WITH_ACCESS)
        access = dict(zip(stored.seqs.tolist(), stored.attributes, strict=True))
        matches: list[list[tuple[Match, Attributes | None]]] = [[] for _ in batch.ids]
        for number, (place, seq) in enumerate(zip(found.asked.tolist(), seqs.tolist(), strict=True)):
            matches[place].append((found.match(number, rows), access.get(seq)))
        return matches

    def _own_matches(self) -> list[list[tuple[int, Match]]]:
        """Of each document the others of the transaction that it is a near-duplicate of."""
        batch, signer = self._batch, self._batch.search.signer
        stored = batch.prepared.rows
        rows = StoredRows(
            np.arange(len(batch.ids)), stored.ids, stored.low, stored.high, stored.characters, stored.tokens,
            stored.bodies, stored.signatures,
        )  # fmt: skip
        probes = probe_keys(signer.plan, batch.signed.made, batch.signed.digests)
        found = find_matches(signer, batch.signed, rows, *_sharing(batch.prepared.postings, probes))
        near: list[list[tuple[int, Match]]] = [[] for _ in batch.ids]
        for number, (place, other) in enumerate(zip(found.asked.tolist(), found.rows.tolist(), strict=True)):
            near[place].append((other, found.match(number, rows)))
        return near


def _sharing(stored: Postings, probes: Postings) -> tuple[Numbers, Numbers]:
    """Pairs of documents of one batch, the later one first, of which one asks for a key that the other has."""
    order = np.argsort(stored.keys, kind="stable")
    keys = stored.keys[order]
    low, high = np.searchsorted(keys, probes.keys, "left"), np.searchsorted(keys, probes.keys, "right")
    sizes = high - low
    asked = np.repeat(probes.documents, sizes)
    inside = np.arange(len(asked)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    other = stored.documents[order[np.repeat(low, sizes) + inside]]
    later, count = other < asked, int(asked.max(initial=0)) + 1
    packed = np.unique(asked[later] * count + other[later])
    return packed // count, packed % count
