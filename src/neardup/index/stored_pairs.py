"""Who is near whom among the documents of an index, and among new documents: by verified matches, for any method.

Equal texts are one node: a page with thousands of copies is looked up and compared once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.engines.core.progress import Progress
from neardup.index.answers import selected
from neardup.index.documents import Access, FingerprintedDocument, Near, Neighbours
from neardup.index.lookup import matches_of
from neardup.index.search import CapturedSearch
from neardup.index.truth import Attributes, Columns, Id, Snapshot, StoredRows
from neardup.verify.relation import RELATIONS

LOOKED_UP = 1024  # stored documents that are looked up together
SCAN = 10_000  # … and that are read together without their texts


def as_document(
    id: Id, digest: bytes, characters: int, tokens: int, attributes: Attributes | None
) -> FingerprintedDocument:
    """A document as decisions see it; one without tokens equals no other."""
    known = attributes or Attributes()
    return FingerprintedDocument(
        id=id,
        access=access_of(known.access),
        time=known.time or 0.0,
        length=characters,
        quality=known.quality,
        url=known.url,
        digest=digest if tokens else None,
    )


def access_of(groups: Sequence[str] | None) -> Access:
    """Groups with access as a set."""
    return None if groups is None else frozenset(groups)


def documents_of(rows: StoredRows) -> Iterator[FingerprintedDocument]:
    """The documents of stored rows with their attributes."""
    for n, digest in enumerate(digest_bytes(np.column_stack([rows.low, rows.high]))):
        size, tokens = int(rows.characters[n]), int(rows.tokens[n])
        yield as_document(rows.ids[n], digest, size, tokens, rows.attributes[n])


def digest_bytes(digests: Hashes) -> list[bytes]:
    """The 128-bit digests of texts, 16 bytes each."""
    return [row.tobytes() for row in np.ascontiguousarray(digests)]


@dataclass
class NodeTable:
    """Distinct texts, numbered in the order of their first document."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    near: list[dict[int, Near]] = field(default_factory=list)  # of each, by the number of the other

    def node(self, digest: bytes | None) -> int:
        """The number of a text, its own first neighbour; -1 for a document that is never matched."""
        if digest is None:
            return -1
        number = self.numbers.setdefault(digest, len(self.near))
        if number == len(self.near):
            self.near.append({number: Near(number, 1.0, "copy")})
        return number

    def link(self, node: int, other: int, similarity: float, relation: int) -> None:
        """Record that one text is near another, with the relation of the first to the second."""
        if node != other:
            name = RELATIONS[relation] if relation >= 0 else None
            self.near[node][other] = Near(other, None if np.isnan(similarity) else similarity, name)

    def neighbours(self, documents: Sequence[FingerprintedDocument]) -> Neighbours:
        """The table as decisions take it."""
        nodes = [self.node(document.digest) for document in documents]
        return Neighbours(nodes, [list(near.values()) for near in self.near])


def stored_neighbours(
    search: CapturedSearch, snapshot: Snapshot, progress: Progress, threshold: float | None = None
) -> tuple[list[FingerprintedDocument], Neighbours]:
    """All documents of an index in the order they were added, and their neighbours: each text is looked up."""
    parts = snapshot.scan(1, snapshot.last(), Columns(attributes=True), SCAN)
    return _linked(parts, search, snapshot, progress, threshold)


def neighbours_among(
    search: CapturedSearch,
    snapshot: Snapshot,
    rows: StoredRows,
    progress: Progress,
    threshold: float | None = None,
) -> tuple[list[FingerprintedDocument], Neighbours]:
    """The documents of some rows, and which of them are near each other: others have no influence."""
    return _linked([rows], search, snapshot, progress, threshold)


def _linked(
    parts: Iterable[StoredRows],
    search: CapturedSearch,
    snapshot: Snapshot,
    progress: Progress,
    threshold: float | None,
) -> tuple[list[FingerprintedDocument], Neighbours]:
    """The documents of all parts in their order, each distinct text linked by its first document."""
    documents, table, first = list[FingerprintedDocument](), NodeTable(), list[int]()
    for rows in parts:
        for document, seq in zip(documents_of(rows), rows.seqs.tolist(), strict=True):
            if table.node(document.digest) == len(first):
                first.append(seq)
            documents.append(document)
    _link_all(table, search, snapshot, np.array(first, np.int64), progress, threshold)
    return documents, table.neighbours(documents)


def _link_all(
    table: NodeTable,
    search: CapturedSearch,
    snapshot: Snapshot,
    representatives: Numbers,
    progress: Progress,
    threshold: float | None,
) -> None:
    """Link distinct texts, given by their first document, to each other."""
    with progress.stage("look up", len(representatives)):
        for start in range(0, len(representatives), LOOKED_UP):
            some = representatives[start : start + LOOKED_UP]
            _link_stored(table, search, snapshot, some, representatives, threshold)
            progress.advance(len(some))


def _link_stored(
    table: NodeTable,
    search: CapturedSearch,
    snapshot: Snapshot,
    some: Numbers,
    representatives: Numbers,
    threshold: float | None,
) -> None:
    """Link some distinct texts to all that they match."""
    signer = search.signer
    columns = Columns(body=signer.store != "signatures", signature=signer.keeps_signatures)
    documents = signer.restore(snapshot.fetch(some, columns))
    found, rows = matches_of(search, snapshot, documents, representatives)
    found = selected(signer.plan, found, threshold)
    mine = np.searchsorted(representatives, some[found.asked])
    others = np.searchsorted(representatives, rows.seqs[found.rows])
    evidence = (found.similarity.tolist(), found.relation.tolist())
    for node, other, similarity, relation in zip(mine.tolist(), others.tolist(), *evidence, strict=True):
        table.link(node, other, similarity, relation)
