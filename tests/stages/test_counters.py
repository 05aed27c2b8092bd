"""Counting in bounded memory: what waits on disk adds up to what a dictionary would hold; sketches keep their word."""

from __future__ import annotations

import itertools
from collections import Counter as Tally
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import OutputError, StatisticsError
from neardup.statistics import Counter, Frequencies, Sketch, Statistics, add_up, merge

values = st.sampled_from([*range(40), *(k << 57 for k in range(60)), 2**64 - 1])
tables = st.lists(st.dictionaries(values, st.integers(1, 5), max_size=30), max_size=12)


def table(counts: dict[int, int]) -> Frequencies:
    keys = sorted(counts)
    return Frequencies(np.array(keys, np.uint64), np.array([counts[k] for k in keys], np.int64))


def as_dict(found: Frequencies) -> dict[int, int]:
    return dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True))


def total(parts: list[dict[int, int]]) -> dict[int, int]:
    whole: Tally[int] = Tally()
    for part in parts:
        whole.update(part)
    return dict(whole)


@given(tables, st.sampled_from([1, 64, 640, 4096, 1 << 20]), st.integers(1, 4))
def test_runs_on_disk_add_up_to_the_whole(parts: list[dict[int, int]], memory: int, least: int) -> None:
    with Counter(memory) as counter:
        for part in parts:
            counter.add(table(part))
        found = counter.finish(least)
    expected = {key: count for key, count in total(parts).items() if count >= least}
    assert as_dict(found) == expected
    assert found.keys.tolist() == sorted(expected) and found.least == least and found.slack == 0


def test_many_runs_larger_than_their_buffers(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    parts = [
        np.unique(random.integers(0, 20_000, 3_000).astype(np.uint64) << np.uint64(40)) for _ in range(40)
    ]
    with Counter(40_000, tmp_path) as counter:
        for part in parts:
            counter.add(Frequencies(part, np.ones(len(part), np.int64)))
        assert counter.runs > 10
        parts_of_sum = list(counter.tables())
    assert len(parts_of_sum) > 1
    assert all(a.keys[-1] < b.keys[0] for a, b in itertools.pairwise(parts_of_sum))
    keys, counts = np.unique(np.concatenate(parts), return_counts=True)
    assert np.array_equal(np.concatenate([p.keys for p in parts_of_sum]), keys)
    assert np.array_equal(np.concatenate([p.counts for p in parts_of_sum]), counts)
    assert list(tmp_path.iterdir()) == []


def test_a_work_folder_that_cannot_be_written_is_named() -> None:
    with Counter(1, "/dev/null") as counter, pytest.raises(OutputError, match="work folder"):
        counter.add(table({1: 1, 2: 1}))


def sketch(parts: list[dict[int, int]], most: int) -> Frequencies:
    counter = Sketch(most)
    for part in parts:
        counter.add(table(part))
    return counter.finish()


@given(tables, st.integers(1, 20))
def test_the_sketch_is_never_too_high_and_at_most_its_slack_too_low(
    parts: list[dict[int, int]], most: int
) -> None:
    found = sketch(parts, most)
    truth, listed = total(parts), as_dict(found)
    assert len(found) <= most
    assert found.slack * (most + 1) <= sum(truth.values())
    for key, count in truth.items():
        assert listed.get(key, 0) <= count <= listed.get(key, 0) + found.slack


def test_what_fits_is_exact() -> None:
    found = sketch([{1: 3, 2: 1}, {2: 4, 9: 1}], 3)
    assert as_dict(found) == {1: 3, 2: 5, 9: 1} and found.slack == 0


@given(tables.filter(lambda parts: len(parts) > 1), st.integers(1, 3))
def test_sums_of_tables_without_the_rarest_say_how_far_they_may_be_off(
    parts: list[dict[int, int]], least: int
) -> None:
    truth, found = total(parts), add_up([table(part).at_least(least) for part in parts])
    listed = as_dict(found)
    for key, count in truth.items():
        if key in listed:
            assert listed[key] <= count <= listed[key] + found.slack
        else:
            assert count < found.least


def test_quantiles_are_over_features_of_two_documents_or_more() -> None:
    found = table(dict.fromkeys(range(100), 1) | {200 + k: 2 + k for k in range(10)})
    assert [found.quantile(share) for share in (0.0, 0.1, 0.5, 0.95, 1.0)] == [2, 2, 6, 11, 11]
    assert table({1: 1}).quantile(0.5) == 1


def test_statistics_refuse_other_tokens_and_features() -> None:
    statistics = Statistics(1, "words", {"phrases": table({1: 1})})
    statistics.check("words", ["phrases"])
    with pytest.raises(StatisticsError, match="other tokens than the plan makes"):
        statistics.check("characters", ["phrases"])
    with pytest.raises(StatisticsError, match="do not cover spots"):
        statistics.check("words", ["spots"])
    with pytest.raises(StatisticsError, match="cannot be merged"):
        merge([statistics, Statistics(1, "words", {"phrases": table({1: 1})}, "clusters")])
