"""Everything of an index checked against its truth: rows by their checksums, texts by their digests, segments by keys.

Damage in the truth is lost data. Damage in segments is not: they are derived, and rebuilt when they are next used.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.engines.core.progress import Progress
from neardup.errors import IndexDamaged, NeardupError, StorageError
from neardup.index.postings import fold, stored_keys
from neardup.index.search import Search
from neardup.index.segments.segment import Alive, Segment, SegmentDamaged
from neardup.index.state import IndexState
from neardup.index.truth import Columns, Snapshot
from neardup.index.upkeep import rebuild

SCAN = 1024  # stored documents that are signed together
READ = 1 << 16  # postings that are read together
ALIVE = 1 << 16  # sequence numbers that are asked for together


@dataclass(frozen=True)
class Verification:
    """What a check of an index found, one sentence each."""

    documents: int
    segments: int
    truth: list[str]  # stored documents that cannot be trusted
    derived: list[str]  # segments that were damaged, and are rebuilt

    @property
    def sound(self) -> bool:
        """Whether nothing that was stored is lost."""
        return not self.truth

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"sound": self.sound, **asdict(self)}


def verify(index: IndexState, progress: Progress) -> Verification:
    """What is damaged in an index that can be opened; segments that are damaged are rebuilt."""
    with progress.stage("check rows"):
        lost = index.check_truth()
    with index.reading() as (snapshot, captured):
        search = captured.search
        documents, segments = snapshot.count(), search.folder.segments
        derived = list(search.folder.damaged)
        try:
            lost += _other_texts(search, snapshot, progress)
            damaged = _damaged_segments(search, snapshot, segments, progress)
            derived += damaged.values()
            if derived:
                derived += _rebuilt(search, snapshot, damaged, progress)
        except NeardupError as error:  # rows that cannot be read
            lost = lost or [str(error)]
    return Verification(documents, len(segments), lost, derived)


def _rebuilt(
    search: Search, snapshot: Snapshot, damaged: dict[Segment, str], progress: Progress
) -> list[str]:
    """Rewrite segments; what prevents it, such as a full disk, is no damage of the truth."""
    try:
        if damaged:
            search.drop(damaged)
        rebuild(search, snapshot, progress)
    except IndexDamaged:
        raise
    except StorageError as error:
        return [str(error)]
    return []


def _other_texts(search: Search, snapshot: Snapshot, progress: Progress) -> list[str]:
    """Documents whose stored text has another digest than the one stored beside it."""
    if search.signer.store != "text":
        return []
    found = []
    with progress.stage("check texts", snapshot.count()):
        for rows in snapshot.scan(1, snapshot.last(), Columns(body=True), SCAN):
            digests = search.signer.restore(rows).digests
            other = (digests[:, 0] != rows.low) | (digests[:, 1] != rows.high)
            found += [
                f"Document {rows.ids[n]!r} has another text than its digest says."
                for n in np.flatnonzero(other).tolist()
            ]
            progress.advance(len(rows))
    return found


def _damaged_segments(
    search: Search, snapshot: Snapshot, segments: tuple[Segment, ...], progress: Progress
) -> dict[Segment, str]:
    """Segments with a damaged block, or with other postings than the stored documents have; and what is wrong."""
    found: dict[Segment, str] = {}
    with progress.stage("check segments", sum(segment.documents for segment in segments)):
        for segment in segments:
            try:
                segment.verify()
                if _postings(segment, snapshot) != _expected(search, snapshot, segment):
                    raise SegmentDamaged(segment.path, "it has other keys than the stored documents")
            except SegmentDamaged as error:
                found[segment] = str(error)
            progress.advance(segment.documents)
    return found


Sum = tuple[int, int]  # the number of postings, and a sum over them that no order changes


def _expected(search: Search, snapshot: Snapshot, segment: Segment) -> Sum:
    """The sum over the postings that stored documents should have."""
    signer, total = search.signer, (0, 0)
    columns = Columns(body=signer.store != "signatures", signature=signer.keeps_signatures)
    for rows in snapshot.scan(segment.low, segment.high - 1, columns, SCAN):
        signed = signer.restore(rows)
        made = stored_keys(signer.plan, signed.made, signed.digests)
        total = _added(total, rows.seqs[made.documents], made.keys)
    return total


def _postings(segment: Segment, snapshot: Snapshot) -> Sum:
    """The sum over the postings that a segment has of documents that are stored."""
    alive = Alive.of(segment.low, segment.high, lambda low, high: snapshot.alive(low, high - 1), ALIVE)
    keys, seqs = np.empty(READ, np.uint64), np.empty(READ, np.int64)
    total, begin = (0, 0), 0
    while begin < segment.postings:
        begin, count = segment.read(begin, alive, (keys, seqs))
        total = _added(total, seqs[:count], keys[:count])
    return total


def _added(total: Sum, seqs: Numbers, keys: Hashes) -> Sum:
    mixed = fold(1, keys ^ fold(2, seqs.astype(np.uint64)))
    return total[0] + len(keys), (total[1] + int(mixed.sum(dtype=np.uint64))) % (1 << 64)
