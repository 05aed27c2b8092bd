"""Counts over all pairs and removals of a run, and the rows to look at, in one pass over each table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers
from neardup.engines.core.identity import id_digests
from neardup.plan import Plan
from neardup.review.finished import Finished, Mask, booleans, floats, names_of, strings

__all__ = ["BINS", "ClusterEvidence", "Member", "PairEvidence", "Removed", "read_clusters", "read_pairs"]

BINS = 1000  # of a similarity from 0 to 1
POOL = 500  # removals of each kind that are candidates for the page
SAMPLE = 300  # removals whose texts are compared for their numbers
DRAWN = 40  # documents of a cluster that is drawn
INDIRECT = ("chain", "cluster", "unverified")
COLUMNS = (
    "id",
    "cluster",
    "keep",
    "duplicate_of",
    "similarity",
    "containment",
    "relation",
    "evidence",
    "size",
)
MATCH = ("id", "duplicate_of", "similarity", "relation", "evidence", "duplicate_in")


@dataclass(frozen=True)
class Removed:
    """A removed document and the one that it duplicates."""

    id: str
    duplicate_of: str
    similarity: float  # what the threshold is compared with; NaN: not measured
    relation: str | None
    evidence: str
    cluster: str = ""
    size: int = 0
    reference: str | None = None  # of --against, which has the other document
    id_hash: int = 0


@dataclass(frozen=True)
class Member:
    """A document of a cluster that is drawn."""

    id: str
    kept: bool
    duplicate_of: str
    similarity: float  # with it; NaN: not measured


@dataclass
class ClusterEvidence:
    """What the table of clusters says."""

    bins: Numbers = field(default_factory=lambda: np.zeros(BINS + 1, np.int64))  # removals by similarity
    unmeasured: int = 0  # removals without a similarity
    sizes: dict[int, int] = field(default_factory=dict)  # clusters by size
    indirect: list[Removed] = field(
        default_factory=list
    )  # without evidence of their own, least similar first
    direct: list[Removed] = field(default_factory=list)  # the least similar ones
    sample: list[Removed] = field(default_factory=list)  # chosen by the hash of their ids
    referenced: list[Removed] = field(default_factory=list)  # in references, the least similar ones
    members: dict[str, list[Member]] = field(default_factory=dict)  # of clusters to draw


@dataclass(frozen=True)
class PairEvidence:
    """What the table of pairs says: how many at each similarity, and those between chosen documents."""

    bins: Numbers
    links: list[tuple[str, str, float, bool]]


def decided_by(plan: Plan) -> str:
    """The column that is compared with the threshold."""
    return "containment" if plan.check.measures == "containment" else "similarity"


def read_clusters(finished: Finished, drawn: Sequence[str]) -> ClusterEvidence:
    """The evidence of all removals; members of the clusters that are to be drawn."""
    found, measure = ClusterEvidence(members={name: [] for name in drawn}), decided_by(finished.plan)
    for batch in finished.table("clusters", COLUMNS):
        similarity, size = floats(batch, measure), floats(batch, "size").astype(np.int64)
        removed = ~booleans(batch, "keep")
        _count(found, similarity[removed])
        for value, rows in zip(*np.unique(size, return_counts=True), strict=True):
            found.sizes[int(value)] = found.sizes.get(int(value), 0) + int(rows)
        _add_members(found, batch, similarity)
        _add_removals(found, batch, similarity, removed)
    found.sizes = {size: rows // size for size, rows in sorted(found.sizes.items()) if size}
    _read_references(finished, found)
    return found


def _count(found: ClusterEvidence, similarity: np.ndarray) -> None:
    found.bins += binned(similarity)
    found.unmeasured += int(np.isnan(similarity).sum())


def binned(similarity: np.ndarray) -> Numbers:
    """How many values are in each of BINS bins, 1 in one of its own; a value at an edge is in the bin above it."""
    known = similarity[~np.isnan(similarity)]
    places = np.clip(np.floor(known * BINS + 1e-9), 0, BINS).astype(np.int64)
    return np.bincount(places, minlength=BINS + 1)


def _add_removals(
    found: ClusterEvidence, batch: pa.RecordBatch, similarity: np.ndarray, removed: Mask
) -> None:
    """The batch's removals join the pools, and each pool is cut to the ones to look at."""
    evidence = strings(batch, "evidence").fill_null("").to_numpy(zero_copy_only=False)
    own = removed & (evidence != "copy")
    indirect = own & np.isin(evidence, INDIRECT)
    key = np.where(np.isnan(similarity), -1.0, similarity)
    hashes = np.zeros(len(key), np.uint64)
    rows = np.flatnonzero(own)
    if len(rows):
        hashes[rows] = id_digests(names_of(batch, "id").take(pa.array(rows)))[:, 0]
    for pool, mask, order, most in (
        (found.indirect, indirect, key, POOL),
        (found.direct, own & ~indirect, key, POOL),
        (found.sample, own, hashes, SAMPLE),
    ):
        chosen = _first(np.flatnonzero(mask), order, hashes, most)
        pool += _rows(batch, chosen, similarity, hashes)
        by_hash = pool is found.sample
        pool.sort(key=lambda one: (one.id_hash if by_hash else _order(one.similarity), one.id_hash))
        del pool[most:]


