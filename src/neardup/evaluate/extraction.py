"""How well an extracted text agrees with the text of the article.

The measure is that of scrapinghub/article-extraction-benchmark, written from its description: tokens are runs of
word characters, a text is the multiset of its 4-token shingles (one shorter shingle if it has fewer tokens), precision
and recall are those of the shingles of a page, averaged over pages; F1 is made of the two averages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

TOKEN = re.compile(r"\w+")
SHINGLE = 4


class Quality(NamedTuple):
    """Averages over pages."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of the averages."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """The multiset of a text's shingles."""
    tokens = TOKEN.findall(text)
    count = max(1, len(tokens) - SHINGLE + 1) if tokens else 0
    return Counter(tuple(tokens[i : i + SHINGLE]) for i in range(count))


def precision_and_recall(gold: str, text: str) -> tuple[float, float]:
    """Of the shingles of one page; both 1 where both texts are empty, 0 where one is."""
    expected, found = shingles(gold), shingles(text)
    common = (expected & found).total()
    if expected.total() == found.total() == common:
        return 1.0, 1.0
    return common / max(1, found.total()), common / max(1, expected.total())


def average(scores: Sequence[tuple[float, float]]) -> Quality:
    """The averages over pages."""
    count = max(1, len(scores))
    return Quality(sum(score[0] for score in scores) / count, sum(score[1] for score in scores) / count)
