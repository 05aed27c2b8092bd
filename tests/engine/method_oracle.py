"""What a run must answer for any method: brute force over the features of one document at a time.

The stages that make features, signatures and keys have naive twins of their own. Everything behind them is computed
here from sets, fractions and loops: which pairs are candidates, how similar they are, clusters, and what stays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import oracle

from naive.numbers import differ_in_numbers
from neardup.candidates.hamming import Hamming
from neardup.columns import Features, Texts
from neardup.plan import Plan, View, stage_json
from neardup.statistics import Frequencies, Statistics
from neardup.thresholds import as_fraction
from neardup.verify.bits import BitAgreement
from neardup.verify.cosine import Cosine
from neardup.verify.estimated import Estimated
from neardup.verify.jaccard import Jaccard, SlotAgreement
from neardup.verify.multiset import MultisetJaccard
from neardup.verify.numbers import SeparateNumbers
from neardup.verify.weighted import TOLERANCE, WeightedJaccard

Bag = dict[int, Fraction]
ROUNDED = (Cosine, Estimated, WeightedJaccard)  # sums of floats, which a tolerance goes with


def count(plan: Plan, texts: Sequence[str]) -> Statistics | None:
    """The document frequencies that the plan asks for, each distinct text counted once."""
    if not plan.counts:
        return None
    distinct = [text for text in dict.fromkeys(texts) if len(plan.text(Texts.from_strings([text])).hashes)]
    everything = len(dict.fromkeys(texts))
    tables = {}
    for stage in plan.counts:
        found: Counter[int] = Counter()
        for text in distinct:
            found.update(set(stage(plan.text(Texts.from_strings([text]))).hashes.tolist()))
        keys = sorted(found)
        tables[stage_json(stage)] = Frequencies(
            np.array(keys, np.uint64), np.array([found[key] for key in keys], np.int64)
        )
    return Statistics(everything, stage_json(plan.text), tables, plan.df_unit)


def bag(features: Features) -> Bag:
    """The weight of each feature of a batch of one document; 1 where the method has no weights."""
    hashes = features.hashes.tolist()
    if features.weights is None:
        return dict.fromkeys(hashes, Fraction(1))
    return {hash: Fraction(float(weight)) for hash, weight in zip(hashes, features.weights, strict=True)}


class MethodTruth(oracle.Truth):
    """All answers about one collection, for the plan of any method."""

    def __init__(self, plan: Plan, texts: Sequence[str]) -> None:
        self.plan, self.n, self.texts = plan, len(texts), list(texts)
        self.threshold = as_fraction(plan.threshold)
        self.tokens = oracle.token_lists(plan, texts)
        statistics = count(plan, texts)
        views = [self._represented(view, statistics) for view in plan.views]
        self.bags = [bag(features) for features in views[-1][0]]
        self.slots = [None if one is None else one.slots[0].tolist() for one in views[-1][1]]
        self.present = [self._present(one, features) for features, one in zip(*views[-1][:2], strict=True)]
        self._keys = [self._key(one, features) for features, one in zip(*views[0], strict=True)]
        self._known: dict[oracle.Pair, Fraction] = {}

    def _represented(self, view: View, statistics: Statistics | None) -> tuple[list[Features], list[Any]]:
        features = []
        for text in self.texts:
            tokens = self.plan.text(Texts.from_strings([text]))
            features.append(view.represent(tokens, statistics))
        signature = view.signature
        return features, [None if signature is None else signature(one) for one in features]

    @staticmethod
    def _present(signature: Any, features: Features) -> bool:
        return bool(signature.present[0]) if signature is not None else len(features.hashes) > 0

    def _key(self, signature: Any, features: Features) -> Any:
        """What makes candidates of two documents; None where a document meets no other."""
        if signature is None:
            return () if len(features.hashes) else None
        if not signature.present[0]:
            return None
        if isinstance(self.plan.candidates, Hamming):
            return signature.slots[0].tolist()
        return self.plan.candidates.keys(signature)[:, 0].tolist()  # type: ignore[attr-defined]

    def meet(self, a: int, b: int) -> bool:
        """Whether two documents are candidates."""
        left, right = self._keys[a], self._keys[b]
        if left is None or right is None:
            return False
        if not isinstance(self.plan.candidates, Hamming):
            return not left or any(map(int.__eq__, left, right))
        apart = sum((x ^ y).bit_count() for x, y in zip(left, right, strict=True))
        return apart <= self.plan.candidates.distance(self.plan.threshold)

    def similarity(self, a: int, b: int) -> Fraction:
        """The similarity that the plan's check measures."""
        pair = (min(a, b), max(a, b))
        if pair not in self._known:
            self._known[pair] = Fraction(1) if self.copies(a, b) else self._measured(*pair)
        return self._known[pair]

    def _measured(self, a: int, b: int) -> Fraction:
        check = self.plan.check
        if isinstance(check, SeparateNumbers):
            if differ_in_numbers(self.texts[a].split(), self.texts[b].split()):
                return Fraction(0)
            check = check.check
        if isinstance(check, (SlotAgreement, BitAgreement)):
            return self._agreement(a, b)
        if isinstance(check, Estimated):
            return Fraction(self._estimate(a, b, check))
        x, y = self.bags[a], self.bags[b]
        both = x.keys() & y.keys()
        if isinstance(check, Jaccard):
            return oracle.jaccard(frozenset(x), frozenset(y))
        if isinstance(check, Cosine):
            norms = [sum(weight**2 for weight in one.values()) for one in (x, y)]
            dot = sum(x[key] * y[key] for key in both)
            return Fraction(float(dot) / math.sqrt(norms[0] * norms[1])) if both else Fraction(0)
        assert isinstance(check, (MultisetJaccard, WeightedJaccard)), check
        shared = sum((min(x[key], y[key]) for key in both), Fraction(0))
        union = sum(x.values()) + sum(y.values()) - shared
        return shared / union if union else Fraction(0)

    def _estimate(self, a: int, b: int, check: Estimated) -> float:
        """The cosine by which angles give as many equal bits, or that of the share of equal samples."""
        if not (self.present[a] and self.present[b]):
            return 0.0
        both = list(zip(self.slots[a], self.slots[b], strict=True))
        if check.units == "slots":
            share = sum(x == y for x, y in both) / check.size
            return share if check.kind == "jaccard" else 2 * share / (1 + share)
        cosine = max(0.0, math.cos(math.pi * sum((x ^ y).bit_count() for x, y in both) / check.size))
        return cosine if check.kind == "cosine" else cosine / (2 - cosine)

    def _agreement(self, a: int, b: int) -> Fraction:
        if not (self.present[a] and self.present[b]):
            return Fraction(0)
        left, right = self.slots[a], self.slots[b]
        if isinstance(self.plan.check, BitAgreement):
            bits = self.plan.check.bits
            apart = sum((x ^ y).bit_count() for x, y in zip(left, right, strict=True))
            return Fraction(bits - apart, bits)
        width = self.plan.check.width  # type: ignore[attr-defined]
        groups = len(left) // width
        cuts = [slice(k * width, (k + 1) * width) for k in range(groups)]
        return Fraction(sum(left[cut] == right[cut] for cut in cuts), groups)

    def passes(self, a: int, b: int) -> bool:
        """Whether two documents reach the threshold: exactly where similarities are counts, else with a tolerance."""
        found = self.similarity(a, b)
        if isinstance(self.plan.check, ROUNDED):
            return found > 0 and found >= Fraction(self.plan.threshold) - Fraction(TOLERANCE)
        return found > 0 and found >= self.threshold

    def pairs(self) -> list[oracle.Pair]:
        """Every pair of copies, and every pair of candidates that reaches the threshold."""
        every = ((a, b) for a in range(self.n) for b in range(a + 1, self.n))
        return [(a, b) for a, b in every if self.copies(a, b) or (self.meet(a, b) and self.passes(a, b))]

    def led_clusters(self, worth: Callable[[int], Any]) -> list[list[int]]:
        """Inside each component the best free document takes all free ones that reach the threshold with it."""
        found = []
        for component in oracle.components(range(self.n), self.pairs()):
            free = sorted(component, key=worth)
            while free:
                leader = free[0]
                group = [x for x in free if x == leader or self.copies(x, leader) or self.passes(x, leader)]
                free = [x for x in free if x not in group]
                if len(group) > 1:
                    found.append(sorted(group))
        return sorted(found)
