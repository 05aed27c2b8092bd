"""From measured pairs to clusters, and for each document in one: what it duplicates, and whether it stays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neardup.clusters.graph import bridges, complete_groups, components, weakest_links
from neardup.columns import Numbers, Pairs
from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.duplicates import ClusterLayout, duplicates, find_heads, without_indirect
from neardup.engines.core.keep_order import Report, id_places, keep_order
from neardup.engines.core.leaders import Measure, lead, packed
from neardup.engines.core.linkage import link
from neardup.engines.core.references import ReferenceMatches
from neardup.engines.core.removal_evidence import look_up
from neardup.engines.core.removed_by_leaders import CountedMeasure, RecordedMeasure, removed_by_leaders
from neardup.plan import Plan
from neardup.sorted_sets import distinct, order_of, without
from neardup.verify.relation import RelationNumbers

if TYPE_CHECKING:
    from neardup.engines.core.person_decisions import PersonDecisions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Decisions:
    """Every document that is in a cluster of two or more, cluster by cluster, the best first."""

    documents: Numbers
    cluster: Numbers  # a member of the cluster that names it: the one of the smallest id
    leader: Numbers  # the best member, which the others are duplicates of
    keep: NDArray[np.bool_]
    duplicate_of: Numbers  # -1 for a document that stays
    similarity: Floats  # with duplicate_of
    containment: Floats
    relation: RelationNumbers  # to duplicate_of; UNKNOWN for a document that stays
    direct: NDArray[
        np.bool_
    ]  # whether a removed document is a copy of duplicate_of, or reaches the threshold with it
    to_leader: Floats  # similarity with the leader; NaN for the leader itself, and where it was not measured
    size: Numbers
    weakest_link: Floats  # with average and complete linkage the similarity of the last merge
    pairs: Pairs  # between representatives of distinct texts: those that reach the threshold
    bridge: NDArray[np.bool_]  # … which of them alone connect their cluster
    kept: NDArray[np.bool_]  # for every document of the corpus
    representative: Numbers  # for every document the one that stands for its copies
    measured: Pairs  # all evidence, with the pairs that only the decisions asked for at the end
    spared: int = 0  # documents that stay because they have no evidence of their own
    large_components: int = 0  # that leaders clustered, because they were too large to be linked
    compared: int = 0  # pairs that the decisions asked for
    empty: Numbers = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )  # removed, without a token, in no cluster
    empty_leader: int = -1  # the document that stays for them, if one does
    removed_by_leaders: int | None = (
        None  # documents of clusters that leaders would remove; only with components
    )
    referenced: ReferenceMatches | None = None  # removed, because a reference has them
    people: PersonDecisions | None = None  # what people decided; None: no decisions were given

    @property
    def copies(self) -> NDArray[np.bool_]:
        """Which of the documents are removed as exact copies of what they duplicate."""
        same = self.representative[self.documents] == self.representative[self.duplicate_of]
        return (self.duplicate_of >= 0) & same


@dataclass(frozen=True)
class Outcome:
    """A plan, the documents it ran over, and the decisions about them: all that tables are made of."""

    plan: Plan
    documents: DocumentTable
    decisions: Decisions


def decide(
    plan: Plan,
    documents: DocumentTable,
    representative: Numbers,
    evidence: Pairs,
    measure: Measure,
    report: Report | None = None,
) -> Decisions:
    """Clusters and what to keep of them, for the plan's threshold.

    `measure` compares the pairs that candidates left out and decisions need; `report` is called with values that the
    keep policy cannot read.
    """
    n, measure, found = len(documents), CountedMeasure(measure), evidence
    clusters = _clustered(plan, documents, representative, evidence, measure, report)
    members = clusters.members
    layout = ClusterLayout.of(clusters.labels[members])
    best = members[layout.first]
    heads, evidence = find_heads(plan, clusters.order, clusters.labels, clusters.evidence, measure)
    duplicate_of = duplicates(plan, layout, members, representative, heads, evidence)
    missing = _missing(plan, representative, evidence, layout, members, duplicate_of)
    measured = Pairs.concatenate([evidence, measure(missing // n, missing % n)])
    links = look_up(plan, measured, representative, members, duplicate_of)
    by_leaders = _by_leaders(plan, clusters, representative, duplicate_of, links.direct, measured, measure)
    spared = 0
    if plan.keep.direct_only and not links.direct[duplicate_of >= 0].all():
        duplicate_of, spared = without_indirect(duplicate_of, links.direct, members, representative)
        links = look_up(plan, measured, representative, members, duplicate_of)
    of_best = np.where(best == members, -1, best)
    to_leader = links.similarity
    if not np.array_equal(of_best, duplicate_of):
        to_leader = look_up(plan, measured, representative, members, of_best).similarity
    removed = duplicate_of >= 0
    # With pairs="all", those that candidates find: whether a pair is one of them does not depend on other documents.
    listed = found if plan.pairs == "all" else measured
    pairs = listed.take(plan.check.passes(listed, plan.threshold))
    if plan.pairs == "clusters":  # not in the order in which they were compared: that depends on memory
        pairs = pairs.take(order_of(packed(pairs.left, pairs.right, n)))
    kept = np.ones(n, np.bool_)
    kept[members[removed]] = False
    return Decisions(
        documents=members,
        cluster=layout.named(members, id_places(documents, members)),
        leader=best,
        keep=~removed,
        duplicate_of=duplicate_of,
        similarity=links.similarity,
        containment=links.containment,
        relation=links.relation,
        direct=links.direct,
        to_leader=to_leader,
        size=layout.size,
        weakest_link=_weakest(plan, layout, clusters, representative, measured),
        pairs=pairs,
        bridge=bridges(n, pairs.left, pairs.right) if len(pairs) else np.zeros(0, np.bool_),
        kept=kept,
        representative=representative,
        measured=measured,
        spared=spared,
        large_components=clusters.large,
        compared=measure.compared,
        removed_by_leaders=by_leaders,
    )


@dataclass(frozen=True)
class _Clusters:
    """Clusters of all documents, before it is decided what to keep of them."""

    members: Numbers  # the documents of clusters of two or more, cluster by cluster, the best first
    labels: Numbers  # of each document
    order: Numbers  # of each representative in the keep policy; -1 for other documents
    evidence: Pairs
    heights: Floats | None = None  # of each document's cluster: the similarity of its last merge
    large: int = 0  # components that were too large to be linked


def _clustered(
    plan: Plan,
    documents: DocumentTable,
    representative: Numbers,
    evidence: Pairs,
    measure: Measure,
    report: Report | None,
) -> _Clusters:
    """The clusters of the plan's kind; exact copies join the cluster of their representative."""
    n = len(documents)
    passed = evidence.take(plan.check.passes(evidence, plan.threshold))
    copies = np.flatnonzero(representative != np.arange(n))
    labels = components(
        n, np.concatenate([passed.left, representative[copies]]), np.concatenate([passed.right, copies])
    )
    members = np.flatnonzero(np.bincount(labels, minlength=n)[labels] > 1)
    places = keep_order(plan, documents, members, report)
    heights, large = None, 0
    order = np.full(n, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(order, representative[members], places[members])
    order[copies] = -1
    if plan.clustering.kind != "components" and plan.keep.policy != "none":
        if plan.clustering.links:
            linked = link(plan, order, labels, documents.id_hashes, evidence, measure)
            names, evidence, large = linked.cluster, linked.evidence, linked.large
            heights = linked.height[representative]
        else:
            names, evidence = lead(plan, order, labels, evidence, measure)
        labels = names[representative]
        members = members[np.bincount(labels, minlength=n)[labels[members]] > 1]
    members = members[np.lexsort((places[members], labels[members]))]
    return _Clusters(members, labels, order, evidence, heights, large)


def _by_leaders(
    plan: Plan,
    clusters: _Clusters,
    representative: Numbers,
    duplicate_of: Numbers,
    direct: NDArray[np.bool_],
    measured: Pairs,
    measure: Measure,
) -> int | None:
    """How many documents leaders would remove in place of components; None with other clusterings.

    Where all removed documents reach the threshold with the one that stays, leaders remove the same ones.
    """
    if plan.clustering.kind != "components":
        return None
    n, labels, removed = len(representative), clusters.labels, duplicate_of >= 0
    differs = np.zeros(n, np.bool_)
    several = plan.keep.count > 1  # whose evidence with the best one is not known
    differs[labels[clusters.members[several | (removed & ~direct)]]] = True
    same = int((removed & ~differs[labels[clusters.members]]).sum())
    if not differs.any():
        return same
    order = np.where(differs[labels], clusters.order, -1)
    recorded = RecordedMeasure(measured, n, measure)
    return same + removed_by_leaders(plan, order, labels, representative, clusters.evidence, recorded)


def _missing(
    plan: Plan,
    representative: Numbers,
    evidence: Pairs,
    layout: ClusterLayout,
    members: Numbers,
    duplicate_of: Numbers,
) -> Numbers:
    """Packed pairs that the candidates left out: each removed document with what it duplicates, and all pairs of
    small clusters, so that their weakest link is exact."""
    n = len(representative)
    if plan.check.level == "none":  # nothing is measured, and nothing else passes
        return np.zeros(0, np.int64)
    removed = duplicate_of >= 0
    found = [packed(representative[members[removed]], representative[duplicate_of[removed]], n)]
    if plan.clustering.kind == "components":
        own = distinct(layout.number * n + representative[members])  # distinct texts, cluster by cluster
        found.append(complete_groups(own % n, own // n, plan.clustering.complete, n))
    pairs = distinct(*found)
    pairs = pairs[pairs // n != pairs % n]
    return without(pairs, np.sort(packed(evidence.left, evidence.right, n)))


def _weakest(
    plan: Plan,
    layout: ClusterLayout,
    clusters: _Clusters,
    representative: Numbers,
    measured: Pairs,
) -> Floats:
    """The weakest link of each member's cluster, or the similarity of its last merge; 1 where all are copies."""
    members, labels = clusters.members, clusters.labels
    if clusters.heights is not None:
        return clusters.heights[members]
    inside = measured.take(labels[measured.left] == labels[measured.right])
    if plan.clustering.kind == "leaders" and plan.keep.policy != "none":
        leads = representative[members[layout.first]]
        inside = inside.take(np.isin(inside.left, leads) | np.isin(inside.right, leads))
    found = np.ones(len(labels))
    for label, value in weakest_links(inside, labels).items():
        found[label] = value
    return found[labels[members]]
