"""From verified pairs to clusters, and for each document in one: what it duplicates, and whether it stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.clusters.graph import bridges, complete_groups, components, leaders, weakest_links
from neardup.clusters.keep import KeepCandidates, worth
from neardup.columns import Numbers, Pairs
from neardup.engines.core.compare import Measurer
from neardup.engines.core.progress import Progress
from neardup.engines.local.matches import Matches
from neardup.engines.local.read import Corpus
from neardup.plan import Plan
from neardup.sorted_sets import distinct, without

Floats = NDArray[np.float64]
Measure = Callable[[Numbers, Numbers], Pairs]


@dataclass(frozen=True)
class Decisions:
    """Every document that is in a cluster of two or more, cluster by cluster, the best first."""

    documents: Numbers
    cluster: Numbers  # a member of the cluster that names it: the one of the smallest id
    leader: Numbers  # the best member, which the others are duplicates of
    keep: NDArray[np.bool_]
    duplicate_of: Numbers  # -1 for what is kept
    similarity: Floats  # with duplicate_of
    containment: Floats
    size: Numbers
    weakest_link: Floats
    pairs: Pairs  # between contents: those that reach the threshold
    bridge: NDArray[np.bool_]  # … which of them hold a cluster together alone
    kept: NDArray[np.bool_]  # for every document of the corpus


def decide(
    plan: Plan,
    corpus: Corpus,
    matches: Matches,
    progress: Progress,
    threads: int,
    measure: Measure | None = None,
) -> Decisions:
    """Clusters and what to keep of them, for the plan's threshold; what is measured here joins the matches' pairs.

    `measure` is told which pairs are wanted that the candidates left out; by default they are measured here.
    """
    content, n = matches.content, len(corpus)
    with progress.stage("clusters"):
        members, labels = _clustered(plan, corpus, matches)
    layout = _Layout.of(members, labels[members])
    best = members[layout.first]
    removed, duplicate_of = _removals(plan, layout, members, best)
    wanted = _wanted(plan, matches, layout, members, duplicate_of, n)
    with progress.stage("verify clusters", len(wanted)):
        extra = (measure or Measurer(plan, corpus, threads).measure)(wanted // n, wanted % n)
    matches.pairs = evidence = Pairs.concatenate([matches.pairs, extra])
    matches.besides += len(extra)
    similarity, containment = _look_up(evidence, content, members, duplicate_of, n)
    pairs = evidence.take(plan.check.passes(evidence, plan.threshold))
    kept = np.ones(n, np.bool_)
    kept[members[removed]] = False
    return Decisions(
        documents=members,
        cluster=layout.named(members, _id_places(corpus, members)),
        leader=best,
        keep=~removed,
        duplicate_of=duplicate_of,
        similarity=similarity,
        containment=containment,
        size=layout.size,
        weakest_link=_weakest(plan, layout, members, labels, content, evidence),
        pairs=pairs,
        bridge=bridges(n, pairs.left, pairs.right) if len(pairs) else np.zeros(0, np.bool_),
        kept=kept,
    )


def _clustered(plan: Plan, corpus: Corpus, matches: Matches) -> tuple[Numbers, Numbers]:
    """The documents of clusters of two or more, cluster by cluster, the best first; and each document's label."""
    content, n = matches.content, len(corpus)
    passed = matches.pairs.take(plan.check.passes(matches.pairs, plan.threshold))
    copies = np.flatnonzero(content != np.arange(n))
    labels = components(
        n, np.concatenate([passed.left, content[copies]]), np.concatenate([passed.right, copies])
    )
    members = np.flatnonzero(np.bincount(labels, minlength=n)[labels] > 1)
    places = _places(plan, corpus, members)
    if plan.clustering.kind == "leaders":
        labels = _led(n, content, passed, members, places)
        members = members[np.bincount(labels, minlength=n)[labels[members]] > 1]
    return members[np.lexsort((places[members], labels[members]))], labels


@dataclass(frozen=True)
class _Layout:
    """Members in order of cluster and worth: where each member's cluster begins, its place there, its size."""

    first: Numbers
    place: Numbers
    size: Numbers
    number: Numbers  # 0, 1, 2 … cluster by cluster

    @staticmethod
    def of(members: Numbers, labels: Numbers) -> _Layout:
        begins = np.flatnonzero(np.diff(labels, prepend=-1))
        sizes = np.diff(np.append(begins, len(members)))
        first = np.repeat(begins, sizes)
        number = np.repeat(np.arange(len(begins)), sizes)
        return _Layout(first, np.arange(len(members)) - first, np.repeat(sizes, sizes), number)

    def named(self, members: Numbers, id_places: Numbers) -> Numbers:
        """For each member the one of its cluster that comes first in the order of ids."""
        names = np.full(len(members), -1, np.int64)
        for_each = np.lexsort((id_places, self.number))
        names[:] = members[for_each[self.first]]
        return names


