"""The first pass whose clusters are the unit of document frequency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from neardup.clusters.graph import components
from neardup.columns import Numbers
from neardup.engines.core.progress import Progress
from neardup.plan import Plan
from neardup.registry import get_method

FIRST_THRESHOLD = 0.3  # documents this similar count as one


def first_plan(plan: Plan) -> Plan:
    """The run whose clusters count once: the plan itself before it knows what is common, else min-hash."""
    weights = plan.view.weights
    knows = any(hasattr(weight, "before_rarity") for weight in weights)
    if knows and plan.candidates.level == "signatures":
        before = tuple(getattr(weight, "before_rarity", weight) for weight in weights)
        view = replace(plan.view, weights=before)
        return plan.with_(view=view, threshold=FIRST_THRESHOLD, df_unit="texts", pairs="clusters")
    return get_method("minhash").plan().with_(text=plan.text)


def cluster_groups(first: Plan, corpus: object, owners: Numbers, progress: Progress, threads: int) -> Numbers:
    """The cluster of each content in a run of the first plan, whose corpus this is."""
    from neardup.engines.local.candidates import find_matches  # it needs the reading that asks for this

    find: Callable[..., object] = find_matches
    matches = find(first, corpus, progress, threads)
    pairs = matches.pairs  # type: ignore[attr-defined]
    passed = pairs.take(first.check.passes(pairs, first.threshold))
    return components(len(corpus), passed.left, passed.right)[owners]  # type: ignore[arg-type]
