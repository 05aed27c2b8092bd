"""Statistics of a corpus' fingerprints (simhash thesis, 6): cluster sizes, evenness, a suggested distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neardup.candidates.hamming import near_pairs, to_columns
from neardup.clusters.sizes import ClusterSizes, Evenness, balance, cluster_sizes, evenness
from neardup.columns import Hashes, Numbers
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.representations import spooled_chunks
from neardup.errors import InputError
from neardup.index.fingerprints import check_fingerprints, signed_corpus
from neardup.plan import Plan
from neardup.sorted_sets import run_starts
from neardup.statistics import Statistics

MOST_FEATURES = 1_000_000  # distinct hashes for the evenness of features


@dataclass(frozen=True)
class Overview:
    """Statistics of the fingerprints of a corpus."""

    ids: list[Any]
    fingerprints: list[bytes | None]  # of each document
    sizes: ClusterSizes  # of documents that have a fingerprint
    even: Evenness  # of fingerprints, by their leading byte (figure 6-1)
    features: Evenness  # of the hashes of features (figure 3-2)
    balance: Sequence[float]  # the share of fingerprints that have each bit set
    text: str | None  # of the requested document
    statistics: Statistics | None

    def to_dict(self) -> dict[str, Any]:
        """Counts and averages as plain values."""
        sizes = self.sizes
        present = sum(one is not None for one in self.fingerprints)
        return {
            "documents": len(self.ids), "without_features": len(self.ids) - present,
            "distinct_fingerprints": len({one for one in self.fingerprints if one is not None}),
            "average_cluster_size": [round(average, 4) for average in sizes.averages],
            "documents_with_near_duplicates": [int((row > 1).sum()) for row in sizes.sizes],
            "suggested_distance": sizes.suggest(), "growth": [round(part, 4) for part in sizes.growth],
            "histograms": [
                dict(zip(*(part.tolist() for part in sizes.histogram(distance)), strict=True))
                for distance in range(len(sizes.sizes))
            ],
            "chi_square_of_fingerprints": round(self.even.chi_square, 1),
            "chi_square_of_features": round(self.features.chi_square, 1),
            "least_and_greatest_share_of_a_bit": [round(min(self.balance), 4), round(max(self.balance), 4)],
        }  # fmt: skip


def overview(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns | None = None,
    *,
    statistics: Statistics | None = None,
    most: int = 3,
    document: str | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    problems: Problems | None = None,
    folder: str | None = None,
) -> Overview:
    """Statistics of all documents up to a distance, and the text of one: `document`, or the first with features."""
    check_fingerprints(plan)
    with Workspace(folder=folder) as work:
        spool = work.spool
        corpus = signed_corpus(plan, sources, work, columns, statistics, problems, progress, threads)
        assert corpus.signatures is not None
        slots, present = corpus.signatures.slots, corpus.signatures.present
        ids = corpus.ids.to_pylist()
        hashes = _some_features(plan, spool, np.flatnonzero(present))
        chosen = _chosen(ids, present, document)
        text = None if chosen is None else spool.read(np.array([chosen])).document(0).decode()
    packed = to_columns(slots[present])
    made = [slots[n].astype("<u4").tobytes() if present[n] else None for n in range(len(ids))]
    shares = balance(packed)[: int(plan.candidates.bits)]  # type: ignore[attr-defined]
    return Overview(
        ids, made, sizes_by_distance(packed, most), evenness(packed[0]), evenness(hashes),
        shares if packed.shape[1] else [0.0], text, corpus.statistics,
    )  # fmt: skip


def sizes_by_distance(columns: Hashes, most: int) -> ClusterSizes:
    """Cluster sizes by distance; equal fingerprints are grouped first, so that copies cost nothing."""
    order = np.lexsort(columns[::-1])
    starts = run_starts(*columns[:, order])
    counts = np.diff(starts)
    group = np.empty(len(order), np.int64)
    group[order] = np.repeat(np.arange(len(counts)), counts)
    left, right, apart = near_pairs(np.ascontiguousarray(columns[:, order[starts[:-1]]]), most)
    return ClusterSizes(cluster_sizes(len(counts), left, right, apart, most, counts).sizes[:, group])


def _some_features(plan: Plan, spool: Spool, numbers: Numbers) -> Hashes:
    """About MOST_FEATURES distinct hashes of features, from the first documents."""
    found = np.zeros(0, np.uint64)
    for some in spooled_chunks(spool, numbers):
        tokens = plan.text(spool.read(some), details=plan.view.details)
        found = np.union1d(found, plan.view.features(tokens).hashes)
        if len(found) >= MOST_FEATURES:
            break
    return found


def _chosen(ids: list[Any], present: Any, document: str | None) -> int | None:
    if document is None:
        return int(np.argmax(present)) if present.any() else None
    places = [place for place, name in enumerate(ids) if str(name) == document]
    if not places:
        raise InputError(f"No document has the id {document!r}.")
    if not present[places[0]]:
        raise InputError(f"The document {document!r} has no features, and so no weights to draw.")
    return places[0]


def weight_stages(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """For each weight stage its name, and the plan cut off after it."""
    for last, stage in enumerate(plan.view.weights, 1):
        view = replace(plan.view, weights=plan.view.weights[:last])
        yield type(stage).__name__.lower(), plan.with_(view=view)
