"""Draws docs/images/clusters.svg, the picture of docs/clusters.md: one chain of documents, clustered in four ways.

Run it after a change of the clusterings:  .venv/bin/python tools/draw_clusters_picture.py
The clusters are those of `neardup.dedup` on eight versions of a text, each with a few words changed.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import neardup

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "clusters.svg"
KINDS = ("components", "leaders", "average", "complete")
CHANGED = (0, 5, 5, 5, 6, 8, 8, 3)  # words of a hundred that each version changes
THRESHOLD = 0.7
LINE, TEXT, KEPT = "#8b949e", "#768089", "#2f81f7"  # readable on white and on a dark page
LEFT, STEP, ROW, TOP = 150, 78, 74, 70


def versions() -> list[str]:
    """Eight texts, each a later version of the one before."""
    words, texts, done = [f"w{k}" for k in range(100)], [], 0
    for count in CHANGED:
        words = [f"n{k}" if done <= k < done + count else word for k, word in enumerate(words)]
        done += count
        texts.append(" ".join(words))
    return texts


def run(texts: list[str], kind: Any) -> neardup.Result:
    """The result of one clustering; the first version of a cluster stays."""
    return neardup.dedup(
        texts, ngram=1, threshold=THRESHOLD, bands=48, rows=1, keep="first", clusters=kind, pairs="all"
    )


def clustering(result: neardup.Result, y: int) -> list[str]:
    """One row: an outline around each cluster, a filled circle for a kept document."""
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    shapes = []
    for cluster in dict.fromkeys(row["cluster"] for row in rows.values()):
        members = sorted(name for name, row in rows.items() if row["cluster"] == cluster)
        start, end = LEFT + STEP * members[0], LEFT + STEP * members[-1]
        shapes.append(
            f'<rect x="{start - 24}" y="{y - 22}" width="{end - start + 48}" height="44" rx="22" '
            f'fill="{KEPT}" fill-opacity="0.1" stroke="{KEPT}" stroke-opacity="0.6"/>'
        )
    for place in range(len(CHANGED)):
        row = rows.get(place, {"keep": True, "evidence": None})
        fill = KEPT if row["keep"] else "none"
        dashes = ' stroke-dasharray="3 3"' if row["evidence"] in ("chain", "cluster") else ""
        shapes.append(
            f'<circle cx="{LEFT + STEP * place}" cy="{y}" r="11" fill="{fill}" stroke="{KEPT}" '
            f'stroke-width="2"{dashes}/>'
        )
    return shapes


def label(x: int, y: int, text: str, anchor: str = "middle", size: int = 13) -> str:
    """A word in the picture."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{TEXT}">{text}</text>'


def draw() -> str:
    """The whole picture."""
    texts = versions()
    near = [neardup.compare(a, b, ngram=1).similarity for a, b in pairwise(texts)]
    parts = [label(LEFT + STEP * place, TOP - 30, f"v{place + 1}") for place in range(len(texts))]
    for place, value in enumerate(near):
        x = LEFT + STEP * place
        parts.append(
            f'<line x1="{x + 10}" y1="{TOP - 34}" x2="{x + STEP - 10}" y2="{TOP - 34}" stroke="{LINE}"/>'
        )
        parts.append(label(x + STEP // 2, TOP - 40, f"{value:.2f}", size=11))
    for number, kind in enumerate(KINDS):
        y = TOP + 20 + ROW * number
        result = run(texts, kind)
        parts.append(label(10, y - 2, kind, "start", 14))
        parts.append(label(10, y + 15, f"{result.report['kept']} kept", "start", 11))
        parts += clustering(result, y)
    foot = TOP + 20 + ROW * len(KINDS) - 8
    parts.append(f'<circle cx="160" cy="{foot}" r="8" fill="{KEPT}" stroke="{KEPT}" stroke-width="2"/>')
    parts.append(label(175, foot + 4, "kept", "start", 12))
    parts.append(f'<circle cx="240" cy="{foot}" r="8" fill="none" stroke="{KEPT}" stroke-width="2"/>')
    parts.append(label(255, foot + 4, f"removed, at least {THRESHOLD:g} with the kept one", "start", 12))
    parts.append(
        f'<circle cx="500" cy="{foot}" r="8" fill="none" stroke="{KEPT}" stroke-width="2" stroke-dasharray="3 3"/>'
    )
    parts.append(label(515, foot + 4, "removed, below it", "start", 12))
    width, height = LEFT + STEP * (len(texts) - 1) + 50, foot + 25
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    return "\n".join([head, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"written: {PICTURE}")
