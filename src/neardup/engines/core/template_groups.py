"""Template groups: pages that share a template and are not near-duplicates of each other.

A first pass puts pages together that have a template in common, as it does with versions of a text. What else is in
them distinguishes the two: a version has hardly any running text that no other document has, a page in a template has
its own. Counted once, a template would look rare, and its pages alike; so the pages of a template group count one by
one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Hashes, Numbers
from neardup.plan import View
from neardup.statistics import Statistics

UNIQUE_SHARE = 0.25  # of the weight of a group's median document; versions of news articles have 0 to 0.15
FEWEST = 3  # members of a template group
SAMPLED = 31  # members by which a group is judged


def finds_template_groups(view: View) -> bool:
    """Whether a weight of the view finds running text; otherwise a page's own text may be a menu."""
    return view.corpus_aware is not None and view.corpus_aware.distinguishes_boilerplate


def sample_groups(groups: Numbers, id_hashes: Hashes) -> Numbers:
    """The members, in ascending order, by which a group is judged; none of groups that are too small.

    They are those of the smallest id hashes, an order that no input order changes.
    """
    order = np.lexsort((id_hashes, groups))
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    place = np.arange(len(groups)) - np.repeat(starts, sizes)
    return np.sort(order[(place < SAMPLED) & (np.repeat(sizes, sizes) >= FEWEST)])


def unique_shares(view: View, features: Features, statistics: Statistics) -> NDArray[np.float64]:
    """The share of each document's weight that is in features of no other text."""
    assert view.corpus_aware is not None
    return view.corpus_aware.unique_shares(features, statistics)


def split_template_groups(groups: Numbers, sampled: Numbers, shares: NDArray[np.float64]) -> Numbers:
    """The groups, except that each member of a template group gets a number of its own."""
    order = np.lexsort((shares, groups[sampled]))
    names, starts, sizes = np.unique(groups[sampled][order], return_index=True, return_counts=True)
    templates = names[shares[order][starts + sizes // 2] > UNIQUE_SHARE]
    apart = np.isin(groups, templates)
    return np.where(apart, groups.max(initial=0) + 1 + np.arange(len(groups)), groups)
