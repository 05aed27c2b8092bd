"""The best of many methods and settings for a goal, judged by clusters and removals, and how well the choice holds up.

A choice from many settings looks better on the clusters that made it than on others. So the whole choice, not only
its threshold, is repeated on halves of the clusters and scored on the other halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.evaluate.goals import Goal
from neardup.evaluate.labels import Mask
from neardup.evaluate.removals import COLUMNS, sum_up
from neardup.evaluate.scores import Floats, matthews
from neardup.evaluate.times import BLOCKS
from neardup.plurals import listed_names

SAMPLES = 100  # bootstrap samples of clusters
CONFIDENCE = 0.95  # with which a setting is excluded for wrong removals
TIE = 0.002  # a simpler setting is preferred if its score is at most so much less …
TIE_CONFIDENCE = 0.9  # … and the bootstrap does not distinguish the two
FEW = 50  # clusters with near-duplicates: with fewer, another set of labels may well choose otherwise
OPTIMISM = 0.02  # the greatest difference between both halves that goes without a warning …
DEVIATION = 0.03  # … and the greatest standard deviation over halves


@dataclass(frozen=True)
class SettingTables:
    """The tables of all settings of all methods, the simplest first: settings × COLUMNS × labelled clusters."""

    tables: Floats
    with_pairs: Mask  # the rows of clusters with near-duplicates; the others are of single documents
    blocks: Numbers | None = None  # of time, of each row; None: the times are not known

    @property
    def without_time(self) -> SettingTables:
        """The tables with the rows of single documents that differ in their block alone summed up."""
        if self.blocks is None:
            return self
        several = int(self.with_pairs.sum())
        rest = self.tables[:, :, several:]
        rest = np.pad(rest, ((0, 0), (0, 0), (0, -rest.shape[2] % BLOCKS)))
        rest = rest.reshape(*rest.shape[:2], -1, BLOCKS).sum(axis=3)
        tables = np.concatenate([self.tables[:, :, :several], rest], axis=2)
        return SettingTables(tables, np.arange(tables.shape[2]) < several)


@dataclass(frozen=True)
class ChosenSetting:
    """A chosen setting, and whether the labels allow it."""

    number: int
    safe: bool  # False: every setting removes more wrongly than the goal allows, and this one the least


@dataclass(frozen=True)
class HeldOutChoices:
    """The scores of choices on the clusters that did not make them, and on those that did."""

    f1: Floats
    wrong_share: Floats
    duplicates_removed: Floats
    own_f1: Floats  # on the half that chose
    clusters: int  # with near-duplicates, in all
    by_time: bool = (
        False  # each block of later clusters by what all earlier ones choose; else halves drawn at random
    )

    @property
    def optimism(self) -> float:
        """How much better choices look on the clusters that made them."""
        return float(np.mean(self.own_f1) - np.mean(self.f1))

    @property
    def warning(self) -> str | None:
        """Why the choice may not hold up elsewhere, if there is a reason."""
        reasons = []
        if self.clusters < FEW:
            reasons.append(f"only {self.clusters} labelled clusters have near-duplicates")
        if self.optimism > OPTIMISM:
            reasons.append(f"choices scored {self.optimism:.3f} less on clusters that did not make them")
        if self.deviation > DEVIATION:
            part = "block to block" if self.by_time else "half to half"
            reasons.append(f"the F1 of choices varies by {self.deviation:.3f} from {part}")
        return listed_names(reasons) if reasons else None

    @property
    def deviation(self) -> float:
        """The standard deviation of F1 over halves; NaN of a single one."""
        return float(np.std(self.f1, ddof=1)) if len(self.f1) > 1 else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Means and deviations, as plain values."""
        names = ("f1", "own_f1", "wrong_share", "duplicates_removed")
        means = {name: float(np.mean(getattr(self, name))) for name in names}
        spread = {"f1_deviation": self.deviation, "optimism": self.optimism}
        return {"halves": len(self.f1), "by_time": self.by_time, **means, **spread, "warning": self.warning}


def choose(settings: SettingTables, goal: Goal, weights: Floats, seed: int = 1) -> ChosenSetting | None:
    """The best setting for the goal on clusters of these weights (0: not used); None if no setting reaches it.

    A wider choice among settings that the clusters cannot distinguish did not hold up: see docs/evaluation.md.
    """
    draws = _draws(weights, seed)
    reached, value = _values(settings.tables @ weights, goal)
    shares = _wrong_shares(settings.tables, draws)
    wrong = np.quantile(shares, 1 - CONFIDENCE, axis=1)  # exceeded with CONFIDENCE
    safe = wrong <= goal.most_wrong
    if not reached.any():
        return None
    if not (reached & safe).any():
        return ChosenSetting(int(np.argmin(np.where(reached, wrong, np.inf))), safe=False)
    value = np.where(reached & safe, value, -np.inf)
    best = int(np.argmax(value))
    close = np.flatnonzero(value >= value[best] - TIE)
    return ChosenSetting(_simplest(settings.tables, goal, close, best, draws), safe=True)


