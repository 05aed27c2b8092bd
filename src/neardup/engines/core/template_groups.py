"""Families: groups of pages that share a frame, and are not near-duplicates of each other.

A first run puts pages together that have a template in common, as it does with copies of a story. They can be told
apart by what else is in them: a copy of a story has hardly any running text that no other document has, a page in a
frame has its own. Counted once, a template would look rare, and the pages alike; so the pages of a family count each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers, Tokens
from neardup.engines.core.represent import portions
from neardup.engines.local.checkpoint.texts import Spool
from neardup.plan import Plan, View, stage_json
from neardup.statistics import Statistics
from neardup.weights.phrases import PhraseWeight

OWN_SHARE = 0.25  # of the weight of a group's median document; copies of news stories have 0 to 0.15
FEWEST = 3  # members of a family
LOOKED_AT = 31  # members of a group that are looked at


def without_template_groups(
    plan: Plan, spool: Spool, owners: Numbers, ranks: Hashes, groups: Numbers, statistics: Statistics
) -> Numbers:
    """The groups of contents, members of a family each in a group of its own.

    Which members are looked at depends on their ranks, an order that no input order changes. Only where weights tell
    running text from furniture: otherwise what a page has for itself may be its menu.
    """
    if not phrase_weight(plan.view).around:
        return groups
    sampled = sample_groups(groups, ranks[owners])
    shares = np.zeros(len(owners))
    for numbers in portions(spool, owners[sampled]):
        tokens = plan.text(spool.read(numbers))
        shares[np.searchsorted(owners, numbers)] = own_shares(plan.view, tokens, statistics)
    return split_template_groups(groups, sampled, shares[sampled])


def sample_groups(groups: Numbers, ranks: Hashes) -> Numbers:
    """The members, in ascending order, by which a group is judged; none of groups that are too small."""
    order = np.lexsort((ranks, groups))
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    place = np.arange(len(groups)) - np.repeat(starts, sizes)
    return np.sort(order[(place < LOOKED_AT) & (np.repeat(sizes, sizes) >= FEWEST)])


def own_shares(view: View, tokens: Tokens, statistics: Statistics) -> NDArray[np.float64]:
    """The share of each document's weight that is in phrases of no other content."""
    weight = phrase_weight(view)
    bag = view.represent(tokens, statistics)
    assert bag.weights is not None
    alone = statistics.table(stage_json(weight.phrases)).of(bag.hashes) <= 1
    owner = np.repeat(np.arange(len(bag)), bag.sizes)
    whole = np.bincount(owner, bag.weights, len(bag))
    return np.bincount(owner, bag.weights * alone, len(bag)) / np.maximum(whole, np.finfo(np.float64).tiny)


def phrase_weight(view: View) -> PhraseWeight:
    """The stage that weighs phrases."""
    return next(one for one in view.weights if isinstance(one, PhraseWeight))


def split_template_groups(groups: Numbers, sampled: Numbers, shares: NDArray[np.float64]) -> Numbers:
    """The groups, but for families: their members get numbers of their own."""
    order = np.lexsort((shares, groups[sampled]))
    names, starts, sizes = np.unique(groups[sampled][order], return_index=True, return_counts=True)
    families = names[shares[order][starts + sizes // 2] > OWN_SHARE]
    apart = np.isin(groups, families)
    return np.where(apart, groups.max(initial=0) + 1 + np.arange(len(groups)), groups)