def _places(plan: Plan, corpus: Corpus, members: Numbers) -> Numbers:
    """How well each document would be kept (0 is best); only `members` have a meaningful place."""
    values = corpus.values.take(pa.array(members)).to_pylist() if corpus.values is not None else None
    documents = KeepCandidates(members, _id_places(corpus, members), corpus.lengths[members], values)
    found, unreadable = worth(plan.keep, documents)
    if unreadable:
        kind = "date" if plan.keep.policy in ("newest", "oldest") else "number"
        asked = f"--keep {plan.keep.policy}:{plan.keep.column}"
        reason = f"unreadable {kind}: {unreadable} values are not a {kind} ({asked})"
        corpus.problems.add(corpus.sources[0].name, reason, action="come last")
    places = np.full(len(corpus), np.iinfo(np.int64).max, np.int64)
    places[members] = found
    return places


def _id_places(corpus: Corpus, members: Numbers) -> Numbers:
    """The place of each member in the order of ids."""
    order = pc.sort_indices(corpus.ids.take(pa.array(members))).to_numpy(zero_copy_only=False)
    places = np.empty(len(members), np.int64)
    places[order] = np.arange(len(members))
    return places


def _led(n: int, content: Numbers, passed: Pairs, members: Numbers, places: Numbers) -> Numbers:
    """Labels by leaders: contents in the order of their best copy lead, copies follow their content."""
    best = np.full(n, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(best, content[members], places[members])
    order = np.argsort(best, kind="stable")
    return leaders(n, passed.left, passed.right, order)[content]


def _removals(
    plan: Plan, layout: _Layout, members: Numbers, best: Numbers
) -> tuple[NDArray[np.bool_], Numbers]:
    """Which members go, and what each of them duplicates."""
    count = 0 if plan.keep.policy == "none" else plan.keep.count
    removed = layout.place >= count
    second = members[np.minimum(layout.first + 1, len(members) - 1)] if len(members) else members
    duplicate_of = np.where(removed, np.where(layout.place == 0, second, best), -1)
    return removed, duplicate_of


def _wanted(
    plan: Plan, matches: Matches, layout: _Layout, members: Numbers, duplicate_of: Numbers, n: int
) -> Numbers:
    """Codes of what the candidates left out: each removed document with what it duplicates, and all pairs
    of small clusters (so that their weakest link is exact)."""
    content = matches.content
    if plan.check.level == "none":  # nothing is measured, and nothing else passes
        return np.zeros(0, np.int64)
    removed = duplicate_of >= 0
    wanted = [_codes(content[members[removed]], content[duplicate_of[removed]], n)]
    if plan.clustering.kind == "components":
        own = distinct(layout.number * n + content[members])  # distinct contents, cluster by cluster
        wanted.append(complete_groups(own % n, own // n, plan.clustering.complete, n))
    codes = distinct(*wanted)
    codes = codes[codes // n != codes % n]
    return without(codes, np.sort(_codes(matches.pairs.left, matches.pairs.right, n)))


def _codes(left: Numbers, right: Numbers, n: int) -> Numbers:
    """One integer for each unordered pair."""
    return np.minimum(left, right) * n + np.maximum(left, right)


def _look_up(
    evidence: Pairs, content: Numbers, members: Numbers, others: Numbers, n: int
) -> tuple[Floats, Floats]:
    """Similarity and containment of each member with its other: 1 for copies, NaN where there is no other."""
    similarity, containment = np.full(len(members), np.nan), np.full(len(members), np.nan)
    has = others >= 0
    copy = has & (content[members] == content[others])
    similarity[copy] = containment[copy] = 1.0
    rest = np.flatnonzero(has & ~copy)
    if len(rest) and len(evidence):
        known = _codes(evidence.left, evidence.right, n)
        order = np.argsort(known)
        wanted = _codes(content[members[rest]], content[others[rest]], n)
        at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
        found = known[at] == wanted  # all of them, unless nothing was measured
        similarity[rest[found]] = evidence.similarity[at[found]]
        containment[rest[found]] = evidence.containment[at[found]]
    return similarity, containment


def _weakest(
    plan: Plan, layout: _Layout, members: Numbers, labels: Numbers, content: Numbers, evidence: Pairs
) -> Floats:
    """The weakest link of each member's cluster; 1 where all are copies."""
    inside = evidence.take(labels[evidence.left] == labels[evidence.right])
    if plan.clustering.kind == "leaders":
        leads = content[members[layout.first]]
        inside = inside.take(np.isin(inside.left, leads) | np.isin(inside.right, leads))
    found = np.ones(len(labels))
    for label, value in weakest_links(inside, labels).items():
        found[label] = value
    return found[labels[members]]
