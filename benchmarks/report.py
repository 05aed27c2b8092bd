"""RESULTS.md from results/*.json: `python benchmarks/report.py`."""

from __future__ import annotations

import json

from budgets import budget_goals, budgets_page
from cold import cold_goals, cold_page, methods_page
from containers import containers_page
from goals import Goal, goals_page
from index_page import index_goals, index_page
from records import DASH, Record, fastest_peer, table, time_of
from service_page import service_goals, service_page
from settings import HERE, RESULTS, WORK


def is_cold(row: Record) -> bool:
    """Whether the record is of a whole process, start-up included."""
    return row.get("job") in ("command", "all pairs")


def ratio(row: Record, records: list[Record]) -> str:
    """How many times faster than the fastest peer: job against job, whole process against whole process."""
    peer = fastest_peer(records, row["threads"])
    if peer is None or row.get("job") == "signatures" or row["name"] == "shingles":
        return DASH
    return f"{time_of(peer, is_cold(row)) / time_of(row, is_cold(row)):.2f}"


def quality_of(row: Record, kind: str) -> str:
    """Precision and recall as two figures."""
    score = row.get("quality", {}).get(kind)
    return f"{score['precision']:.3f} / {score['recall']:.3f}" if score else DASH


def speed_row(row: Record, result: Record) -> list[str]:
    """One line of the table of a corpus."""
    name = row["name"] + (f" ({row['tokens']})" if "tokens" in row else "")
    if "error" in row:
        return [name, str(row["threads"]), "failed: " + row["error"].splitlines()[-1][:80], *[DASH] * 6]
    rate = f"{result['megabytes'] / time_of(row):.1f}"
    costs = [f"{row['cpu']:.2f}", f"{row['wall']:.2f}", rate, f"{row['rss_mb']:,.0f}"]
    quality = [quality_of(row, "pair"), quality_of(row, "closure")]
    return [name, str(row["threads"]), *costs, *quality, ratio(row, result["records"])]


def speed_page(result: Record) -> str:
    """Ours and the peers on one corpus."""
    head = [
        "what",
        "threads",
        "CPU s",
        "wall s",
        "MB/s",
        "peak MB",
        "pairs P / R",
        "clusters P / R",
        "× peer",
    ]
    rows = sorted(result["records"], key=lambda r: (r["threads"], time_of(r) if "error" not in r else 1e9))
    title = f"## {result['corpus']}: {result['documents']:,} documents, {result['megabytes']} MB, "
    title += f"{result['true_pairs']:,} true pairs"
    return "\n\n".join([title, circumstances(result), table(head, [speed_row(r, result) for r in rows])])


def circumstances(result: Record) -> str:
    """When, on what, with which versions."""
    machine, versions = result["machine"], result["versions"]
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    kind = f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB"
    return f"{machine['date']}; {kind}; Python {machine['python']}; {shown}."


def simple_page(title: str, result: Record) -> str:
    """A section of plain costs: scaling, start-up."""
    rows = []
    for row in result["records"]:
        if "error" in row:
            rows.append([row["name"], "failed: " + row["error"].splitlines()[-1][:80], *[DASH] * 3])
            continue
        each = f"{1e6 * row['cpu'] / row['documents']:.1f}" if "documents" in row else DASH
        rows.append([row["name"], f"{row['cpu']:.2f}", f"{row['wall']:.2f}", each, f"{row['rss_mb']:,.0f}"])
    head = ["what", "CPU s", "wall s", "CPU µs a document", "peak MB"]
    return "\n\n".join([f"## {title}", circumstances(result), table(head, rows)])


def limits_page(result: Record) -> str:
    """What one core can do with the same bytes."""
    rows = [[r["what"], f"{r['seconds']:.3f}", f"{r['mb_per_s']:,}"] for r in result.get("rows", [])]
    title = f"## Limits of one core on {result['corpus']}"
    return "\n\n".join([title, circumstances(result), table(["what", "CPU s", "MB/s"], rows)])


def commands_page(results: list[Record]) -> str:
    """Every command that was run, and the settings of every peer, in the order of the tables."""
    commands: dict[str, None] = {}
    settings: dict[str, None] = {}
    for result in results:
        for row in result.get("records", []):
            commands.setdefault(row.get("command", f"{row['name']}: {row.get('error', '')}"))
            if row.get("peer") and "versions" in row:
                versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
                settings.setdefault(f"- {row['name']}: {row['says']}; {row['settings']}; {versions}")
    return "\n\n".join(
        [
            "## Commands and settings",
            "In this folder:",
            "```\n" + "\n".join(commands) + "\n```",
            "\n".join(settings),
        ]
    )


INTRODUCTION = """# Results

Written by `python benchmarks/run.py`; [README.md](README.md) says what is measured and how to read it.
Times are of the best run by CPU time. P / R is precision and recall against exact Jaccard ≥ 0.7 on sets of
five consecutive tokens. "× peer" is how many times faster than the fastest peer that finds pairs and
clusters: by CPU time with one thread, by wall time with two; warm runs against the peer's job alone, cold
processes against the peer's whole process."""


def more_goals(results: dict[str, Record]) -> list[Goal]:
    """The goals of memory budgets, of the index and of the service."""
    return (
        cold_goals(results)
        + budget_goals(results.get("budgets", {}))
        + index_goals(results)
        + service_goals(results)
    )


def write(quick: bool = False) -> str:
    """Write the page from all results there are, and return it; a quick run's is only returned."""
    folder = WORK / "quick" if quick else RESULTS
    results = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    speeds = sorted(
        (r for name, r in results.items() if name.startswith("speed-")), key=lambda r: r["documents"]
    )
    pages = [
        INTRODUCTION,
        *(cold_page(results["cold"], circumstances(results["cold"])) if "cold" in results else []),
        goals_page(results, more_goals(results)),
        *map(speed_page, speeds),
    ]
    pages += (
        methods_page(results["methods"], circumstances(results["methods"])) if "methods" in results else []
    )
    for name, title in (("scaling", "How it scales: neardup, warm, one thread"), ("startup", "Start-up")):
        pages += [simple_page(title, results[name])] if name in results else []
    pages += [limits_page(results["limits"])] if "limits" in results else []
    if "containers" in results:
        pages += containers_page(results["containers"], circumstances(results["containers"]))
    if "budgets" in results:
        title = "## Within a memory budget: `neardup dedup --memory`, cold, all cores"
        pages += [title, circumstances(results["budgets"]), budgets_page(results["budgets"])]
    indexes = [result for name, result in results.items() if name.startswith("index-")]
    for result in sorted(indexes, key=lambda r: r["documents"]):
        pages += index_page(result, circumstances(result))
    services = [result for name, result in results.items() if name.startswith("service-")]
    for result in sorted(services, key=lambda r: r["documents"]):
        pages += service_page(result, circumstances(result))
    page = "\n\n".join([*filter(None, pages), commands_page([*speeds, *results.values()])]) + "\n"
    if not quick:
        (HERE / "RESULTS.md").write_text(page, encoding="utf-8")
    return page


if __name__ == "__main__":
    print(write())
