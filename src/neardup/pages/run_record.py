"""What a report.json records of a run: settings, problems of the input, time and memory, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.pages.escaping import safe, shortened_name
from neardup.pages.parts import Cell, note, table
from neardup.plurals import counted, size_in_words

__all__ = ["cost_section", "files_section", "problem_section", "settings_section"]

Report = Mapping[str, Any]
INPUTS = 5  # named
PROBLEMS = 20  # shown


def problem_section(problems: Report) -> str:
    """Counts by kind, and the first ones; empty without problems."""
    if not problems["total"]:
        return ""
    first = [one for one in problems.get("first", ()) if isinstance(one, dict)][:PROBLEMS]
    records = [(_place(one), str(one.get("reason")), str(one.get("action"))) for one in first]
    kinds = list(problems["counts"].items())
    return table(counted(problems["total"], "problem"), ("Kind", "Records"), kinds) + table(
        "The first ones", ("Where", "What is wrong", "What was done"), records
    )


def _place(problem: Report) -> str:
    record = problem.get("record")
    return shortened_name(problem.get("file"), 80) + ("" if record is None else f", record {record}")


def settings_section(report: Report, threshold: float, measure: str) -> str:
    """The plan in words, and the input."""
    plan, found, references = report["plan"], report.get("recall_at_threshold"), report.get("against") or {}
    inputs, more = report["inputs"], len(report["inputs"]) - INPUTS
    named = ", ".join(map(shortened_name, inputs[:INPUTS])) + (f" and {more:,} more" if more > 0 else "")
    rows = [
        ("Input", named),
        ("Method", plan["method"]),
        ("Threshold", f"{threshold:g} of {measure}"),
        ("Clusters", (plan.get("clustering") or {}).get("kind")),
        ("Kept of a cluster", (plan.get("keep") or {}).get("policy")),
        ("A pair at the threshold is found", None if found is None else f"with probability {found:.3f}"),
        ("Candidate pairs", _count(report["pairs"].get("candidates"))),
        ("Documents without tokens", _count(report.get("without_tokens"))),
        *(
            (f"Removed against {shortened_name(one['name'])}", _count(one["removed"]))
            for one in references.get("references", ())
        ),
        ("Engine", f"{report['engine']}, neardup {report['neardup']}"),
        ("Digest of the plan", report.get("digest")),
    ]
    return table("Settings", ("Setting", "Value"), [row for row in rows if row[1] is not None])


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def cost_section(report: Report) -> str:
    """Time and memory by stage, as far as the engine records them."""
    cpu, memory = report.get("cpu_seconds") or {}, report.get("peak_memory_by_stage") or {}
    rows: list[Sequence[Cell]] = [
        (stage, _seconds(seconds), _seconds(cpu.get(stage)), _bytes(memory.get(stage)))
        for stage, seconds in report["seconds"].items()
    ]
    wall, busy = sum(report["seconds"].values()), sum(cpu.values()) if cpu else None
    rows.append(("all stages", _seconds(wall), _seconds(busy), _bytes(report.get("peak_memory_bytes"))))
    words = "Memory is the peak of the process up to the end of a stage."
    return table("By stage", ("Stage", "Time", "CPU time", "Peak memory"), rows) + (
        note(words) if memory else ""
    )


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:,.2f} s"


def _bytes(value: int | None) -> str | None:
    return size_in_words(value) if value else None


def files_section(report: Report) -> str:
    """The files of the run, which have what the page leaves out."""
    if not report["files"]:
        return ""
    names = "".join(f"<li><code>{safe(name)}</code></li>" for name in report["files"])
    return (
        note("This page shows a selection. Everything is in the folder of the run:") + f"<ul>{names}</ul>\n"
    )
