"""Runs within a memory budget: how they grow, what copies cost, what a estimate and a resumed run are worth.

python benchmarks/run.py --sections budgets      # results/budgets.json
python benchmarks/budgets.py growth.svg          # draws that
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import corpora
import measure
import ours
import sections
from goals import Goal, judged
from records import DASH, Record, good, table
from settings import OUTPUTS, RESULTS

# The corpus, its budget, and whether it is one of the growing sizes.
RUNS = (
    ("100k", "1G", True),
    ("400k", "1G", True),
    ("1m", "1G", True),
    ("10m-short", "4G", False),
    ("1m-short-distinct", "1G", False),
    ("1m-short-identical", "1G", False),
    ("1m-short-near-identical", "1G", False),
)
QUICK = (("2k", "1G", True), ("8k", "1G", True), ("4k-distinct", "1G", False), ("4k-identical", "1G", False))
FORETOLD = ("seconds", "memory_bytes", "disk_bytes", "candidates", "removed")


def budgets(options: sections.Options, quick: bool = False) -> Record:
    """All runs with all cores, then one of them stopped half-way and resumed."""
    rows, sizes = [], QUICK if quick else RUNS
    for name, memory, grows in sizes:
        rows.append({**one_run(name, memory, options), "grows": grows})
    # Checkpoints are seconds apart, so that it takes a long run to see what they are worth.
    longest = max(good(rows), key=lambda row: row["documents"], default=None)
    return {"records": rows, "resumed": [half_way(longest, options)] if longest else []}


def command(path: Path, folder: Path, memory: str, *more: str) -> list[str]:
    """A whole run with a budget."""
    return [ours.program(), "dedup", str(path), "-o", str(folder), "--memory", memory, *more]


def one_run(name: str, memory: str, options: sections.Options) -> Record:
    """What a run costs, and what was estimated of it."""
    corpus, folder = corpora.find(name), OUTPUTS / f"{name}-budget"
    shutil.rmtree(folder, ignore_errors=True)
    threads = max(options.threads)
    given = command(corpus.path, folder, memory, "--threads", str(threads), "--force")
    repeats = 1 if corpus.documents > 500_000 else options.repeats
    settle(corpus.path)
    row = sections.record(name, threads, given, options, repeats)
    row |= {"documents": corpus.documents, "megabytes": round(corpus.megabytes, 1), "memory": memory}
    if "error" not in row:
        row["report"] = essentials(json.loads((folder / "report.json").read_text()), row)
        row["estimated"] = estimated(given)
    shutil.rmtree(folder, ignore_errors=True)
    return row


def settle(path: Path) -> None:
    """Every run begins alike: nothing is left to be written, and its input is in the system's cache."""
    os.sync()
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def essentials(report: Record, row: Record) -> Record:
    """What the report says that a estimate speaks of."""
    return {
        "seconds": row["wall"],
        "memory_bytes": report["peak_memory_bytes"],
        "candidates": report["pairs"]["candidates"],
        "removed": report["removed"],
        "budget": report["memory_budget_bytes"],
    }


def estimated(given: list[str]) -> Record:
    """What a dry run of the same command expects."""
    said = subprocess.run([*given, "--dry-run", "--json"], capture_output=True, text=True, check=True).stdout
    found: Record = json.loads(said)
    return {name: found[name] for name in FORETOLD}