def _order(similarity: float) -> float:
    """Unmeasured first, then the least similar."""
    return -1.0 if similarity != similarity else similarity


def _first(rows: Numbers, key: np.ndarray, ties: np.ndarray, most: int) -> Numbers:
    """The rows with the smallest keys, ties by id hash."""
    return rows[np.lexsort((ties[rows], key[rows]))[:most]]


def _rows(batch: pa.RecordBatch, rows: Numbers, similarity: np.ndarray, hashes: np.ndarray) -> list[Removed]:
    few = batch.take(pa.array(rows))
    relations, kinds = (strings(few, name).to_pylist() for name in ("relation", "evidence"))
    names = (names_of(few, name).to_pylist() for name in ("id", "duplicate_of", "cluster"))
    sizes = floats(few, "size").astype(int).tolist()
    return [
        Removed(id, other, value, relation, evidence, cluster, size, None, hash)
        for id, other, cluster, relation, evidence, size, value, hash in zip(
            *names, relations, kinds, sizes, similarity[rows].tolist(), hashes[rows].tolist(), strict=True
        )
    ]


def _add_members(found: ClusterEvidence, batch: pa.RecordBatch, similarity: np.ndarray) -> None:
    """Documents of the clusters to draw: kept ones, then the least similar ones."""
    clusters = names_of(batch, "cluster")
    rows = pc.indices_nonzero(pc.is_in(clusters, pa.array(list(found.members), pa.string()))).to_numpy()
    if not len(rows):
        return
    few = batch.take(pa.array(rows))
    columns = (
        names_of(few, "id").to_pylist(),
        booleans(few, "keep").tolist(),
        names_of(few, "duplicate_of").to_pylist(),
        similarity[rows].tolist(),
    )
    for cluster, *values in zip(names_of(few, "cluster").to_pylist(), *columns, strict=True):
        found.members[cluster].append(Member(*values))
    for members in found.members.values():
        members.sort(key=lambda one: (not one.kept, _order(one.similarity), one.id))
        del members[DRAWN:]


def _read_references(finished: Finished, found: ClusterEvidence) -> None:
    """Removals that rest on a reference join the counts; the least similar ones are kept."""
    for batch in finished.in_references():
        batch = batch.filter(strings(batch, "duplicate_in").is_valid())
        similarity = floats(batch, "similarity")
        _count(found, similarity)
        ids = names_of(batch, "id")
        hashes = id_digests(ids)[:, 0] if len(ids) else np.zeros(0, np.uint64)
        rows = np.flatnonzero(
            strings(batch, "evidence").fill_null("").to_numpy(zero_copy_only=False) != "copy"
        )
        few = batch.take(pa.array(_first(rows, np.nan_to_num(similarity, nan=-1.0), hashes, POOL)))
        columns = {name: strings(few, name).to_pylist() for name in MATCH if name != "similarity"}
        for k, value in enumerate(floats(few, "similarity").tolist()):
            one = {name: values[k] for name, values in columns.items()}
            reference = one.pop("duplicate_in")
            found.referenced.append(Removed(**one, similarity=value, reference=reference))
        found.referenced.sort(key=lambda one: (_order(one.similarity), one.id))
        del found.referenced[POOL:]


def read_pairs(finished: Finished, documents: Iterable[str]) -> PairEvidence:
    """How many pairs are at each similarity, and the pairs between these documents."""
    bins, links, measure = np.zeros(BINS + 1, np.int64), [], decided_by(finished.plan)
    chosen = pa.array(sorted(set(documents)), pa.string())
    for batch in finished.table("pairs", ("left", "right", "similarity", "containment", "bridge")):
        bins += binned(floats(batch, measure))
        if not len(chosen):
            continue
        both = pc.and_(*(pc.is_in(names_of(batch, side), chosen) for side in ("left", "right")))
        few = batch.filter(both)
        ends = (names_of(few, side).to_pylist() for side in ("left", "right"))
        links += list(
            zip(*ends, floats(few, measure).tolist(), booleans(few, "bridge").tolist(), strict=True)
        )
    return PairEvidence(bins, links)
