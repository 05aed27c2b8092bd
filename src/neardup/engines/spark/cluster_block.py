"""Whole clusters as a small table of documents, decided by the core."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.clusters.graph import components
from neardup.columns import Numbers, Pairs
from neardup.engines.core.decide import Outcome, decide
from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.pair_examples import EXAMPLES, example_edges, ordered_ends
from neardup.engines.core.report import documents_apart, largest_clusters, lowest_removal
from neardup.engines.core.tables import cluster_table, pair_tables
from neardup.engines.spark.candidates.hot_buckets import EXTRA, FIRST, REST, pair_columns
from neardup.engines.spark.shuffle.arrow import Batches, sliced, unsigned
from neardup.engines.spark.shuffle.packed_blocks import column
from neardup.plan import Plan

CLUSTER, PAIR, MISSING, SUMMARY = 0, 1, 2, 3  # rows of the result
MEASURED = ("shared", "left_size", "right_size")
PLACES = ("left", "right", "left_place", "right_place")
BY_LEADERS = "left"  # in a summary: documents that leaders would remove
# The columns that all kinds of rows share, and what they are called in the result.
CLUSTER_NAMES = {"a": "id", "b": "cluster", "c": "leader", "flag": "keep", "d": "duplicate_of"}
CLUSTER_NAMES |= {"x": "similarity", "y": "containment", "relation": "relation", "reason": "evidence"}
CLUSTER_NAMES |= {"size": "size"}
PAIR_NAMES = {"a": "left", "b": "right", "x": "similarity", "y": "containment"}
PAIR_NAMES |= {"relation": "relation", "reason": "reason", "flag": "bridge"}
LAST_NAMES = ("weakest_link", "merge_height", "probability")  # of clusters; of pairs, with a model


class _Unmeasured(Exception):
    """The decisions need packed pairs that are not measured."""

    def __init__(self, packed_pairs: Numbers) -> None:
        super().__init__()
        self.packed_pairs = packed_pairs


@dataclass(frozen=True)
class ClusterBlock:
    """Whole clusters as a small table of documents."""

    plan: Plan
    documents: DocumentTable
    members: pa.Table
    representative: Numbers
    evidence: Pairs
    spare: Pairs

    @staticmethod
    def of(plan: Plan, members: pa.Table, pairs: pa.Table | None) -> ClusterBlock:
        """The clusters of a task; documents in input order, if the input has one."""
        order = np.lexsort((column(members, "id_hash"), column(members, "position")))
        members = members.take(pa.array(order)).combine_chunks()
        id_hashes = column(members, "id_hash")
        by_hash = np.argsort(id_hashes)

        def place(values: Any) -> Numbers:
            return by_hash[np.searchsorted(id_hashes, values, sorter=by_hash)]

        values = members.column("value").combine_chunks() if "value" in members.column_names else None
        ids = members.column("id").combine_chunks()
        documents = DocumentTable(ids, unsigned(id_hashes), column(members, "length"), values)
        evidence, spare = _evidence(plan, pairs, np.sort(id_hashes), place)
        representative = place(column(members, "representative"))
        return ClusterBlock(plan, documents, members, representative, evidence, spare)

    def decided(self) -> Batches:
        """Rows of decisions and reported pairs; or, if pairs are not measured, rows of these."""
        n = len(self.documents)
        known = self.spare.left * n + self.spare.right
        order = np.argsort(known)

        def look_up(left: Numbers, right: Numbers) -> Pairs:
            packed_pairs = left * n + right
            if not np.isin(packed_pairs, known).all():
                raise _Unmeasured(packed_pairs[~np.isin(packed_pairs, known)])
            return self.spare.take(order[np.searchsorted(known, packed_pairs, sorter=order)])

        try:
            decisions = decide(self.plan, self.documents, self.representative, self.evidence, look_up)
        except _Unmeasured as missing:
            yield from self._missing(missing.packed_pairs // n, missing.packed_pairs % n)
            return
        outcome = Outcome(self.plan, self.documents, decisions)
        yield from _result(cluster_table(outcome), CLUSTER)
        for found in pair_tables(outcome):
            yield from _result(found, PAIR)
        yield from self._summary(outcome)

    def _summary(self, outcome: Outcome) -> Batches:
        """One row for the report: verified pairs, spared documents, large components, pairs that decisions asked
        for, what leaders would remove, and the largest clusters and pairs to look at as JSON."""
        decisions = outcome.decisions
        apart, lowest_apart = documents_apart(outcome)
        lowest = {"lowest": lowest_removal(outcome), "apart": apart, "lowest_apart": lowest_apart}
        shown = {"largest": largest_clusters(outcome), "pairs": self._examples(outcome), **lowest}
        columns = {
            "size": pa.array([len(decisions.pairs)]),
            "reason": pa.array([json.dumps(shown, ensure_ascii=False)]),
        }
        columns |= {
            "x": pa.array([float(decisions.spared)]),
            "y": pa.array([float(decisions.large_components)]),
            "z": pa.array([float(decisions.compared)]),
            BY_LEADERS: pa.array([decisions.removed_by_leaders], pa.int64()),
        }
        yield from _rows(SUMMARY, 1, columns, self.documents.ids.type)

    def _examples(self, outcome: Outcome) -> list[list[Any]]:
        """The closest pairs and those nearest to the threshold: ids, similarity and places."""
        pairs, ids, places = outcome.decisions.pairs, self.documents.ids, column(self.members, "place")
        found = []
        for edge in (edge for some in example_edges(pairs, ids, EXAMPLES) for edge in some):
            ends = ordered_ends(pairs, ids, edge)
            named = [ids[number].as_py() for number in ends]
            found.append([*named, float(pairs.similarity[edge]), *(int(places[number]) for number in ends)])
        return found

    def _missing(self, left: Numbers, right: Numbers) -> Batches:
        id_hashes, places = (column(self.members, name) for name in ("id_hash", "place"))
        columns = pair_columns(MISSING, id_hashes, places, left, right)
        columns["component"] = column(self.members, "component")[left]  # both sides are in one component
        arrays = {name: pa.array(values) for name, values in columns.items()}
        yield from _rows(MISSING, len(left), arrays, self.documents.ids.type)


def _evidence(plan: Plan, pairs: pa.Table | None, members: Numbers, place: Any) -> tuple[Pairs, Pairs]:
    """The evidence of members, and spare pairs, which are used only if the decisions need them.

    A pair of documents that earlier rounds have connected is spare: the local engine does not measure it.
    """
    if pairs is None:
        return Pairs.concatenate([]), Pairs.concatenate([])
    values = {name: column(pairs, name) for name in pairs.column_names}
    inside = np.isin(values["left"], members) & np.isin(values["right"], members)
    values = {name: each[inside] for name, each in values.items()}
    spare = values["kind"] == EXTRA
    if not (plan.needs_every_candidate or plan.joins):
        left, right = (np.searchsorted(members, values[side]) for side in ("left", "right"))
        for kind in range(FIRST + 1, REST + 1):
            before = (values["kind"] < kind) & values["passed"]
            labels = components(len(members), left[before], right[before])
            spare |= (labels[left] == labels[right]) & (values["kind"] == kind)
    measures = plan.check.measures if plan.check.measures in ("cosine", "containment") else "jaccard"
    measured = _pairs(values, place, measures)
    return measured.take(~spare), measured.take(spare)


def _pairs(values: dict[str, Any], place: Any, kind: str) -> Pairs:
    """Measured pairs by document number, the smaller one left."""
    left, right = place(values["left"]), place(values["right"])
    shared, mine, theirs = (values[name] for name in MEASURED)
    swap = left > right
    return Pairs(
        np.minimum(left, right),
        np.maximum(left, right),
        shared,
        np.where(swap, theirs, mine),
        np.where(swap, mine, theirs),
        kind,
    )


def _result(found: pa.Table, kind: int) -> Batches:
    """Rows of a table in the schema that all kinds of rows share."""
    names = dict(CLUSTER_NAMES if kind == CLUSTER else PAIR_NAMES)
    for last in LAST_NAMES:
        if last in found.column_names:
            names["z"] = last
    columns = {place: found.column(name).combine_chunks() for place, name in names.items()}
    yield from _rows(kind, len(found), columns, found.schema.field(0).type)


def _rows(kind: int, n: int, columns: dict[str, Any], ids: pa.DataType) -> Batches:
    types = {"kind": pa.int32(), **dict.fromkeys("abcd", ids), **dict.fromkeys("xyz", pa.float64())}
    types |= {"flag": pa.bool_(), "size": pa.int64(), "relation": pa.string(), "reason": pa.string()}
    types |= dict.fromkeys(("component", *PLACES), pa.int64())
    filled = {name: columns.get(name, pa.nulls(n, what)) for name, what in types.items()}
    filled["kind"] = pa.array(np.full(n, kind, np.int32))
    for batch in pa.table(filled).to_batches():
        yield from sliced(batch)
