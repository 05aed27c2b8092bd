"""The service's part of RESULTS.md: what service.py measured, and the goals."""

from __future__ import annotations

from typing import Any

from goals import Goal, judged
from records import DASH, Record, table

LATENCIES = ("p50", "p90", "p99", "p999")


def ours(result: Record, *path: str) -> Any:
    """A figure of our server; None if it was not measured."""
    found: Any = next((row for row in result.get("records", []) if not row.get("peer")), {})
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def rate(part: Record | None, kind: str) -> float | None:
    """Requests of a kind a second that were answered with 200 (a failure counts against both kinds)."""
    if not part or not part[kind]:
        return None
    return float((part[kind]["count"] - part["failed"]) / part["wall"])


def service_goals(results: dict[str, Record]) -> list[Goal]:
    """The goals, with the figures of the largest index that was measured."""
    measured = [result for name, result in results.items() if name.startswith("service-")]
    if not measured:
        return []
    last = max(measured, key=lambda result: int(result["documents"]))
    figures = [
        ("queries a second, all answered", "≥ 500", rounded(rate(ours(last, "load"), "query"))),
        ("… with so many durable adds a second beside", "≥ 100", rounded(rate(ours(last, "load"), "add"))),
        ("… and a p99 of the queries, ms", "≤ 20", ours(last, "load", "query", "p99")),
        (
            "a query over HTTP, beyond the library's, median, ms",
            "≤ 1.5",
            ours(last, "overhead", "overhead_ms"),
        ),
        ("10,000 documents as NDJSON, a second", "≥ 5000", ours(last, "bulk", "per_second")),
    ]
    return [
        judged(f"service over {last['documents']:,}: {what}", goal, figure) for what, goal, figure in figures
    ]


def rounded(figure: float | None) -> float | None:
    """A rate as it was asked for: the last answer comes some milliseconds after the last second."""
    return None if figure is None else float(round(figure))


def shares(part: Record) -> list[str]:
    """The CPU time of the server and of the client as shares of a core."""
    return [f"{part[name] / part['wall']:.0%}" for name in ("server_cpu", "cpu")]


def load_rows(row: Record) -> list[list[str]]:
    """The lines of a server: under load, and as fast as it can."""
    name = f"{row['name']}: {row['says']}"
    if "error" in row:
        return [[name, "failed: " + row["error"].splitlines()[-1][:80], *[DASH] * 10]]
    rows = []
    for part, title in (("load", "fixed rates"), ("capacity", "16 connections, one after the other")):
        if part in row:
            found = row[part]
            rates = [f"{rate(found, kind) or 0:.0f}" for kind in ("query", "add")]
            times = [f"{found['query'][name]:.1f}" for name in LATENCIES]
            slowest = f"{found['add']['p99']:.1f}" if found["add"] else DASH
            cells = [*rates, *times, slowest, str(found["failed"]), *shares(found)]
            rows.append([f"{name}; {title}", f"{row['documents']:,}", *cells, f"{found['server_mb']:,.0f}"])
    return rows


def sentences(result: Record) -> str:
    """The overhead of HTTP, and a long body."""
    said = []
    if found := ours(result, "overhead"):
        said.append(
            f"One query at a time takes {found['library_ms']:.2f} ms in the library and {found['http_ms']:.2f} ms over "
            f"HTTP, in the median: {found['overhead_ms']:.2f} ms more."
        )
    if found := ours(result, "bulk"):
        server, client = shares(found)
        said.append(
            f"{found['documents']:,} documents ({found['megabytes']:.0f} MB) posted as NDJSON are durable after "
            f"{found['wall']:.2f} s, {found['per_second']:,.0f} a second; the server takes {server} of a core, "
            f"the client {client}."
        )
    return " ".join(said)


def service_page(result: Record, circumstances: str) -> list[str]:
    """Everything that was measured with one corpus, as parts of a page."""
    title = (
        f"## The service over {result['corpus']}: {result['documents']:,} documents, {result['megabytes']} MB"
    )
    head = ["what", "documents", "queries/s", "adds/s", *(f"{name} ms" for name in LATENCIES), "adds p99 ms"]
    head += ["failed", "server, of a core", "load generator", "server MB"]
    rows = [line for row in result["records"] for line in load_rows(row)]
    return [title, circumstances, table(head, rows), sentences(result)]