def choose_by_all(settings: SettingTables, goal: Goal, seed: int = 1) -> ChosenSetting | None:
    """The best setting for the goal on all clusters."""
    every = settings.without_time
    return choose(every, goal, np.ones(len(every.with_pairs)), seed)


def hold_out(settings: SettingTables, goal: Goal, repeats: int, seed: int) -> HeldOutChoices | None:
    """The whole choice made on some clusters and scored on others; None if clusters cannot be parted.

    By time, if the blocks are known: made on all earlier clusters, scored on a later block. Else on halves.
    """
    later = _later(settings) if repeats else []
    rows = []
    for own, other in later or _halves(settings.with_pairs, repeats, seed):
        found = choose(settings, goal, own, seed)
        if found is None:
            continue
        table = settings.tables[found.number]
        score, on_own = sum_up(table, other), sum_up(table, own)
        rows.append((score.f1, score.wrong_share, score.duplicates_removed, on_own.f1))
    if not rows:
        return None
    return HeldOutChoices(*np.array(rows).T, int(settings.with_pairs.sum()), bool(later))  # type: ignore[call-arg]


def _later(settings: SettingTables) -> list[tuple[Floats, Floats]]:
    """The clusters before a block of the later half, and those of the block, as weights; both have near-duplicates."""
    block = settings.blocks
    if block is None:
        return []
    parts = [(block < k, block == k) for k in range(BLOCKS // 2, BLOCKS)]
    fit = [part for part in parts if all((some & settings.with_pairs).any() for some in part)]
    return [(own.astype(np.float64), other.astype(np.float64)) for own, other in fit] if len(fit) > 1 else []


def _halves(with_pairs: Mask, repeats: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Random halves of the clusters, as weights 0 and 1, each once to choose on and once to score.

    Clusters with near-duplicates are halved by themselves, so that both halves have some.
    """
    groups = [np.flatnonzero(with_pairs), np.flatnonzero(~with_pairs)]
    if len(groups[0]) < 2:
        return
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        half = np.zeros(len(with_pairs))
        for group in groups:
            some = rng.permutation(group)
            half[some[: (len(some) + int(rng.integers(2))) // 2]] = 1.0
        yield half, 1 - half
        yield 1 - half, half


def _draws(weights: Floats, seed: int) -> Floats:
    """Bootstrap samples of the clusters in use, as weights: samples × clusters."""
    used = (weights > 0) / max(int((weights > 0).sum()), 1)
    return np.random.default_rng(seed).multinomial(int((weights > 0).sum()), used, SAMPLES).astype(np.float64)


def _wrong_shares(tables: Floats, draws: Floats) -> Floats:
    """The share of wrong removals of each setting in each bootstrap sample."""
    removed, wrong = (tables[:, COLUMNS.index(name)] @ draws.T for name in ("removed", "wrong"))
    return np.divide(wrong, removed, out=np.zeros_like(wrong), where=removed > 0)


def _simplest(tables: Floats, goal: Goal, close: Numbers, best: int, draws: Floats) -> int:
    """The first setting, of some that score about as well, that the bootstrap does not distinguish from the best."""
    _, top = _values(tables[[best]] @ draws.T, goal)
    _, others = _values(tables[close] @ draws.T, goal)
    worse = np.quantile(top - others, 1 - TIE_CONFIDENCE, axis=1) > 0
    return int(close[~worse][0]) if (~worse).any() else best


def _values(sums: Floats, goal: Goal) -> tuple[Mask, Floats]:
    """Whether the goal is reached, and the score to rank by, from sums of settings × COLUMNS."""
    documents, clusters, _, removed, wrong, found, true, positives = np.moveaxis(sums, 1, 0)
    f1 = _ratio(2 * true, found + positives)
    everywhere = np.ones(f1.shape, np.bool_)
    if goal.kind == "precision":
        return _ratio(true, found) >= goal.least, _ratio(true, positives)
    if goal.kind == "recall":
        return _ratio(true, positives) >= goal.least, _ratio(true, found)
    if goal.kind == "wrong":
        return _ratio(wrong, removed) <= goal.least, _ratio(removed - wrong, documents - clusters)
    if goal.kind == "mcc":
        return everywhere, matthews(found, true, positives, documents * (documents - 1))
    return everywhere, f1


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
