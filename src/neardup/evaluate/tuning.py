"""The best method and threshold for a goal on labels, and its estimated cost on the whole corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from neardup.errors import ParameterError
from neardup.evaluate.corpus import MeasuredCost, run_plan
from neardup.evaluate.goals import Best
from neardup.evaluate.results import MethodResult, plain
from neardup.evaluate.run import Bench
from neardup.evaluate.specs import Spec
from neardup.registry import methods

NGRAMS = (2, 3, 5, 8)


@dataclass(frozen=True)
class Choice:
    """A tried method at its best threshold."""

    spec: Spec  # with that threshold
    result: MethodResult
    value: float  # the score to rank by, on held-out halves if possible; NaN: goal not reached

    @property
    def reached(self) -> bool:
        """Whether a threshold reaches the goal on the labels."""
        return self.result.best is not None


@dataclass(frozen=True)
class Tuning:
    """All tried methods, best first, and the cost of the best."""

    choices: list[Choice]
    measured: MeasuredCost | None  # of the best method at its threshold; None: no method reaches the goal
    documents: int  # of the whole corpus

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
        tried = [
            {
                "method": choice.spec.method,
                "options": choice.spec.options,
                "reached": choice.reached,
                "held_out": choice.value,
                **choice.result.as_dict(),
            }
            for choice in self.choices
        ]
        return plain({"best": tried[0] if self.best else None, "cost": cost, "tried": tried})


def default_specs() -> list[Spec]:
    """Every method with default options, or with several n-gram lengths if it has them."""
    found = []
    for name, method in methods().items():
        if "ngram" in method.parameters:
            found += [Spec(name, {"ngram": ngram}) for ngram in NGRAMS]
        else:
            found.append(Spec(name))
    return found


def tune(bench: Bench, specs: Sequence[Spec], documents: int) -> Tuning:
    """The methods ranked by their scores on held-out clusters."""
    if not specs:
        raise ParameterError("specs", "tune", "at least one method", list(specs))
    choices = []
    for spec in specs:
        result = bench.evaluate(spec.name, spec.plan)
        choices.append(_choice(bench, spec, result))
    choices.sort(
        key=lambda one: (one.reached, -math.inf if math.isnan(one.value) else one.value), reverse=True
    )
    measured = None
    if choices[0].reached:  # its bands differ from those of the first run: measure again
        protocol = bench.protocol
        run, measured = run_plan(
            choices[0].spec.plan, bench.documents, protocol.threads, protocol.work_dir, bench.progress
        )
        run.corpus.work.close()
    return Tuning(choices, measured, documents)


def _choice(bench: Bench, spec: Spec, result: MethodResult) -> Choice:
    """The spec with its best threshold, if its candidates support that threshold."""
    if result.best is None:
        return Choice(spec, result, math.nan)
    chosen = spec.at(result.best.threshold)
    try:
        plan = chosen.plan
    except ParameterError:
        return Choice(spec, replace(result, best=None), math.nan)
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
