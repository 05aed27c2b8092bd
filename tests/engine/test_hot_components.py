"""Large components compared by their common features: the result is the one that pair by pair gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from test_rounds import crowd

import neardup
from corpora import set_constants
from neardup.engines.core.large_components import LargeComponents
from neardup.engines.local.checkpoint.budget import MemoryBudget

# Whatever has to be large to be searched is large enough, and blocks of texts are small.
SEARCHED = {"LARGE": 4, "TILE_BYTES": 1, "SAMPLE": 8, "FIRST_BLOCK": 4, "LARGEST_BLOCK": 16, "ONE_ROUND": 0}


def given(kind: str) -> dict[str, Any]:
    """Options of a run over versions of one text, many of which are no near-duplicates of each other."""
    return {"threshold": 0.75, "clusters": kind}


def tables(result: neardup.Result) -> tuple[pa.Table, ...]:
    """All that is written of a result, and how many pairs were compared."""
    counts = ("pairs", "buckets", "removals", "large_components")
    report = {name: result.report[name] for name in counts}
    return result.kept, result.removed, result.pairs, result.clusters, report


@pytest.fixture(scope="module")
def texts() -> pa.Table:
    """Two components of many versions each, and their copies."""
    one, other = crowd(3, 150), crowd(4, 90)
    renamed = [text.replace("word", "other") for text in other["text"].to_pylist()]
    every = [*one["text"].to_pylist(), *renamed]
    return pa.table({"text": [*every, *every[::20]], "id": [f"t{7919 * k % 10007}" for k in range(252)]})


# The bytes of the sets of components, and of a tile of one that does not fit; None: as much as it takes.
CASES = [("leaders", None), ("leaders", (0, 1)), ("leaders", (0, 4096)), ("leaders", (30_000, 4096))]
CASES += [("components", None), ("average", None)]


@pytest.mark.parametrize(("kind", "room"), CASES)
def test_searched_components_are_those_of_every_pair(
    texts: pa.Table, kind: str, room: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_constants(monkeypatch, LARGE=1 << 40, ONE_ROUND=0)
    expected = tables(neardup.dedup(texts, threads=2, **given(kind)))
    set_constants(monkeypatch, **SEARCHED)
    searched, find = [], LargeComponents.find
    monkeypatch.setattr(LargeComponents, "find", lambda *args: searched.append(find(*args)))
    if room is not None:
        monkeypatch.setattr(MemoryBudget, "sets", room[0])
        monkeypatch.setattr(MemoryBudget, "tile", room[1])
    found = tables(neardup.dedup(texts, threads=2, **given(kind)))
    for one, other in zip(found, expected, strict=True):
        assert one == other
    assert kind == "average" or searched


@pytest.mark.parametrize("most", [1, 3])
def test_what_follows_none_of_many_leaders_is_left_to_the_evidence(
    texts: pa.Table, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_constants(monkeypatch, LARGE=1 << 40, LEADERS=most)
    expected = tables(neardup.dedup(texts, threshold=0.85))
    set_constants(monkeypatch, **SEARCHED | {"ONE_ROUND": 4096})
    assert tables(neardup.dedup(texts, threshold=0.85)) == expected


def test_other_thresholds_use_the_search_too(texts: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    set_constants(monkeypatch, LARGE=1 << 40, ONE_ROUND=0)
    expected = tables(neardup.dedup(texts, threshold=0.7).rethreshold(0.8))
    set_constants(monkeypatch, **SEARCHED)
    assert tables(neardup.dedup(texts, threshold=0.7).rethreshold(0.8)) == expected
