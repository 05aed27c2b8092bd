"""Progress, agreement and honey pots: what a dashboard shows of the labels so far."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from neardup.evaluate.agreement import cohen_kappa, fleiss_kappa, raw_agreement, vote_table
from neardup.evaluate.intervals import Interval, JudgedPrecision, judged_precision
from neardup.evaluate.label_words import DUPLICATES
from neardup.labelling.answers import SKIP, answers_of
from neardup.labelling.states import LABELLED, STATES
from neardup.labelling.store import FOUND, LabelStore
from neardup.signatures.estimate import wilson_interval

__all__ = ["JudgeAgreement", "JudgeQuality", "LabelProgress", "agreement", "judges", "precision", "progress"]


@dataclass(frozen=True)
class LabelProgress:
    """How far the items of a phase are."""

    kind: str
    items: int
    by_state: dict[str, int]
    judgements: int
    seconds: float  # the median time for an item; NaN: not known
    answers: dict[str, int]  # all counted judgements by answer

    @property
    def labelled(self) -> int:
        """Items with a label."""
        return sum(self.by_state.get(state, 0) for state in LABELLED)


@dataclass(frozen=True)
class JudgeAgreement:
    """How far the judges of a phase agree; honey pots and judges who are left out do not count."""

    items: int  # with two judgements or more
    raw: float  # the share of pairs of judgements that agree
    fleiss: float
    fleiss_items: int
    judges_of_an_item: int
    cohen: float  # the mean over pairs of judges, weighted by their common items
    by_pair: dict[tuple[str, str], tuple[int, float, float]]  # common items, raw agreement, Cohen's kappa


@dataclass(frozen=True)
class JudgeQuality:
    """One judge in one phase."""

    judge: str
    judged: int
    skipped: int
    seconds: float  # median
    common: int  # judgements of other judges on the same items
    raw: float  # the share of these that agree
    kappa: float  # Cohen's, against all others together
    honey: int  # honey pots judged
    honey_right: int
    flagged: bool  # below the bar
    left_out: bool

    @property
    def honey_share(self) -> float:
        """The share of right answers to honey pots."""
        return self.honey_right / self.honey if self.honey else math.nan

    @property
    def honey_interval(self) -> Interval | None:
        """Wilson's interval of it."""
        return Interval(*wilson_interval(self.honey_right, self.honey)) if self.honey else None


def progress(store: LabelStore, kind: str) -> LabelProgress:
    """The progress of a phase."""
    states = dict(store.rows("SELECT state, count(*) FROM items WHERE kind = ? GROUP BY state", (kind,)))
    rows = _standing(store, kind)
    seconds = [spent for *_, spent in rows if spent is not None]
    answers = Counter(answer for _, _, answer, _, _ in rows)
    names = [one.name for one in answers_of(kind, store.settings.scheme)]
    return LabelProgress(
        kind,
        sum(states.values()),
        {state: states[state] for state in STATES if state in states},
        len(rows),
        median(seconds) if seconds else math.nan,
        {name: answers[name] for name in names},
    )


def _standing(store: LabelStore, kind: str) -> list[tuple[int, str, str, bool, float | None]]:
    """The counted judgements of a phase: item, judge, answer, whether it tests the judge, seconds."""
    rows = store.rows(
        "SELECT item, judge, s.answer, gold IS NOT NULL AND at > ifnull(gold_at, 0), seconds FROM standing s "
        "JOIN items USING (item) WHERE kind = ? AND role = 'judge' AND s.answer <> ? ORDER BY seq",
        (kind, SKIP),
    )
    out = store.left_out
    return [
        (item, judge, answer, bool(honey), spent)
        for item, judge, answer, honey, spent in rows
        if judge not in out
    ]


def votes(store: LabelStore, kind: str) -> dict[int, dict[str, str]]:
    """For each item that is no honey pot, the answer of each judge who counts."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for item, judge, answer, honey, _ in _standing(store, kind):
        if not honey:
            found[item][judge] = answer
    return dict(found)


def agreement(store: LabelStore, kind: str) -> JudgeAgreement:
    """The agreement of the judges of a phase."""
    judged = [one for one in votes(store, kind).values() if len(one) > 1]
    table, usual = vote_table(judged)
    by_pair = {}
    common: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for one in judged:
        for a, b in combinations(sorted(one), 2):
            common[a, b].append((one[a], one[b]))
    for two, both in sorted(common.items()):
        equal = sum(x == y for x, y in both) / len(both)
        by_pair[two] = (len(both), equal, cohen_kappa([x for x, _ in both], [y for _, y in both]))
    known = [(n, kappa) for n, _, kappa in by_pair.values() if not math.isnan(kappa)]
    weight = sum(n for n, _ in known)
    names = sorted({answer for one in judged for answer in one.values()})
    every = [[list(one.values()).count(name) for name in names] for one in judged]
    return JudgeAgreement(
        len(judged),
        raw_agreement(every),
        fleiss_kappa(table) if len(table) else math.nan,
        len(table),
        usual,
        sum(n * kappa for n, kappa in known) / weight if weight else math.nan,
        by_pair,
    )


def judges(store: LabelStore, kind: str) -> list[JudgeQuality]:
    """Every judge of a phase, by name."""
    settings, out = store.settings, store.left_out
    rows = store.rows(
        "SELECT item, judge, s.answer, seconds, gold, gold IS NOT NULL AND at > ifnull(gold_at, 0) FROM standing s "
        "JOIN items USING (item) WHERE kind = ? AND role = 'judge' ORDER BY seq",
        (kind,),
    )
    by_item: dict[int, dict[str, str]] = defaultdict(dict)
    for item, judge, answer, _, _, honey in rows:
        if answer != SKIP and not honey:
            by_item[item][judge] = answer
    found = []
    for name in sorted({row[1] for row in rows}):
        mine = [row for row in rows if row[1] == name]
        judged = [row for row in mine if row[2] != SKIP]
        pots = [row for row in judged if row[5]]
        right = sum(answer == gold for _, _, answer, _, gold, _ in pots)
        both = [
            (one[name], answer)
            for one in by_item.values()
            if name in one
            for other, answer in one.items()
            if other != name and other not in out
        ]
        spent = [row[3] for row in judged if row[3] is not None]
        low = len(pots) >= settings.honey_least and right < settings.honey_bar * len(pots)
        found.append(
            JudgeQuality(
                name, len(judged), len(mine) - len(judged), median(spent) if spent else math.nan, len(both),
                sum(x == y for x, y in both) / len(both) if both else math.nan,
                cohen_kappa([x for x, _ in both], [y for _, y in both]) if both else math.nan,
                len(pots), right, low, name in out,
            )
        )  # fmt: skip
    return found


def precision(store: LabelStore) -> JudgedPrecision | None:
    """The precision of the run whose pairs were drawn for it, with Wilson's interval; None before a label."""
    labels = {one.name: one.label for one in answers_of("pair", store.settings.scheme)}
    rows = store.rows(
        "SELECT answer FROM items WHERE kind = 'pair' AND source = ? AND answer IS NOT NULL", (FOUND,)
    )
    found = [labels[answer] for (answer,) in rows]
    right = sum(label in DUPLICATES for label in found)
    wrong = sum(label in ("near", "different") for label in found)
    return judged_precision(right, wrong, len(found) - right - wrong) if right + wrong else None
