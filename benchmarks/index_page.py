"""The index's part of RESULTS.md: what index.py measured, and the goals."""

from __future__ import annotations

from typing import Any

from goals import Goal, judged
from records import DASH, Record, table

CHANGES = (
    ("add", "added one by one"),
    ("replace", "replaced one by one"),
    ("delete", "deleted one by one"),
    ("add_batch", "added in batches of 1,000"),
    ("replace_batch", "replaced in batches of 1,000"),
    ("delete_batch", "deleted in batches of 1,000"),
)


def of_kind(result: Record, *kinds: str) -> list[Record]:
    """The records of these kinds that have no error."""
    return [row for row in result.get("records", []) if row.get("kind") in kinds and "error" not in row]


def one(result: Record, kind: str, *path: str) -> Any:
    """A figure of the only record of a kind; None if it is not there."""
    found: Any = next(iter(of_kind(result, kind)), {})
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found or None


def times(result: Record, kind: str, other: str) -> float | None:
    """CPU time of one record, as a multiple of another's."""
    mine, theirs = one(result, kind, "cpu"), one(result, other, "cpu")
    return mine / theirs if mine and theirs else None


def growth(result: Record) -> float | None:
    """CPU time against the whole index, as a multiple of that against the small one."""
    rows = sorted(of_kind(result, "against"), key=lambda row: row["documents"])
    return rows[-1]["cpu"] / rows[0]["cpu"] if len(rows) == 2 else None


def milliseconds(figure: float | None) -> float | None:
    """µs as ms."""
    return None if figure is None else figure / 1000


def index_goals(results: dict[str, Record]) -> list[Goal]:
    """The goals, with the figures of the largest indexes that were measured."""
    measured = [result for name, result in results.items() if name.startswith("index-")]
    measured.sort(key=lambda result: int(result["documents"]))
    short = [result for result in measured if "short" in result["corpus"]]
    long = [result for result in measured if "short" not in result["corpus"]]
    return [goal for some in long[-1:] for goal in long_goals(some)] + [
        goal for some in short[-1:] for goal in short_goals(some)
    ]


def long_goals(last: Record) -> list[Goal]:
    """Those of documents of 2.7 kB."""
    figures = [
        ("bulk build, times `neardup dedup` (CPU)", "≤ 1.5", times(last, "build", "dedup")),
        ("peak memory of the bulk build, MB", "≤ 1024", one(last, "build", "rss_mb")),
        ("bytes a posting", "≤ 12", one(last, "build", "bytes_per_posting")),
        ("look-up, median, ms", "≤ 0.5", milliseconds(one(last, "look-up", "look_up", "median_us"))),
        ("look-up, p99, ms", "≤ 2", milliseconds(one(last, "look-up", "look_up", "p99_us"))),
        ("opened after imports, s", "≤ 0.3", one(last, "look-up", "open_s")),
        ("`neardup index query` from the shell, s", "≤ 1", one(last, "shell", "wall")),
        ("durable adds one by one, a second", "≥ 300", one(last, "change", "add", "per_s")),
        ("durable adds in batches of 1,000, a second", "≥ 20000", one(last, "change", "add_batch", "per_s")),
        ("`dedup --against` it, times against 10,000 documents (CPU)", "≤ 1.2", growth(last)),
    ]
    return [judged(f"index of {last['documents']:,}: {what}", goal, figure) for what, goal, figure in figures]


def short_goals(last: Record) -> list[Goal]:
    """Those of short documents."""
    name = f"index of {last['documents']:,} short documents"
    p99 = milliseconds(one(last, "look-up", "look_up", "p99_us"))
    anonymous = one(last, "look-up", "memory", "anonymous_mb")
    return [
        judged(f"{name}: look-up, p99, ms", "≤ 3", p99),
        judged(f"{name}: memory beyond the page cache, MB", "≤ 500", anonymous),
    ]


def build_table(result: Record) -> str:
    """Builds, and what they take on disk."""
    rows = []
    for row in of_kind(result, "dedup", "build", "dedup-command", "build-command"):
        costs = [f"{row['cpu']:.2f}", f"{row['wall']:.2f}", f"{result['documents'] / row['cpu']:,.0f}"]
        against = "dedup-command" if row["kind"].endswith("command") else "dedup"
        base = one(result, against, "cpu")
        ratio = f"{row['cpu'] / base:.2f}" if base else DASH
        disk = [DASH, DASH, DASH]
        if "postings" in row:
            disk = [f"{row['truth_bytes'] / 1e6:,.1f}", f"{row['segment_bytes'] / 1e6:,.1f}"]
            disk.append(f"{row['bytes_per_posting']:.1f}")
        rows.append([row["name"], *costs, ratio, f"{row['rss_mb']:,.0f}", *disk])
    head = ["bulk build", "CPU s", "wall s", "documents a CPU s", "× dedup", "peak MB"]
    return table([*head, "truth MB", "segments MB", "bytes a posting"], rows)


