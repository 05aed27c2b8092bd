"""An evaluation in the terminal: labels, the scores of each method, and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.escapes import escape_controls
from neardup.evaluate.report import figure, rows
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.evaluate.comparison import SignificanceTest
    from neardup.evaluate.results import Evaluation, MethodComparison


def show(evaluation: Evaluation) -> None:
    """Print the evaluation."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in _head(evaluation):
        console.print(escape_controls(line))
    table = rows(evaluation)
    for title, build in (
        ("At each method's own threshold", _at_threshold),
        (f"At the best threshold for {evaluation.goal}", _at_best),
        ("Clusters, candidates and speed", _clusters_and_speed),
    ):
        console.print()
        console.print(title, style="bold")
        console.print(build(evaluation, table))
    for comparison in evaluation.comparisons:
        console.print()
        for line in _compared(comparison):
            console.print(line)
    for note in evaluation.notes:
        console.print(f"Note: {escape_controls(note)}.", style="dim")


def _head(evaluation: Evaluation) -> list[str]:
    truth = evaluation.truth
    share = truth.positives / truth.total
    part = f"{share:.2%}" if share >= 1e-3 else f"{1e6 * share:.3g} in a million"
    pairs = f"{counted(truth.total, 'pair')}, {truth.positives:,} of them near-duplicates ({part})"
    if truth.clusters is None:
        lines = [f"{counted(evaluation.documents, 'document')}; judged: {pairs}."]
    else:
        clusters = int((truth.sizes > 0).sum())
        labelled = int(truth.sizes.sum())
        lines = [f"{counted(labelled, 'document')} in {counted(clusters, 'labelled cluster')}: {pairs}."]
    if truth.agreement is not None:
        lines += _agreement(truth.agreement, "Rater agreement")
        if "labels" in truth.agreement:
            lines += _agreement(truth.agreement["labels"], "Rater agreement on the exact label")
    if truth.document_agreement is not None:
        lines += _agreement(truth.document_agreement, "Rater agreement on documents")
    return lines


MOST_RATERS = 6  # whose kappas are shown by pair of raters


def _agreement(found: dict[str, Any], name: str) -> list[str]:
    """Kappas as sentences; of each two raters, if they are few."""
    lines = []
    if len(found["raters"]) <= MOST_RATERS:
        kappas = [f"{who} {figure(two['cohen_kappa'])}" for who, two in found["by_pair"].items()]
        lines.append(f"{name} (Cohen's kappa): {'; '.join(kappas) or '–'}.")
    if len(found["raters"]) > 2:
        who = f"of all {len(found['raters'])} raters"
        items = f"{found['fleiss_items']:,} items with {found['raters_of_an_item']} labels each"
        lines.append(f"{name} {who} (Fleiss' kappa): {figure(found['fleiss_kappa'])}, {items}.")
    return lines


def as_table(columns: list[str], body: list[list[str]]) -> str:
    """Names left-aligned, figures right-aligned; lines are never wrapped."""
    lines = [columns, *body]
    first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    rows = ((name, zip(cells, widths, strict=True)) for name, *cells in lines)
    return "\n".join("  ".join([name.ljust(first), *(c.rjust(w) for c, w in cells)]) for name, cells in rows)


def _interval(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"{figure(low)}-{figure(high)}"


def _threshold(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _at_threshold(evaluation: Evaluation, table: list[dict[str, Any]]) -> str:
    columns = ["method", "at", "found", "precision", "recall", "F1", "95 %", "MCC"]
    macro = evaluation.truth.clusters is not None
    body = [
        [
            row["method"], _threshold(row["threshold"]), figure(row["found"]), figure(row["precision"]),
            figure(row["recall"]), figure(row["f1"]), _interval(row, "f1"), figure(row["mcc"]),
            *([figure(row["macro_f1"])] if macro else [_judged(result.judged)]),
        ]
        for row, result in zip(table, evaluation.results, strict=True)
    ]  # fmt: skip
    return as_table([*columns, "macro F1" if macro else "precision, 95 %"], body)


def _judged(judged: Any) -> str:
    """Wilson's interval of the precision among judged pairs."""
    return "–" if judged is None else f"{figure(judged.interval.low)}-{figure(judged.interval.high)}"


def _at_best(evaluation: Evaluation, table: list[dict[str, Any]]) -> str:
    columns = ["method", "at", "precision", "recall", "F1", "95 %", "held out", "AP", "r"]
    body = [
        [
            row["method"], _threshold(row["best_threshold"]), figure(row["best_precision"]),
            figure(row["best_recall"]), figure(row["best_f1"]), _interval(row, "best_f1"),
            _held_out(row), figure(row["average_precision"]), figure(row["pearson"]),
        ]
        for row in table
    ]  # fmt: skip
    return as_table(columns, body)


def _held_out(row: dict[str, Any]) -> str:
    if row["held_out_f1"] is None:
        return "–"
    return f"{figure(row['held_out_f1'])} ±{figure(row['held_out_f1_deviation'])}"


def _clusters_and_speed(evaluation: Evaluation, table: list[dict[str, Any]]) -> str:
    columns = [
        "method",
        "adj. Rand",
        "B³ prec.",
        "B³ recall",
        "B³ F1",
        "pair F1",
        "removed",
        "wrong",
        "lost",
        "cand. recall",
        "MB/s",
    ]
    names = [
        "adjusted_rand", "bcubed_precision", "bcubed_recall", "bcubed_f1", "pairs_in_clusters_f1",
        "duplicates_removed", "wrong_removals", "clusters_lost", "candidate_recall",
    ]  # fmt: skip
    body = [
        [row["method"], *(figure(row[name]) for name in names), figure(row["mb_per_second"], 1)]
        for row in table
    ]
    return as_table(columns, body)


def _compared(one: MethodComparison) -> list[str]:
    """The comparison of the second method with the first."""
    interval = one.f1_interval
    bounds = f" (95 %: {interval.low:+.3f} to {interval.high:+.3f})" if interval is not None else ""
    lines = [
        f"{one.second} compared with {one.first}: F1 {one.f1_difference:+.3f}{bounds}",
        f"  scores: correlation {figure(one.correlation)}, earth mover's distance "
        f"{figure(one.earth_movers_distance)}; McNemar {_p(one.mcnemar)}, chi-square of precision {_p(one.chi_square)}",
    ]
    if one.t_test is not None and one.corrected_t_test is not None:
        lines.append(
            f"  held-out F1: paired t-test {_p(one.t_test)}, corrected for overlapping halves "
            f"{_p(one.corrected_t_test)}"
        )
    return lines


def _p(test: SignificanceTest) -> str:
    return "p < 0.001" if test.p_value < 0.001 else f"p = {figure(test.p_value)}"
