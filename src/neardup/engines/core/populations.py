"""What counts once where document frequencies are counted: a content, a column's value, a host, or a cluster.

A large cluster of near-duplicates would make its own text look common, and be lost for it. Counted once per
cluster of a first run, or once per host, only what different stories have in common is common.

    contents        every content (the default)
    clusters        every cluster of near-duplicates of a first run; but each of the pages that only share a frame
                    (see families.py), for methods that weigh phrases
    column:NAME     every value of a column; documents without one count each
    host:NAME       every host of the addresses in a column
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from neardup.clusters.graph import components
from neardup.columns import Numbers
from neardup.engines.core.progress import Progress
from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.registry import get_method

PLAIN = ("contents", "clusters")
FIRST_THRESHOLD = 0.3  # documents this similar count as one


def parse_population(text: str) -> str:
    """A population as a plan has it, from what a user wrote: a column's name alone is meant as a column."""
    kind, colon, name = text.partition(":")
    if text in PLAIN or (colon and kind in ("column", "host") and name):
        return text
    if text and not (colon and kind in ("column", "host")):
        return f"column:{text}"
    raise ParameterError("stats_group", "neardup", "contents, clusters, COLUMN or host:COLUMN", text)


def population_column(plan: Plan) -> str | None:
    """The column that must be read for the plan's population."""
    if not plan.counts or plan.statistics or plan.population in PLAIN:
        return None
    return plan.population.partition(":")[2]


def column_groups(plan: Plan, values: pa.Array, owners: Numbers) -> Numbers:
    """A number for each content: equal where the column's values are, or the hosts in it."""
    texts = values.take(pa.array(owners)).cast(pa.string()).to_pylist()
    if plan.population.startswith("host:"):
        texts = [None if text is None else host_of(text) for text in texts]
    known: dict[str, int] = {}
    numbers = np.empty(len(texts), np.int64)
    for place, text in enumerate(texts):
        name = text or f"\0{place}"
        numbers[place] = known.setdefault(name, len(known))
    return numbers


def host_of(address: str) -> str | None:
    """The host of an address, without www."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname
    except ValueError:
        return None
    return host.removeprefix("www.") if host else None


def first_plan(plan: Plan) -> Plan:
    """The run whose clusters count once: the plan itself before it knows what is common, else min-hash."""
    weights = plan.view.weights
    knows = any(hasattr(weight, "before_rarity") for weight in weights)
    if knows and plan.candidates.level == "signatures":
        before = tuple(getattr(weight, "before_rarity", weight) for weight in weights)
        view = replace(plan.view, weights=before)
        return plan.with_(view=view, threshold=FIRST_THRESHOLD, population="contents", pairs="clusters")
    return get_method("minhash").plan().with_(text=plan.text)


def cluster_groups(first: Plan, corpus: object, owners: Numbers, progress: Progress, threads: int) -> Numbers:
    """The cluster of each content in a run of the first plan, whose corpus this is."""
    from neardup.engines.local.candidates import find_matches  # it needs the reading that asks for this

    find: Callable[..., object] = find_matches
    matches = find(first, corpus, progress, threads)
    pairs = matches.pairs  # type: ignore[attr-defined]
    passed = pairs.take(first.check.passes(pairs, first.threshold))
    return components(len(corpus), passed.left, passed.right)[owners]  # type: ignore[arg-type]
