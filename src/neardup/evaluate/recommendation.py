"""The best method, threshold and clustering for a goal on labels, and its estimated cost on the whole corpus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.errors import InputError, ParameterError
from neardup.evaluate.choice import HeldOutChoices, SettingTables, choose_by_all, hold_out
from neardup.evaluate.corpus import MeasuredCost
from neardup.evaluate.goals import Best
from neardup.evaluate.labels import Truth
from neardup.evaluate.removals import OutcomeScores, blocks_of_units, by_cluster, sampling_units, sum_up
from neardup.evaluate.results import MethodResult, plain
from neardup.evaluate.run import Bench
from neardup.evaluate.scores import Floats
from neardup.evaluate.settings import CLUSTERINGS, Setting, thresholds
from neardup.evaluate.specs import Spec
from neardup.evaluate.times import blocks_of, usable_times
from neardup.plan import ClusterKind
from neardup.registry import methods, presets

NGRAMS = (2, 3, 5, 8)
DIFFERENCE = 0.02  # of F1 by which documents without a label may change a choice unnoticed
UNBUILT = "cannot be built at its best threshold, {threshold:g}: {reason}"


@dataclass(frozen=True)
class Choice:
    """A tried method at its best threshold, with its best clustering."""

    spec: Spec  # with that threshold
    result: MethodResult
    value: float  # the score to rank by, on held-out halves if possible; NaN: goal not reached
    clusters: ClusterKind | None = None  # None: judged pairs, which no clustering is chosen by
    outcome: OutcomeScores | None = None  # on all labelled clusters
    held_out: HeldOutChoices | None = None
    note: str | None = None  # why the goal is not reached, if the labels are not the reason

    @property
    def reached(self) -> bool:
        """Whether a threshold reaches the goal on the labels."""
        return not math.isnan(self.value)

    @property
    def setting(self) -> Setting:
        """All of it."""
        return Setting(self.spec, self.clusters or self.spec.plan.clustering.kind)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.result.as_dict(),
            "method": self.spec.method,
            "preset": self.spec.preset,
            "options": self.spec.options,
            "clusters": self.setting.clusters,
            "reached": self.reached,
            "held_out": self.held_out.as_dict() if self.held_out else self.value,
            "outcome": self.outcome.as_dict() if self.outcome else None,
            "note": self.note,
        }


@dataclass(frozen=True)
class Tuning:
    """All tried methods, best first; the scores and the cost of the best, as measured by a run of it."""

    choices: list[Choice]
    measured: MeasuredCost | None  # of the best method at its threshold; None: no method reaches the goal
    documents: int  # of the whole corpus
    outcome: OutcomeScores | None = None  # of that run; None: judged pairs
    held_out: HeldOutChoices | None = None  # of the choice among all methods
    safe: bool = True  # False: every setting removes more wrongly than the goal allows
    unlabelled: str | None = (
        None  # how documents without a label change the figures of the choice, if they do
    )

    @property
    def best(self) -> Choice | None:
        """The best choice, if it reaches the goal."""
        return self.choices[0] if self.choices and self.choices[0].reached else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        cost = None
        if self.measured is not None:
            cost = {
                "documents": self.documents,
                "seconds": self.measured.seconds_for(self.documents),
                "memory_bytes": self.measured.memory_for(self.documents),
                "measured": self.measured,
            }
        tried = [choice.as_dict() for choice in self.choices]
        return plain({
            "best": tried[0] if self.best else None,
            "outcome": self.outcome.as_dict() if self.outcome else None,
            "held_out": self.held_out.as_dict() if self.held_out else None,
            "safe": self.safe,
            "unlabelled": self.unlabelled,
            "cost": cost,
            "tried": tried,
        })  # fmt: skip


def default_specs() -> list[Spec]:
    """Every method with default options, and with several n-gram lengths if it has them; then every preset."""
    found: dict[str, Spec] = {}
    for name, method in methods().items():
        lengths = NGRAMS if "ngram" in method.parameters and name != "andd" else ()
        for spec in (Spec(name), *(Spec(name, {"ngram": ngram}) for ngram in lengths)):
            found.setdefault(spec.plan.digest, spec)
    for name, options in presets().items():
        spec = Spec(options["method"], preset=name)
        found.setdefault(spec.plan.digest, spec)
    return list(found.values())


def tune(bench: Bench, specs: Sequence[Spec], documents: int) -> Tuning:
    """The methods ranked by their scores on held-out clusters: by what a run gives, or by judged pairs."""
    if not specs:
        raise ParameterError("specs", "tune", "at least one method", list(specs))
    if bench.truth.clusters is not None:
        return _by_outcome(bench, specs, documents)
    if bench.protocol.goal.kind == "wrong":
        raise ParameterError("goal", "tune", "f1, mcc, precision=P or recall=R with judged pairs", "wrong")
    return _by_pairs(bench, specs, documents)


# Labelled clusters: what people get ---------------------------------------------------------------


@dataclass(frozen=True)
class _Tried:
    """A method, and its tables at each threshold with each clustering."""

    spec: Spec
    result: MethodResult
    settings: list[Setting]
    tables: list[Floats]
    unbuilt: list[tuple[float, str]]  # thresholds that the method cannot have, and why


def _by_outcome(bench: Bench, specs: Sequence[Spec], documents: int) -> Tuning:
    _check_labels(bench.truth)
    goal, protocol = bench.protocol.goal, bench.protocol
    units = sampling_units(bench.truth, _blocks(bench))
    tried = [_try(bench, spec, units) for spec in specs]
    tables = [table for one in tried for table in one.tables]
    origin = [(one, number) for one in tried for number in range(len(one.tables))]  # of each table
    with bench.progress.stage("choose"):
        choices = {id(one): _best_of(bench, one, units) for one in tried}
        if not tables:
            return Tuning(_ranked(choices.values()), None, documents)
        settings = _settings(bench, units, tables)
        found = choose_by_all(settings, goal, protocol.seed)
        held_out = hold_out(settings, goal, protocol.splits, protocol.seed)
    if found is None:
        return Tuning(_ranked(choices.values()), None, documents)
    one, number = origin[found.number]
    best = _choice_of(one, number, choices.pop(id(one)))
    measured, outcome = _run(bench, best.setting)
    unlabelled = unlabelled_influence(bench.truth, best.outcome, outcome)
    best = replace(best, outcome=outcome)
    others = _ranked(choices.values())
    return Tuning([best, *others], measured, documents, outcome, held_out, found.safe, unlabelled)


def _check_labels(truth: Truth) -> None:
    """Refuse labels that cannot be split into some to choose by and some to check the choice by."""
    several = int((truth.sizes > 1).sum())
    if several < 2:
        has = "1 labelled cluster has" if several == 1 else "no labelled cluster has"
        raise InputError(
            f"{has} two or more documents, and a choice needs at least 2: label more near-duplicates"
        )


def unlabelled_influence(truth: Truth, alone: OutcomeScores | None, outcome: OutcomeScores) -> str | None:
    """How the run differs from what labelled documents alone show: settings are compared by these."""
    assert truth.clusters is not None
    without = int((truth.clusters < 0).sum())
    if alone is None or without == 0 or abs(alone.f1 - outcome.f1) <= DIFFERENCE:
        return None
    have = "document has" if without == 1 else "documents have"
    return (
        f"{without:,} of {len(truth.clusters):,} {have} no label and take part in the run: the labelled ones alone "
        f"have an F1 of {alone.f1:.3f} with these settings, among the others {outcome.f1:.3f}"
    )


def _ranked(choices: Iterable[Choice]) -> list[Choice]:
    """Best first; methods that do not reach the goal last."""
    return sorted(choices, key=lambda one: (one.reached, one.value if one.reached else 0.0), reverse=True)


def _choice_of(one: _Tried, number: int, known: Choice) -> Choice:
    """A setting of a method, with what is known of the method's choices on held-out clusters."""
    setting = one.settings[number]
    return replace(known, spec=setting.spec, clusters=setting.clusters, outcome=sum_up(one.tables[number]))


