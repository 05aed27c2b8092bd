"""Pages with the text of their article, and how well an extracted text agrees with it.

The measure is that of scrapinghub/article-extraction-benchmark, written from its description: tokens are runs of
word characters, a text is the multiset of its 4-token shingles (one shorter shingle if it has fewer tokens), precision
and recall are those of the shingles of a page, averaged over pages; F1 is made of the two averages.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
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


def data_folder() -> Path:
    """The folder with the labelled data: NEARDUP_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("NEARDUP_DATA", ROOT.parent / "shared" / "data"))


def read_documents(name: str) -> list[dict[str, Any]] | None:
    """The documents of a data set; None where it is absent."""
    path = data_folder() / name / "documents.jsonl.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_clusters(name: str) -> dict[str, str]:
    """The cluster of each document."""
    with (data_folder() / name / "clusters.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["cluster"] for row in csv.DictReader(file)}


def in_development_half(identifier: str) -> bool:
    """Whether a page may be looked at: a fixed half of them, by the hash of their id."""
    return hashlib.sha256(identifier.encode()).digest()[0] % 2 == 0


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """The multiset of a text's shingles."""
    tokens = TOKEN.findall(text)
    count = max(1, len(tokens) - SHINGLE + 1) if tokens else 0
    return Counter(tuple(tokens[i : i + SHINGLE]) for i in range(count))


def precision_and_recall(gold: str, text: str) -> tuple[float, float]:
    """Of the shingles of one page; both 1 where both texts are empty, 0 where one is."""
    wanted, found = shingles(gold), shingles(text)
    common = (wanted & found).total()
    if wanted.total() == found.total() == common:
        return 1.0, 1.0
    return common / max(1, found.total()), common / max(1, wanted.total())


def average(scores: list[tuple[float, float]]) -> Quality:
    """The averages over pages."""
    count = max(1, len(scores))
    return Quality(sum(p for p, _ in scores) / count, sum(r for _, r in scores) / count)
