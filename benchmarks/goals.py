"""The goals that were set for neardup, each beside what the last run measured."""

from __future__ import annotations

from typing import Any

from records import Record, fastest_peer, good, table, time_of

Goal = tuple[str, str, float | None, bool]  # what, the goal in words, the figure, whether it is reached


def one(records: list[Record], **wanted: Any) -> Record | None:
    """The record with these values, if there is one."""
    return next(iter(good(records, **wanted)), None)


def against_peer(records: list[Record], job: str) -> float | None:
    """How many times faster one job of ours is than the fastest peer, one thread, same tokens."""
    peer, mine = fastest_peer(records, 1), one(records, job=job, threads=1, tokens="whitespace")
    return time_of(peer) / time_of(mine) if peer and mine else None


def speed_goals(records: list[Record]) -> list[Goal]:
    """Speed, memory and threads on one corpus."""
    signing = one(records, job="signatures", tokens="whitespace")
    warm = [one(records, job="dedup", threads=n, tokens="words") for n in (1, 2)]
    twice = warm[0]["wall"] / warm[1]["wall"] if warm[0] and warm[1] else None
    figures = [
        ("kept documents written, times the fastest peer", "≥ 5", against_peer(records, "dedup")),
        ("pairs and clusters written, times the fastest peer", "≥ 10", against_peer(records, "clusters")),
        ("every pair and clusters written, times the fastest peer", "≥ 10", against_peer(records, "pairs")),
        ("signatures from text in memory, MB/s", "≥ 200", signing["mb_per_s"] if signing else None),
        ("two threads, times one thread", "≥ 1.7", twice),
        ("peak memory, MB", "≤ 500", warm[0]["rss_mb"] if warm[0] else None),
    ]
    return [judged(*figure) for figure in figures]


def quality_goals(records: list[Record]) -> list[Goal]:
    """Precision and recall of all pairs, with both kinds of tokens."""
    goals = []
    for tokens in ("words", "whitespace"):
        found = one(records, job="all pairs", threads=1, tokens=tokens)
        score = found["quality"]["pair"] if found else {}
        goals.append(judged(f"pair precision ({tokens})", "≥ 1", score.get("precision")))
        goals.append(judged(f"pair recall ({tokens})", "≥ 0.99", score.get("recall")))
    return goals


def scaling_goals(records: list[Record]) -> list[Goal]:
    """Cost against size, and of copies against distinct documents."""
    cost = {row["name"]: row["cpu"] for row in good(records)}

    def times(name: str, other: str) -> float | None:
        return cost[name] / cost[other] if name in cost and other in cost else None

    return [
        judged("400,000 documents, times 100,000", "≤ 4.4", times("400k", "100k")),
        judged("200,000 identical, times 200,000 distinct", "≤ 1", times("200k-identical", "200k-distinct")),
    ]


def startup_goals(records: list[Record]) -> list[Goal]:
    """What the first second feels like."""
    wall = {row["name"]: row["wall"] for row in good(records)}
    return [
        judged("`neardup --help`, s", "≤ 0.3", wall.get("neardup --help")),
        judged("second run on ten small files, s", "≤ 1.5", wall.get("ten small files, second run")),
    ]


def judged(what: str, goal: str, figure: float | None) -> Goal:
    """The goal with the verdict: `≥ x` or `≤ x`."""
    sign, bound = goal.split()
    reached = figure is not None and (figure >= float(bound) if sign == "≥" else figure <= float(bound))
    return what, goal, figure, reached


def goals_page(results: dict[str, Record], more: list[Goal]) -> str:
    """All goals beside the figures; those of speed on the largest corpus that was run with the peers."""
    speeds = sorted((r for n, r in results.items() if n.startswith("speed-")), key=lambda r: r["documents"])
    goals: list[Goal] = []
    if speeds:
        goals += speed_goals(speeds[-1]["records"]) + quality_goals(speeds[-1]["records"])
    goals += scaling_goals(results.get("scaling", {}).get("records", []))
    goals += startup_goals(results.get("startup", {}).get("records", [])) + more
    title = "## Goals" + (
        f" (speed, memory and quality on {speeds[-1]['corpus']}, one thread)" if speeds else ""
    )
    rows = []
    for what, goal, figure, reached in goals:
        shown = "not measured" if figure is None else f"{figure:,.3f}".rstrip("0").rstrip(".")
        rows.append([what, goal, shown, "" if figure is None else "yes" if reached else "**no**"])
    return "\n\n".join([title, table(["what", "goal", "measured", "reached"], rows)])
