"""An evaluation as a table with one row for each method: Markdown, csv or JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

from neardup.evaluate.intervals import Interval
from neardup.evaluate.results import Evaluation, MethodResult

CLUSTERING = ("adjusted_rand", "bcubed_precision", "bcubed_recall", "bcubed_f1")


def rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The scores of each method by column; None if a score does not apply."""
    return [_row(result) for result in evaluation.results]


def _row(result: MethodResult) -> dict[str, Any]:
    counts, best, splits = result.counts, result.best, result.splits
    macro = result.by_cluster.macro if result.by_cluster else {}
    found = result.clustering
    held_out = splits.as_dict() if splits else None
    row: dict[str, Any] = {
        "method": result.name,
        "threshold": result.threshold,
        "found": int(counts.found),
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        **_bounds("f1", result.intervals.get("f1")),
        "mcc": counts.mcc,
        **{f"macro_{name}": macro.get(name) for name in ("precision", "recall", "f1")},
        "best_threshold": best.threshold if best else None,
        "best_precision": best.counts.precision if best else None,
        "best_recall": best.counts.recall if best else None,
        "best_f1": best.counts.f1 if best else None,
        **_bounds("best_f1", result.intervals.get("best_f1")),
        "best_mcc": best.counts.mcc if best else None,
        "average_precision": result.average_precision,
        "pearson": result.pearson,
        "separation": result.separation,
        "held_out_f1": held_out["f1"]["mean"] if held_out else None,
        "held_out_f1_deviation": held_out["f1"]["standard_deviation"] if held_out else None,
        **{name: getattr(found, name) if found else None for name in CLUSTERING},
        "pairs_in_clusters_f1": result.outcome.f1 if result.outcome else None,
        "duplicates_removed": result.outcome.duplicates_removed if result.outcome else None,
        "wrong_removals": result.outcome.wrong_share if result.outcome else None,
        "clusters_lost": int(result.outcome.lost) if result.outcome else None,
        "candidate_recall": result.candidate_recall.recall if result.candidate_recall else None,
        "seconds": result.measured.seconds if result.measured else None,
        "mb_per_second": result.measured.megabytes_per_second if result.measured else None,
    }
    return {name: None if _is_nan(value) else value for name, value in row.items()}


def _bounds(name: str, interval: Interval | None) -> dict[str, float | None]:
    ends = (interval.low, interval.high) if interval else (None, None)
    return {f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def figure(value: Any, digits: int = 3) -> str:
    """A figure as printed; a dash for None and NaN."""
    if value is None or _is_nan(value):
        return "–"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def to_markdown(evaluation: Evaluation) -> str:
    """A table with one row for each method, without empty columns."""
    table = rows(evaluation)
    columns = [name for name in table[0] if any(row[name] is not None for row in table)]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in table:
        cells = [_short(name, row[name]).replace("|", "\\|") for name in columns]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short(name: str, value: Any) -> str:
    """Thresholds with all digits, other figures with three."""
    return f"{value:g}" if name.endswith("threshold") and value is not None else figure(value)


def to_csv(evaluation: Evaluation) -> str:
    """All columns, all digits; empty if a figure does not apply."""
    table, out = rows(evaluation), io.StringIO()
    writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue().rstrip("\n")


def to_json(evaluation: Evaluation) -> str:
    """All scores, with each method's plan and clusters."""
    return json.dumps(evaluation.as_dict(), ensure_ascii=False, allow_nan=False)
