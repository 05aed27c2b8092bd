"""Records of runs, as results/*.json holds them: picking them, comparing them, putting them in tables."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
DASH = "–"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def good(records: list[Record], **wanted: Any) -> list[Record]:
    """The records without an error whose fields have these values."""
    return [r for r in records if "error" not in r and all(r.get(k) == v for k, v in wanted.items())]


def fastest_peer(records: list[Record], threads: int) -> Record | None:
    """The peer that finds pairs and clusters in the least time: CPU for one thread, wall for more."""
    pairing = [r for r in good(records, peer=True, threads=threads) if "pair" in r.get("quality", {})]
    return min(pairing, key=lambda r: time_of(r), default=None)


def time_of(row: Record, process: bool = False) -> float:
    """What a record is judged by: CPU seconds with one thread, as others disturb them least; else wall."""
    costs = row["process"] if process else row
    return max(float(costs["cpu" if row["threads"] == 1 else "wall"]), 1e-6)
