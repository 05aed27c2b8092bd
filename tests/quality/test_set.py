"""The bundled labelled set: it is what its script makes, and as hard as it is meant to be."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup.candidates.allpairs import all_pairs
from neardup.columns import Texts
from neardup.features.shingles import Shingles
from neardup.text.words import Words

HERE = Path(__file__).parent
TOOLS = HERE.parent.parent / "tools"


@cache
def documents() -> list[dict[str, Any]]:
    lines = (HERE / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def clusters() -> dict[str, str]:
    with (HERE / "clusters.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["cluster"] for row in csv.DictReader(file)}


def test_the_committed_files_are_what_the_script_makes() -> None:
    sys.path.insert(0, str(TOOLS))
    try:
        from make_quality_set import as_files, make_documents
    finally:
        sys.path.pop(0)
    for name, text in as_files(make_documents()).items():
        assert (HERE / name).read_text(encoding="utf-8") == text, "run tools/make_quality_set.py"


def test_it_is_small_and_whole() -> None:
    assert (HERE / "documents.jsonl").stat().st_size < 600_000
    rows = documents()
    assert 400 <= len(rows) <= 600
    assert [row["id"] for row in rows] == list(clusters())
    assert all(list(row) == ["id", "title", "text", "html", "kind"] and row["text"].strip() for row in rows)
    assert len({row["text"] for row in rows}) == len(rows)  # near-duplicates, not copies


def test_every_kind_has_documents_and_the_frames_have_near_misses() -> None:
    kinds = Counter(row["kind"] for row in documents())
    assert set(kinds) == {*"story translated brief market weather sport job mail short".split()}
    assert min(kinds.values()) >= 20
    for frame in ("market", "weather", "sport", "job"):
        sizes = Counter(clusters()[row["id"]] for row in documents() if row["kind"] == frame)
        assert len(sizes) >= 25 and max(sizes.values()) == 2 and min(sizes.values()) == 1


def test_markup_shows_the_same_text() -> None:
    pages = [row for row in documents() if row["html"] is not None]
    assert len(pages) >= 25
    for row in pages:
        body = row["html"].partition("<body>")[2]
        assert unescape(re.sub(r"<[^>]*>", " ", body)).split() == row["text"].split()


@pytest.mark.parametrize("width", [1, 3, 5, 8])
def test_plain_shingles_leave_something_to_win(width: int) -> None:
    rows = documents()
    labels = np.array([clusters()[row["id"]] for row in rows])
    pairs = all_pairs(Shingles(width)(Words()(Texts.from_strings([row["text"] for row in rows]))))
    same = labels[pairs.left] == labels[pairs.right]
    positives = sum(size * (size - 1) // 2 for size in Counter(labels.tolist()).values())
    scores = [
        2 * (same & found).sum() / (found.sum() + positives)
        for found in (pairs.similarity >= threshold for threshold in np.linspace(0.05, 0.95, 91))
    ]
    assert 0.3 < max(scores) < 0.9