def half_way(row: Record, options: sections.Options) -> Record:
    """The same run, killed after half of its time, and what is left for the one that resumes it."""
    folder = OUTPUTS / f"{row['name']}-resumed"
    shutil.rmtree(folder, ignore_errors=True)
    path = corpora.find(row["name"]).path
    given = command(path, folder, row["memory"], "--threads", str(row["threads"]))
    settle(path)
    pinned = ["taskset", "-c", measure.cores(row["threads"])]
    running = subprocess.Popen([*pinned, *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(row["process"]["wall"] / 2)
    running.kill()
    running.wait()
    settle(path)
    rest = sections.record("resumed", row["threads"], [*given, "--resume"], options, 1)
    shutil.rmtree(folder, ignore_errors=True)
    if "error" in rest:
        return rest
    return {**rest, "of": row["name"], "whole": row["process"]["wall"], "saved": saved(row, rest)}


def saved(row: Record, rest: Record) -> float:
    """The share of the whole run's time that resuming spared."""
    return round(1 - rest["process"]["wall"] / row["process"]["wall"], 3)


def budget_goals(result: Record) -> list[Goal]:
    """The goals of runs with a budget."""
    rows = {row["name"]: row for row in good(result.get("records", []))}
    resumed = good(result.get("resumed", []))

    def ratio(name: str, other: str, what: str) -> float | None:
        return rows[name][what] / rows[other][what] if name in rows and other in rows else None

    def share(name: str) -> float | None:
        return rows[name]["report"]["memory_bytes"] / rows[name]["report"]["budget"] if name in rows else None

    return [
        judged("1,000,000 documents with 1 GB, times 100,000 (wall)", "≤ 11", ratio("1m", "100k", "wall")),
        judged("1,000,000 documents with 1 GB: peak, times the budget", "≤ 1.1", share("1m")),
        judged("10,000,000 short documents with 4 GB: peak, times the budget", "≤ 1.1", share("10m-short")),
        judged(
            "1,000,000 identical documents, times distinct ones (CPU)",
            "≤ 1",
            ratio("1m-short-identical", "1m-short-distinct", "cpu"),
        ),
        judged("resumed half-way: time saved", "≥ 0.4", resumed[0]["saved"] if resumed else None),
    ]


def budgets_page(result: Record) -> str:
    """Costs beside budgets, and estimates beside measured values."""
    rows = []
    for row in good(result["records"]):
        peak = row["report"]["memory_bytes"] / 2**20
        costs = [f"{row['wall']:.1f}", f"{row['cpu']:.1f}", f"{1e6 * row['cpu'] / row['documents']:.1f}"]
        size = [f"{row['documents']:,}", f"{row['megabytes']:,.0f}"]
        rows.append([row["name"], *size, row["memory"], f"{peak:,.0f}", *costs])
    head = ["corpus", "documents", "MB", "budget", "peak MB", "wall s", "CPU s", "CPU µs a document"]
    parts = [table(head, rows), estimates(result)]
    for row in good(result["resumed"]):
        parts.append(
            f"{row['of']}, killed after half of its {row['whole']:.1f} s: "
            f"resumed, it took {row['process']['wall']:.1f} s more, {100 * row['saved']:.0f} % less than a new run."
        )
    return "\n\n".join(parts)


def estimates(result: Record) -> str:
    """What `--dry-run` expected, divided by what came."""
    names = [name for name in FORETOLD if name != "disk_bytes"]
    rows = []
    for row in good(result["records"]):
        cells = [quotient(row["estimated"][name]["expected"], row["report"][name]) for name in names]
        rows.append([row["name"], *cells])
    return "Estimated by `--dry-run`, as a multiple of what was measured:\n\n" + table(
        ["corpus", "time", "memory", "candidates", "removed"], rows
    )


def quotient(expected: Any, came: Any) -> str:
    """Expected by came; nothing where nothing came."""
    return f"{expected / came:.2f}" if came else (DASH if expected > 1 else "0 of 0")


def draw(result: Record, path: Path) -> None:
    """Time and peak memory against the size of the text, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in good(result["records"]) if row["grows"] or row["name"].endswith("short")]
    size = [row["megabytes"] / 1000 for row in rows]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    left.loglog(size, [row["cpu"] for row in rows], "o-", label="CPU")
    left.loglog(size, [row["wall"] for row in rows], "s--", label="on the clock, all cores")
    left.set(xlabel="text, GB", ylabel="seconds")
    right.loglog(size, [row["report"]["memory_bytes"] / 2**30 for row in rows], "o-", label="peak")
    right.loglog(size, [row["report"]["budget"] / 2**30 for row in rows], "k_:", label="--memory")
    right.set(xlabel="text, GB", ylabel="GB of memory")
    for row, x in zip(rows, size, strict=True):
        left.annotate(
            f"{row['documents']:,}", (x, row["cpu"]), (4, -10), textcoords="offset points", fontsize=7
        )
    for axes in (left, right):
        axes.grid(alpha=0.3, which="both", linewidth=0.4)
        axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    draw(json.loads((RESULTS / "budgets.json").read_text()), Path(sys.argv[1]))
