"""An evaluation as a page for people: scores of all methods, curves, and the worst errors of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import OutputError
from neardup.evaluate.method_errors import MethodErrors
from neardup.evaluate.report import figure, rows
from neardup.evaluate.results import Evaluation, MethodComparison, MethodResult
from neardup.evaluate.scores import Floats
from neardup.output import reason, whole_file
from neardup.pages.charts import Line
from neardup.pages.evaluation_page import EvaluationPage, MethodErrorList, ShownError, Table, evaluation_page
from neardup.plurals import counted

__all__ = ["errors_of", "make_page", "write_evaluation_page"]

POINTS = 300  # of a curve
OWN = {"precision": "Precision", "recall": "Recall", "f1": "F1", "mcc": "MCC"}
BEST = {
    "best_precision": "Precision",
    "best_recall": "Recall",
    "best_f1": "F1",
    "average_precision": "Average precision",
}
CLUSTERS = {
    "adjusted_rand": "Adjusted Rand", "bcubed_f1": "B³ F1", "duplicates_removed": "Duplicates removed",
    "wrong_removals": "Wrong removals", "candidate_recall": "Candidate recall", "mb_per_second": "MB/s",
}  # fmt: skip


def write_evaluation_page(path: Path, evaluation: Evaluation, errors: Sequence[MethodErrors]) -> Path:
    """Writes the page and returns its path."""
    try:
        with whole_file(path) as aside:
            aside.write_text(evaluation_page(make_page(evaluation, errors)), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot write the page ({reason(error)})") from error
    return path


def make_page(evaluation: Evaluation, errors: Sequence[MethodErrors]) -> EvaluationPage:
    """What the page shows."""
    truth, results = evaluation.truth, evaluation.results
    sentence = (
        f"{counted(evaluation.documents, 'document')}, {counted(truth.total, 'labelled pair')}, {truth.positives:,} of "
        f"them near-duplicates. {counted(len(results), 'method')} scored."
    )
    names = ", ".join(result.name for result in results[:3]) + (" …" if len(results) > 3 else "")
    return EvaluationPage(
        title=f"Evaluation of {names}",
        sentences=[sentence],
        tables=_tables(evaluation),
        precision_recall=[_precision_recall(result) for result in results],
        f1=[_f1(result) for result in results],
        methods=[errors_of(one) for one in errors],
        notes=[f"{text}." for text in evaluation.notes],
    )


def errors_of(found: MethodErrors) -> MethodErrorList:
    """The worst errors of a method, as the page shows them."""
    shown = [
        ShownError(one.kind, one.left, one.right, one.score, one.clusters, one.similar, one.comparison)
        for one in found.pairs
    ]
    totals = found.errors.total_positives, found.errors.total_negatives
    return MethodErrorList(found.name, found.threshold, shown, *totals)


def _tables(evaluation: Evaluation) -> list[Table]:
    """Scores at the method's own threshold and at the best one, clusters and speed, and comparisons."""
    scored = rows(evaluation)
    own = [
        [row["method"], f"{row['threshold']:.4g}", *_cells(row, OWN), _interval(row, "f1")] for row in scored
    ]
    best = [
        [row["method"], _short(row["best_threshold"]), *_cells(row, BEST), figure(row["held_out_f1"])]
        for row in scored
    ]
    tables = [
        Table("At each method's own threshold", ("Method", "Threshold", *OWN.values(), "F1, 95 %"), own),
        Table(
            f"At the best threshold for {evaluation.goal}",
            ("Method", "Threshold", *BEST.values(), "Held-out F1"),
            best,
        ),
    ]
    shown = {key: name for key, name in CLUSTERS.items() if any(row[key] is not None for row in scored)}
    if shown:
        body = [[row["method"], *_cells(row, shown)] for row in scored]
        tables.append(Table("Clusters of dedup, candidates and speed", ("Method", *shown.values()), body))
    if evaluation.comparisons:
        first = evaluation.comparisons[0].first
        head = ("Method", "F1 difference", "95 %", "Correlation of scores", "McNemar p")
        tables.append(
            Table(f"Compared with {first}", head, [_compared(one) for one in evaluation.comparisons])
        )
    return tables


def _cells(row: dict[str, Any], names: dict[str, str]) -> list[str]:
    return [figure(row[name]) for name in names]


def _interval(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"{figure(low)} to {figure(high)}"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _compared(one: MethodComparison) -> list[str]:
    ends = one.f1_interval
    interval = "–" if ends is None else f"{ends.low:+.3f} to {ends.high:+.3f}"
    return [
        one.second,
        f"{one.f1_difference:+.3f}",
        interval,
        figure(one.correlation),
        f"{one.mcnemar.p_value:.3g}",
    ]


def _precision_recall(result: MethodResult) -> Line:
    counts = result.counts
    points = _points(result.curve.recall, result.curve.precision)
    return Line(result.name, points, _dot(counts.recall, counts.precision))


def _f1(result: MethodResult) -> Line:
    points = _points(result.curve.thresholds, result.curve.f1)
    return Line(result.name, points, _dot(result.threshold, result.counts.f1))


def _dot(x: float, y: float) -> tuple[float, float] | None:
    return (float(x), float(y)) if 0 <= x <= 1 and 0 <= y <= 1 else None  # not where it is NaN


def _points(x: Floats, y: Floats) -> list[tuple[float, float]]:
    """Up to POINTS points inside the unit square, evenly chosen, the last one included."""
    inside = np.flatnonzero((x >= 0) & (x <= 1) & (y >= 0) & (y <= 1))
    chosen = inside[np.unique(np.linspace(0, len(inside) - 1, POINTS).astype(int))] if len(inside) else inside
    return list(zip(x[chosen].tolist(), y[chosen].tolist(), strict=True))