def _try(bench: Bench, spec: Spec, units: Numbers) -> _Tried:
    """The tables of a method with every clustering at every threshold that it can have, the safest first."""
    result, replay = bench.replayed(spec.name, spec.plan)
    at, unbuilt = _built(spec, thresholds(spec.plan, result.least) if replay else [spec.plan.threshold])
    settings = [Setting(one, clusters) for clusters in CLUSTERINGS for one in at]
    tables = []
    for one in settings:
        threshold = one.plan.threshold
        decisions = replay.decide(threshold, one.clusters) if replay else bench.run(one.plan)[0]
        tables.append(by_cluster(bench.truth, units, decisions))
    return _Tried(spec, result, settings, tables, unbuilt)


def _built(spec: Spec, values: Sequence[float]) -> tuple[list[Spec], list[tuple[float, str]]]:
    """The method at the thresholds that it can have, the highest first; and the others, with why it cannot."""
    found, unbuilt = [], []
    for threshold in sorted(values, reverse=True):
        at = spec.at(threshold)
        try:
            if at.plan.threshold == threshold:
                found.append(at)
        except ParameterError as error:
            unbuilt.append((threshold, str(error)))
    return found, unbuilt


def _settings(bench: Bench, units: Numbers, tables: Sequence[Floats]) -> SettingTables:
    assert bench.truth.clusters is not None
    several = np.zeros(int(units.max(initial=-1)) + 1, np.bool_)
    several[: int((bench.truth.sizes > 1).sum())] = True
    return SettingTables(np.stack(tables), several, blocks_of_units(bench.truth, units, _blocks(bench)))


