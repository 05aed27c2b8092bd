"""Decisions about new documents: keep, demote or drop, by the documents of an index and by the new ones before.

Matches with indexed documents are looked up as the documents are read. Pairs among the new ones come from the local
engine, with the plan and the statistics of the index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Job
from neardup.engines.local.represent import represented
from neardup.engines.local.verify import find_matches
from neardup.errors import PlanError
from neardup.index.answers import selected
from neardup.index.decisions import IndexDecision, check_documents
from neardup.index.documents import FingerprintedDocument
from neardup.index.frequencies import corpus_of
from neardup.index.inputs import InputChunk
from neardup.index.lookup import matches_of
from neardup.index.search import CapturedSearch
from neardup.index.signed import SignedDocuments
from neardup.index.state import IndexState
from neardup.index.stored_pairs import NodeTable, as_document, digest_bytes, documents_of
from neardup.index.truth import Columns, Id, Snapshot
from neardup.verify.relation import relations, swapped

LOOKED_UP = 1024  # documents that are looked up together


def decide(
    index: IndexState, chunks: Iterable[InputChunk], threshold: float | None, drop: bool, progress: Progress
) -> list[tuple[Id, IndexDecision]]:
    """The id of each document and the decision about it, in order; the index does not change."""
    with index.reading() as (snapshot, search), index.workspace() as work:
        if index.plan.counts and search.signer.statistics is None:
            raise PlanError(
                f"The index {index.name} is empty: it has no document frequencies to weigh by. Add documents first."
            )
        new = NewDocuments(search, snapshot, work, threshold)
        new.read(chunks, progress)
        decisions = new.decide(drop, index.threads, progress)
    return [(document.id, one) for document, one in zip(new.documents, decisions, strict=True)]


@dataclass
class _Links:
    """Matches of new documents with stored ones."""

    new: list[Numbers] = field(default_factory=list)
    seqs: list[Numbers] = field(default_factory=list)
    similarity: list[np.ndarray] = field(default_factory=list)
    relation: list[np.ndarray] = field(default_factory=list)


class NewDocuments:
    """Documents to decide about, read and looked up chunk by chunk."""

    def __init__(
        self, search: CapturedSearch, snapshot: Snapshot, work: Workspace, threshold: float | None = None
    ) -> None:
        self._search, self._snapshot, self._work, self._threshold = search, snapshot, work, threshold
        self.documents: list[FingerprintedDocument] = []
        self._ids: list[Id] = []
        self._digests: list[Hashes] = [np.zeros((0, 2), np.uint64)]
        self._lengths: list[Numbers] = [np.zeros(0, np.int64)]
        self._links = _Links()

    def read(self, chunks: Iterable[InputChunk], progress: Progress) -> None:
        """Take documents, and look them up."""
        with progress.stage("look up", None):
            for part in (part for chunk in chunks for part in chunk.parts(LOOKED_UP)):
                self._take(part)
                progress.advance(len(part.ids))

    def _take(self, chunk: InputChunk) -> None:
        signed = self._search.signer.sign(chunk.texts)
        found, rows = matches_of(self._search, self._snapshot, signed)
        found = selected(self._search.signer.plan, found, self._threshold)
        self._links.new.append(found.asked + len(self.documents))
        self._links.seqs.append(rows.seqs[found.rows])
        self._links.similarity.append(found.similarity)
        self._links.relation.append(found.relation)
        self.documents += _documents(chunk, signed)
        self._work.spool.append(chunk.texts)
        self._ids += chunk.ids
        self._digests.append(signed.digests)
        self._lengths.append(signed.characters)

    def decide(self, drop: bool, threads: int, progress: Progress) -> list[IndexDecision]:
        """A decision about each document, in the order they were read."""
        if not self.documents:
            return []
        table = NodeTable()
        indexed = self._link_stored(table)
        self._link_new(table, threads, progress)
        neighbours = table.neighbours([*indexed, *self.documents])
        return check_documents(self.documents, indexed, neighbours, drop=drop)

    def _link_stored(self, table: NodeTable) -> list[FingerprintedDocument]:
        """Link new documents to stored ones; returns the stored ones."""
        links = self._links
        seqs = np.concatenate(links.seqs)
        rows = self._snapshot.fetch(np.unique(seqs), Columns(attributes=True))
        indexed = list(documents_of(rows))
        place = np.searchsorted(rows.seqs, seqs).tolist()
        new = np.concatenate(links.new).tolist()
        evidence = (np.concatenate(links.similarity).tolist(), np.concatenate(links.relation).tolist())
        for number, other, similarity, relation in zip(new, place, *evidence, strict=True):
            nodes = table.node(self.documents[number].digest), table.node(indexed[other].digest)
            table.link(*nodes, similarity, relation)
        return indexed

    def _link_new(self, table: NodeTable, threads: int, progress: Progress) -> None:
        """Link new documents to each other."""
        signer = self._search.signer
        digest = "" if signer.statistics is None else signer.statistics.digest
        plan = signer.plan.with_(statistics=digest)
        threshold = plan.threshold if self._threshold is None else self._threshold
        job = Job(plan, (), self._work, progress=progress, threads=threads)
        corpus = corpus_of(
            self._ids, np.concatenate(self._digests), np.concatenate(self._lengths), self._work
        )
        texts = distinct_texts(corpus.digests, corpus.id_hashes)
        found = find_matches(
            plan, represented(job, corpus, signer.statistics, texts), progress, threads
        ).pairs
        passed = found.take(plan.check.passes(found, threshold))
        relation = relations(passed, plan.check, plan.threshold)
        sides = (passed.left.tolist(), passed.right.tolist(), passed.similarity.tolist())
        for left, right, similarity, one, other in zip(
            *sides, relation.tolist(), swapped(relation).tolist(), strict=True
        ):
            first, second = (table.node(self.documents[number].digest) for number in (left, right))
            table.link(first, second, similarity, one)
            table.link(second, first, similarity, other)


def _documents(chunk: InputChunk, signed: SignedDocuments) -> list[FingerprintedDocument]:
    sizes = zip(signed.characters.tolist(), signed.made.tokens.tolist(), strict=True)
    rows = zip(chunk.ids, digest_bytes(signed.digests), sizes, chunk.attributes, strict=True)
    return [as_document(name, digest, *size, attributes) for name, digest, size, attributes in rows]
