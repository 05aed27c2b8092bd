"""Scores of clusters and removals against plain counts, and the choice among settings."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.evaluate import removals
from neardup.evaluate.choice import SettingTables, choose, hold_out
from neardup.evaluate.goals import Goal
from neardup.evaluate.labels import Truth, pack_pairs
from neardup.evaluate.removals import COLUMNS, blocks_of_units, by_cluster, sampling_units, sum_up
from neardup.evaluate.settings import Replay
from neardup.evaluate.similarities import Similarities

KINDS = ["leaders", "average", "complete", "components"]


def collection(seed: int) -> tuple[list[str], Truth]:
    """Texts of a few words, labels of which every tenth is missing, and one undecided pair of labels."""
    rng = random.Random(seed)
    texts = [" ".join(rng.choices("abcdefgh", k=rng.randint(3, 9))) for _ in range(60)]
    labels = np.array([rng.randrange(12) if rng.random() > 0.1 else -1 for _ in texts])
    undecided = np.array([pack_pairs(np.array([1]), np.array([2]))[0]])
    return texts, Truth(labels, names=tuple("abcdefghijkl"), undecided=undecided)


def naive(truth: Truth, run) -> dict[str, float]:
    """The same sums, pair by pair and document by document."""
    labels, decisions = truth.clusters.tolist(), run.decisions
    known = [k for k, label in enumerate(labels) if label >= 0]
    cluster = {k: k for k in range(len(labels))}
    cluster |= dict(zip(decisions.documents.tolist(), decisions.cluster.tolist(), strict=True))
    apart = {frozenset((1, 2))}
    found = true = positives = 0
    for one, other in combinations(known, 2):
        together, same = cluster[one] == cluster[other], labels[one] == labels[other]
        found += 2 * (together and frozenset((labels[one], labels[other])) not in apart)
        true += 2 * (together and same)
        positives += 2 * same
    removed = wrong = 0
    kept = defaultdict(int)
    for k in known:
        kept[labels[k]] += bool(decisions.kept[k])
    for k, of in zip(decisions.documents.tolist(), decisions.duplicate_of.tolist(), strict=True):
        judged = of >= 0 and labels[k] >= 0 and labels[of] >= 0
        judged = judged and frozenset((labels[k], labels[of])) not in apart
        removed += judged
        wrong += judged and labels[k] != labels[of]
    lost = sum(not count for count in kept.values())
    values = (len(known), len(kept), lost, removed, wrong, found, true, positives)
    return dict(zip(COLUMNS, values, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_sums_are_those_of_plain_counting(seed: int, kind: str) -> None:
    texts, truth = collection(seed)
    run = neardup.dedup(texts, ngram=1, threshold=0.5, clusters=kind)._run
    table = by_cluster(truth, sampling_units(truth), run.decisions)
    assert dict(zip(COLUMNS, table.sum(axis=1).tolist(), strict=True)) == naive(truth, run)
    scores = sum_up(table)
    assert 0 <= scores.wrong_share <= 1 and scores.duplicates_removed <= 1
    assert sum_up(table, np.zeros(table.shape[1])).removed == 0


@pytest.mark.parametrize("labels, groups", [(1, 1), (40, 7), (600, 5)])
def test_undecided_labels_are_counted_at_once(labels: int, groups: int, monkeypatch) -> None:
    """The number of array operations does not grow with the number of undecided pairs of labels."""
    rng = np.random.default_rng(labels)
    pairs = [(a, b) for a, b in combinations(range(labels), 2) if rng.random() < 0.5]
    undecided = np.array([a << 32 | b for a, b in pairs], np.int64)
    cell = np.unique(rng.integers(0, labels, 3 * labels) << 32 | rng.integers(0, groups, 3 * labels))
    count, calls = rng.integers(1, 5, len(cell)), []
    search = np.searchsorted
    monkeypatch.setattr(np, "searchsorted", lambda *given, **how: calls.append(1) or search(*given, **how))
    found = removals._undecided(Truth(np.zeros(1, np.int64), undecided=undecided), cell, count)
    assert len(calls) < 5
    size = dict(zip(cell.tolist(), count.tolist(), strict=True))
    expected = dict.fromkeys(size, 0)
    for one, other in [*pairs, *((b, a) for a, b in pairs)]:
        for group in range(groups):
            if one << 32 | group in size:
                expected[one << 32 | group] += size.get(other << 32 | group, 0)
    assert found.tolist() == list(expected.values())


@pytest.fixture(scope="module")
def replay() -> Replay:
    texts, _ = collection(7)
    every = neardup.pairs(texts, ngram=1, threshold=0.05, bands=400, rows=1).to_pylist()
    scored = Similarities(
        np.array([row["left"] for row in every]),
        np.array([row["right"] for row in every]),
        np.array([row["similarity"] for row in every]),
    )
    plan = neardup.make_plan(ngram=1, threshold=0.05, bands=400, rows=1)
    base = neardup.dedup(pa.table({"id": range(len(texts)), "text": texts}), plan=plan)._run
    return Replay.of(plan, base.corpus, base.matches.representative, scored)


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_decides_as_a_run_at_that_threshold(kind: str, replay: Replay) -> None:
    texts, _ = collection(7)
    for threshold in (0.3, 0.5, 0.8):
        run = neardup.dedup(texts, ngram=1, threshold=threshold, clusters=kind, bands=400, rows=1)._run
        found = replay.decide(threshold, kind)
        assert found.kept.tolist() == run.decisions.kept.tolist()
        assert found.duplicate_of.tolist() == run.decisions.duplicate_of.tolist()


def settings(*rows: tuple[float, ...], clusters: int = 60) -> SettingTables:
    """SettingTables that do the same in every cluster of three documents; the rows are removed, wrong, found, true."""
    tables = np.zeros((len(rows), len(COLUMNS), clusters))
    for k, (removed, wrong, found, true) in enumerate(rows):
        one = (3, 1, 0, removed, wrong, found, true, 6)
        tables[k] = np.array(one)[:, None]
    return SettingTables(tables, np.ones(clusters, np.bool_))


def test_wrong_removals_exclude_a_setting_and_the_simpler_of_two_equals_wins() -> None:
    everywhere = np.ones(60)
    some = settings((2, 0.5, 6, 6), (2, 0, 6, 5.9), (2, 0, 6, 5.9), (1, 0, 2, 2))
    found = choose(some, Goal(), everywhere)
    assert found is not None and (found.number, found.safe) == (1, True)
    unsafe = choose(settings((2, 0.5, 6, 6), (2, 0.4, 6, 6)), Goal(), everywhere)
    assert unsafe is not None and (unsafe.number, unsafe.safe) == (1, False)
    capped = choose(some, Goal("wrong", 0.3), everywhere)
    assert capped is not None and capped.number in (1, 2)
    assert choose(some, Goal("recall", 1.0), everywhere).number == 0  # type: ignore[union-attr]
    assert choose(settings((1, 0, 2, 2)), Goal("recall", 0.9), everywhere) is None


def test_a_choice_that_fits_its_own_clusters_alone_is_known_as_optimistic() -> None:
    rng = np.random.default_rng(3)
    steady = settings((2, 0, 6, 5.5))
    fitted = settings(*[(2, 0, 6, 5)] * 200)
    noise = rng.normal(0, 1.5, fitted.tables[:, 0].shape)
    fitted.tables[:, COLUMNS.index("true")] += noise
    best = choose(fitted, Goal(), np.ones(60))
    assert sum_up(fitted.tables[best.number]).f1 > 0.85  # type: ignore[union-attr]
    held_out = hold_out(fitted, Goal(), 5, 1)
    assert held_out is not None and held_out.optimism > 0.02 and held_out.warning is not None
    sure = hold_out(steady, Goal(), 5, 1)
    assert sure is not None and sure.warning is None and sure.optimism == pytest.approx(0)


def test_earlier_clusters_choose_for_later_blocks_of_time() -> None:
    some = settings((2, 0, 6, 5.9), (2, 0, 6, 5.7))
    blocks = np.arange(60) * 8 // 60
    some.tables[0, COLUMNS.index("true"), blocks >= 6] = 3  # good until then
    held_out = hold_out(replace(some, blocks=blocks), Goal(), 5, 1)
    assert held_out is not None and held_out.by_time
    first, second = 5.9 / 6, 5.7 / 6  # with block 6 the second is better over all: it is chosen for block 7
    assert held_out.f1.tolist() == pytest.approx([first, first, 0.5, second])
    assert not hold_out(some, Goal(), 5, 1).by_time  # type: ignore[union-attr]
    assert hold_out(replace(some, blocks=blocks), Goal(), 0, 1) is None


def test_times_part_the_rows_of_single_documents_and_change_no_choice() -> None:
    clusters = np.concatenate([[0, 0, 1, 1], np.arange(2, 402)])
    truth = Truth(clusters, names=tuple(map(str, range(402))))
    blocks = np.arange(402) * 8 // 402
    units = sampling_units(truth, blocks)
    of = blocks_of_units(truth, units, blocks)
    assert of is not None and (of[units] == blocks[clusters]).all()
    plain, timed = (
        SettingTables(
            np.bincount(rows, np.arange(404.0), rows.max() + 1)[None, None, :],
            np.arange(rows.max() + 1) < 2,
            by,
        )
        for rows, by in ((sampling_units(truth), None), (units, of))
    )
    assert (timed.without_time.tables == plain.tables).all() and timed.tables.shape[2] > plain.tables.shape[2]
    assert (timed.without_time.with_pairs == plain.with_pairs).all()


def test_a_better_setting_that_the_labels_do_distinguish_wins() -> None:
    some = settings((2, 0, 6, 5.75), (2, 0, 6, 5.756))
    found = choose(some, Goal(), np.ones(60))
    assert found is not None and found.number == 1, "better by 0.001, in every cluster"


def test_a_choice_whose_score_varies_from_half_to_half_has_a_warning() -> None:
    rng = np.random.default_rng(5)
    varied = settings((2, 0, 6, 5))
    large = rng.permutation(60) < 4  # a few clusters decide
    varied.tables[:, 5:8, large] *= 40
    varied.tables[:, COLUMNS.index("true"), large] *= rng.uniform(0.2, 1, int(large.sum()))
    held_out = hold_out(varied, Goal(), 5, 1)
    assert held_out is not None and held_out.clusters >= 50
    assert held_out.deviation > 0.03 and "varies by 0." in str(held_out.warning)