def look_up_cells(asked: dict[str, Any]) -> list[str]:
    """Median, p90, p99 in µs, and the share of near-duplicates found."""
    return [f"{asked[name]:,.0f}" for name in ("median_us", "p90_us", "p99_us")] + [f"{asked['found']:.3f}"]


def look_up_table(result: Record) -> str:
    """Look-ups of ours and of the peers, with their builds."""
    rows = []
    for row in of_kind(result, "look-up"):
        for name, asked in (("all", row["look_up"]), ("near-duplicates", None), ("new texts", None)):
            part = {"near-duplicates": "near", "new texts": "new"}.get(name)
            cells = look_up_cells(asked or {**row["look_up"][part], "found": row["look_up"]["found"]})
            cells[-1] = DASH if part == "new" else cells[-1]
            rows.append([f"neardup, {name}: durable, verified exactly", *our_build(result), *cells, DASH])
    for row in of_kind(result, "peer"):
        build = [f"{row['documents']:,}", f"{row['cpu']:.2f}", memory_cell(row)]
        removed = f"{row['remove']['per_s']:,.0f}"
        rows.append([f"{row['name']}: {row['says']}", *build, *look_up_cells(row["look_up"]), removed])
        checked = f"{row['name']}, each answer compared exactly in Python"
        rows.append([checked, *build, *look_up_cells(row["verified"]), DASH])
    for row in result.get("records", []):
        if row.get("kind") == "peer" and "error" in row:
            rows.append([row["name"], "failed: " + row["error"].splitlines()[-1][:80], *[DASH] * 7])
    head = ["look-up from text, µs", "documents", "build CPU s", "build peak MB", "median", "p90", "p99"]
    return table([*head, "found", "removed a second"], rows)


def our_build(result: Record) -> list[str]:
    """Documents, CPU seconds and peak memory of our build."""
    row = next(iter(of_kind(result, "build")), None)
    if row is None:
        return [f"{result['documents']:,}", DASH, DASH]
    return [f"{result['documents']:,}", f"{row['cpu']:.2f}", memory_cell(row)]


def memory_cell(row: Record) -> str:
    """The peak of a build, and what the process had before it: libraries, and the peers' texts."""
    server = f" + {row['server']['resident_mb']:,.0f} of its server" if "server" in row else ""
    return f"{row['rss_mb']:,.0f} ({row['before']['resident_mb']:,.0f} before){server}"


def change_table(result: Record) -> str:
    """Changes of our index, beside what the disk can do."""
    rows = []
    for row in of_kind(result, "change"):
        limits = [row[name]["per_s"] for name in ("disk", "disk_after")]
        syncs = " and ".join(f"{limit:,.0f}" for limit in limits)
        rows.append(["4 kB written and fdatasync, before and after", syncs, *[DASH] * 3])
        for name, title in CHANGES:
            done = row[name]
            times = [f"{done[part]:,.0f}" for part in ("median_us", "p99_us")]
            rows.append([f"documents {title}", f"{done['per_s']:,.0f}", f"{done['cpu_us']:,.1f}", *times])
    head = ["durable changes", "a second", "CPU µs a document", "median µs a call", "p99 µs a call"]
    return table(head, rows) if rows else ""


def against_table(result: Record) -> str:
    """Today's file alone and against indexes."""
    rows = [
        [row["name"], f"{row['cpu']:.2f}", f"{row['wall']:.2f}", f"{row['rss_mb']:,.0f}"]
        for row in of_kind(result, "today", "against")
    ]
    return table(["today's file, a cold process", "CPU s", "wall s", "peak MB"], rows) if rows else ""


def opening(result: Record) -> str:
    """Opening the index, and one look-up from the shell, in a sentence."""
    said = []
    for row in of_kind(result, "look-up"):
        cpu = row["look_up"]["cpu"]
        said.append(
            f"By CPU time a look-up takes {cpu['median_us']:,.0f} µs in the median, {cpu['p99_us']:,.0f} µs at p99. "
            f"A fresh process opens the index (segments: {row['segments']}) in {row['open_s']:.3f} s after "
            f"imports and the {row['kernels_s']:.3f} s that numba takes to load a first kernel; the first look-up, "
            f"which loads the others, takes {row['first_query_s']:.3f} s. After {row['queries']:,} look-ups it has "
            f"{row['memory']['anonymous_mb']:,.0f} MB of memory beyond the page cache."
        )
    for row in of_kind(result, "shell"):
        said.append(f"`neardup index query` from the shell takes {row['wall']:.2f} s in all.")
    return " ".join(said)


def index_page(result: Record, circumstances: str) -> list[str]:
    """Everything that was measured with one corpus, as parts of a page."""
    title = f"## An index of {result['corpus']}: {result['documents']:,} documents, {result['megabytes']} MB"
    tables = [build_table(result), look_up_table(result), opening(result), change_table(result)]
    return [title, circumstances, *tables, against_table(result)]