def _blocks(bench: Bench) -> Numbers | None:
    """The block of time of each cluster, where labels can be held out by time."""
    return blocks_of(bench.truth, usable_times(bench.truth, bench.times))


def _best_of(bench: Bench, one: _Tried, units: Numbers) -> Choice:
    """The best setting of one method."""
    goal, protocol = bench.protocol.goal, bench.protocol
    note = UNBUILT.format(threshold=one.unbuilt[0][0], reason=one.unbuilt[0][1]) if one.unbuilt else None
    if not one.tables:
        return Choice(one.spec, one.result, math.nan, note=note)
    settings = _settings(bench, units, one.tables)
    chosen = choose_by_all(settings, goal, protocol.seed)
    if chosen is None:
        return Choice(one.spec, one.result, math.nan, note=note)
    held_out = hold_out(settings, goal, protocol.splits, protocol.seed)
    outcome = sum_up(one.tables[chosen.number])
    name = {"wrong": "duplicates_removed", "precision": "recall", "recall": "precision"}.get(goal.kind, "f1")
    value = getattr(outcome, name)
    if held_out is not None and name in ("f1", "duplicates_removed"):
        value = float(np.mean(getattr(held_out, name)))
    setting = one.settings[chosen.number]
    return Choice(setting.spec, one.result, value, setting.clusters, outcome, held_out, note)


def _run(bench: Bench, setting: Setting) -> tuple[MeasuredCost, OutcomeScores]:
    """The cost and the scores of the run that the printed command does."""
    decisions, measured = bench.run(setting.plan)
    return measured, sum_up(by_cluster(bench.truth, sampling_units(bench.truth), decisions))


# Judged pairs -------------------------------------------------------------------------------------


def _by_pairs(bench: Bench, specs: Sequence[Spec], documents: int) -> Tuning:
    choices = [_choice(bench, spec, bench.evaluate(spec.name, spec.plan)) for spec in specs]
    choices.sort(
        key=lambda one: (one.reached, -math.inf if math.isnan(one.value) else one.value), reverse=True
    )
    measured = None
    if choices[0].reached:  # its bands differ from those of the first run: measure again
        _, measured = bench.run(choices[0].spec.plan)
    return Tuning(choices, measured, documents)


def _choice(bench: Bench, spec: Spec, result: MethodResult) -> Choice:
    """The spec with its best threshold, if its candidates support that threshold."""
    if result.best is None:
        return Choice(spec, result, math.nan)
    chosen = spec.at(result.best.threshold)
    try:
        plan = chosen.plan
    except ParameterError as error:
        note = UNBUILT.format(threshold=result.best.threshold, reason=error)
        return Choice(spec, replace(result, best=None), math.nan, note=note)
    if plan.threshold != result.best.threshold:
        return _without_threshold(bench, spec, result)
    return Choice(chosen, result, _value(bench, result))


def _without_threshold(bench: Bench, spec: Spec, result: MethodResult) -> Choice:
    """A method without a threshold (a number of hashes must agree), which reaches the goal or not."""
    goal, at = bench.protocol.goal, result.threshold
    enough = goal.kind in ("f1", "mcc") or getattr(result.counts, goal.kind) >= goal.least
    best = Best(at, at, at, result.counts) if enough else None
    result = replace(result, best=best, splits=bench.split(result.found, result.least, fixed=at))
    return Choice(spec, result, _value(bench, result) if enough else math.nan)


def _value(bench: Bench, result: MethodResult) -> float:
    """F1 (or recall for a precision goal, precision for a recall goal), on held-out halves or else on all labels."""
    name = {"precision": "recall", "recall": "precision"}.get(bench.protocol.goal.kind, "f1")
    if result.splits is not None:
        return float(result.splits.as_dict()[name]["mean"])
    return float(getattr(result.best.counts, name)) if result.best else math.nan
