"""Documents without a token: nothing can be compared, so that only the plan says whether they stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neardup.columns import Numbers
from neardup.engines.core.decide import Decisions
from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.keep_order import keep_order
from neardup.plan import Plan


def removed_empty(plan: Plan, documents: DocumentTable, empty: Numbers) -> tuple[Numbers, int]:
    """Those of the empty documents that are removed, and the one that stays for them; -1 where none does."""
    if plan.keep.empty == "keep" or not len(empty):
        return empty[:0], -1
    if plan.keep.empty == "remove":
        return empty, -1
    best = int(empty[np.argmin(keep_order(plan, documents, empty)[empty])])
    return empty[empty != best], best


def without_empty(plan: Plan, documents: DocumentTable, empty: Numbers, decisions: Decisions) -> Decisions:
    """The decisions, with those on empty documents."""
    removed, leader = removed_empty(plan, documents, empty)
    kept = decisions.kept.copy()
    kept[removed] = False
    return replace(decisions, kept=kept, empty=removed, empty_leader=leader)
