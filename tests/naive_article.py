"""Plain-Python twin of the kernel that takes the articles of pages: the twins of its parts, and `html.unescape`."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape

import naive_html
from neardup.text import article

MOST = 300_000


def extract(page: bytes) -> tuple[str, bool]:
    """The text of a page, and whether it is its article."""
    found = naive_html.scan(page.decode("latin-1"), MOST, 2 * MOST)
    chosen = choose(naive_html.measure(found.blocks), score(found))
    text = joined([block for block, is_chosen in zip(found.blocks, chosen, strict=True) if is_chosen])
    everything = joined(found.blocks)
    if len(text) < 200 and len(text) < 0.1 * len(everything):
        return everything, False
    return text, True


def joined(blocks: Sequence[naive_html.Block]) -> str:
    """The text of blocks, one a line."""
    return unescape("\n".join(block.text for block in blocks).encode("latin-1").decode()).strip()


def score(found: naive_html.Scan) -> list[float]:
    """The scores of both models."""
    first, second = (weights.tolist() for weights in article.weights())
    names = len(article.SURROUNDINGS)
    rows = [[row.get(name, 0) for name in article.FEATURES] for row in naive_html.describe(found, 0.5)]
    scores = known = [total(row, first[:-1], first[-1]) for row in rows]
    for _ in range(2):
        around = naive_html.surround(found, 0.5, scores)
        scores = [
            total(row, second[names:-1], second[-1]) + total(beside, second[:names], 0.0)
            for row, beside in zip(rows, around, strict=True)
        ]
    links = [row[article.FEATURES.index("links")] for row in rows]
    return [min(a, b) if link > 1 - 0.3 else a for a, b, link in zip(scores, known, links, strict=True)]


def total(values: Sequence[float], weights: Sequence[float], start: float) -> float:
    """The sum of products, in order."""
    for value, weight in zip(values, weights, strict=True):
        start += value * weight
    return start


def choose(facts: Sequence[naive_html.Facts], scores: Sequence[float]) -> list[bool]:
    """Whether each block is in the article."""
    chosen = [fact.fresh and score > 0 for fact, score in zip(facts, scores, strict=True)]
    plain = sum(fact.chars * (1 - fact.link) for fact in facts if fact.fresh)
    long = [score for fact, score in zip(facts, scores, strict=True) if fact.fresh and fact.chars >= 40]
    if long and sum(fact.chars for fact, one in zip(facts, chosen, strict=True) if one) < min(
        200, 0.1 * plain
    ):
        best = max(long)
        chosen = [one or (f.fresh and s > best - 1) for one, f, s in zip(chosen, facts, scores, strict=True)]
    some = [fact for fact, one in zip(facts, chosen, strict=True) if one]
    unlinked = sum(fact.chars * (1 - fact.link) for fact in some)
    return chosen if unlinked >= 0.3 * sum(fact.chars for fact in some) else [False] * len(chosen)
