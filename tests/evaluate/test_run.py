"""An evaluation from documents to figures: on a corpus small enough to check by hand, and on real labels."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import naive_scores as naive
import neardup
from neardup.clusters.graph import components
from neardup.errors import InputError, ParameterError
from neardup.evaluate import similarities
from neardup.evaluate.corpus import Documents, read_documents
from neardup.evaluate.goals import Goal
from neardup.evaluate.labels import Truth
from neardup.evaluate.method_errors import find_errors
from neardup.evaluate.recommendation import default_specs, tune
from neardup.evaluate.report import rows, to_csv, to_json, to_markdown
from neardup.evaluate.run import Bench, Protocol, evaluate
from neardup.evaluate.specs import Spec, make_specs, parse_specs
from neardup.registry import methods

DATA = Path(os.environ.get("NEARDUP_DATA", Path(__file__).parents[3] / "shared" / "data"))
QUICK = Protocol(splits=2, bootstrap=20)


def sentence(topic: int, *changed: int) -> str:
    """Forty words of a topic, some of them others."""
    words = [f"t{topic}w{k}" for k in range(40)]
    for k in changed:
        words[k] = f"x{k}"
    return " ".join(words)


TEXTS = [
    sentence(0), sentence(0, 20), sentence(0, 3, 20), sentence(0), sentence(1), sentence(1, 5), sentence(1, 5, 30),
    sentence(2), sentence(2, 0, 8, 16, 24, 32), sentence(3), "", sentence(0, 10)[:100],
]  # fmt: skip
CLUSTERS = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, -1]
NAMES = ("harbour", "bridge", "storm", "cheese", "empty")


@pytest.fixture(scope="module")
def documents() -> Documents:
    ids = pa.array([f"d{k}" for k in range(len(TEXTS))])
    return Documents(ids, pa.chunked_array([pa.array(TEXTS, pa.large_string())]))


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(np.array(CLUSTERS, np.int64), names=NAMES)


def similarity(a: int, b: int, **options: Any) -> float:
    if not (TEXTS[a] and TEXTS[b]):
        return 0.0
    return neardup.compare(TEXTS[a], TEXTS[b], **options).similarity


def every(**options: Any) -> naive.Labelled:
    """Each pair with its similarity."""
    pairs = combinations(range(len(TEXTS)), 2)
    return naive.every_pair(CLUSTERS, {pair: similarity(*pair, **options) for pair in pairs})


def listed(result: Any) -> dict[tuple[int, int], float]:
    pairs = result.pairs
    keys = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    return dict(zip(keys, pairs.score.tolist(), strict=True))


def test_every_pair_is_compared_exactly(documents: Documents, truth: Truth) -> None:
    for ngram in (1, 3, 5):
        result = evaluate(documents, truth, [Spec("minhash", {"ngram": ngram})], QUICK).results[0]
        data = every(ngram=ngram)
        expected = {pair: s for pair, s in zip(data.pairs, data.scores, strict=True) if s > 0}
        assert listed(result) == pytest.approx(expected)
        table = naive.count(data, 0.7)
        assert (result.counts.true, result.counts.false_positives) == table[:2]
        assert result.average_precision == pytest.approx(naive.average_precision(data))
        assert result.best is not None and result.best.counts.f1 == pytest.approx(naive.best_f1(data))


def test_clusters_are_those_of_dedup(documents: Documents, truth: Truth) -> None:
    result = evaluate(documents, truth, [Spec("minhash", {"threshold": 0.5})], QUICK).results[0]
    found = list(range(len(TEXTS)))
    for row in neardup.dedup(TEXTS, threshold=0.5).clusters.to_pylist():
        found[row["id"]] = 100 + row["cluster"]
    known = [k for k, label in enumerate(CLUSTERS) if label >= 0]
    expected = naive.bcubed([CLUSTERS[k] for k in known], [found[k] for k in known])
    assert result.clustering is not None
    assert (result.clustering.bcubed_precision, result.clustering.bcubed_recall) == pytest.approx(expected)


def test_what_the_candidates_find(documents: Documents, truth: Truth) -> None:
    """With few long bands some similar pairs are never seen."""
    options = {"threshold": 0.3, "bands": 2, "rows": 6, "ngram": 2}
    result = evaluate(documents, truth, [Spec("minhash", options)], QUICK).results[0]
    data = every(ngram=2)
    similar = {pair for pair, score in zip(data.pairs, data.scores, strict=True) if score >= 0.3}
    match = result.candidate_recall
    assert match is not None
    assert match.pairs == len(similar)
    assert {*listed(result)} & similar <= {*reported(**options)}
    assert connected({*listed(result)} & similar) == connected(reported(**options))
    assert 0 < match.recall < 1
    assert result.counts.found == match.found  # what is reported is what a run finds, not what is similar
    assert result.best is not None and result.best.counts.recall < 1  # bands by hand stay as they are
    assert match.pairs_in_bin.sum() == sum(score > 0 for score in data.scores)
    assert (match.found_in_bin <= match.pairs_in_bin).all()


def test_the_candidates_of_some_methods_decide_with_the_check(documents: Documents, truth: Truth) -> None:
    """Henzinger's hybrid needs two super-shingles however well the words agree."""
    done = evaluate(documents, truth, [Spec("hybrid", {"threshold": 0.5})], QUICK)
    expected = reported(method="hybrid", threshold=0.5)
    assert listed(done.results[0]).keys() <= expected.keys()
    assert connected(listed(done.results[0])) == connected(expected)
    assert done.results[0].candidate_recall is not None and done.results[0].candidate_recall.recall < 1
    assert any("not candidates have the score 0" in note for note in done.notes)


def reported(**options: Any) -> dict[tuple[int, int], float]:
    """The labelled pairs that a run reports; measured besides its candidates are those of duplicate_of."""
    rows = neardup.pairs(TEXTS, **options).to_pylist()
    pairs = {tuple(sorted((row["left"], row["right"]))): row["similarity"] for row in rows}
    return {(a, b): s for (a, b), s in pairs.items() if CLUSTERS[a] >= 0 and CLUSTERS[b] >= 0}


def connected(pairs: Iterable[tuple[int, int]]) -> list[int]:
    left, right = np.array([*pairs], np.int64).reshape(-1, 2).T
    return components(len(TEXTS), np.ascontiguousarray(left), np.ascontiguousarray(right)).tolist()


@pytest.mark.parametrize("name", methods())
def test_every_method_finds_what_its_run_finds(name: str, documents: Documents, truth: Truth) -> None:
    result = evaluate(documents, truth, [Spec(name)], Protocol(splits=1, bootstrap=2)).results[0]
    found, expected = result.found, reported(method=name)
    reach = found.score >= result.threshold
    keys = zip(found.left[reach].tolist(), found.right[reach].tolist(), strict=True)
    scores = dict(zip(keys, found.score[reach].tolist(), strict=True))
    assert scores == pytest.approx({pair: expected[pair] for pair in scores})
    assert connected(scores) == connected(expected)
    assert result.counts.found == len(scores)
    assert len(find_errors(documents, truth, result, most=1).pairs) <= 2


def test_estimates_and_unverified_candidates(documents: Documents, truth: Truth) -> None:
    estimated = evaluate(documents, truth, [Spec("minhash", {"verify": "estimate"})], QUICK).results[0]
    exact = dict(zip(every().pairs, every().scores, strict=True))
    for pair, score in listed(estimated).items():
        assert score == pytest.approx(exact[pair], abs=0.35)
    blind = evaluate(documents, truth, [Spec("minhash", {"verify": "none"})], QUICK).results[0]
    assert {*listed(blind).values()} == {1.0} and (0, 3) in listed(blind)
    assert blind.candidate_recall is None


def test_many_documents_are_scored_by_their_candidates(
    documents: Documents, truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarities, "MOST", 3)
    done = evaluate(documents, truth, [Spec("minhash", {"threshold": 0.6})], QUICK)
    result = done.results[0]
    assert 0 < result.least <= 0.6 and "are unknown and count as 0" in done.notes[-1]
    assert (result.pairs.total, result.pairs.positives) == (truth.total, truth.positives)
    data = every()
    expected = {p: s for p, s in zip(data.pairs, data.scores, strict=True) if s >= result.least}
    assert listed(result) == pytest.approx(expected)
    assert (0, 3) in listed(result)  # copies, which are never compared
    assert result.candidate_recall is None
    assert result.best is not None and result.best.threshold >= result.least


def test_judged_pairs_only(documents: Documents) -> None:
    left, right = np.array([0, 0, 4, 0, 10]), np.array([1, 3, 9, 4, 11])
    truth = Truth.of_pairs(left, right, np.array([True, True, False, False, False]), unclear=2)
    result = evaluate(documents, truth, [Spec("minhash")], QUICK).results[0]
    assert result.pairs.total == 5
    assert listed(result) == {(0, 1): pytest.approx(similarity(0, 1)), (0, 3): 1.0}
    assert result.judged is not None and (result.judged.judged, result.judged.unclear) == (2, 2)
    assert result.clustering is None and result.by_cluster is None
    assert result.candidate_recall is not None and result.candidate_recall.recall == 1


def test_copies_without_features_are_found_by_every_method() -> None:
    corpus: Any = SimpleNamespace(present=np.array([False, False, True, False, False]))
    matches: Any = SimpleNamespace(representative=np.array([0, 0, 2, 3, 0]))
    left, right = similarities._featureless_copies(corpus, matches, np.array([0, 1, 2, 3, 4]))
    assert {*zip(left.tolist(), right.tolist(), strict=True)} == {(0, 1), (0, 4), (1, 4)}


def test_a_sweep_compares_each_view_once(
    documents: Documents, truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    usual = similarities.all_pairs
    monkeypatch.setattr(similarities, "all_pairs", lambda *a, **k: (calls.append(1), usual(*a, **k))[1])
    specs = parse_specs("minhash:ngram=3/5,threshold=0.5/0.7/0.9,recall=0.9")
    results = evaluate(documents, truth, specs, QUICK).results
    assert len(results) == 6 and len(calls) == 2
    assert results[0].average_precision == results[2].average_precision
    assert results[0].counts.found > results[2].counts.found


def test_two_methods_are_compared(documents: Documents, truth: Truth) -> None:
    done = evaluate(documents, truth, parse_specs("minhash:ngram=1/8"), QUICK)
    [one] = done.comparisons
    assert (one.first, one.second) == ("minhash:ngram=1", "minhash:ngram=8")
    first, second = done.results
    assert one.f1_difference == pytest.approx(second.counts.f1 - first.counts.f1)
    assert one.f1_interval is not None and one.f1_interval.low <= one.f1_difference <= one.f1_interval.high
    assert one.mcnemar.p_value <= 1 and one.t_test is not None
    again = evaluate(documents, truth, parse_specs("minhash:ngram=1/8"), QUICK)
    assert again.comparisons == done.comparisons  # the same seed draws the same clusters


def test_scores_of_another_tool(documents: Documents, truth: Truth) -> None:
    given = (np.array([0, 4, 0]), np.array([1, 5, 7]), np.array([5.0, 3.0, 4.0]))
    done = evaluate(documents, truth, [], QUICK, scores={"other": given})
    result = done.results[0]
    assert result.plan is None and result.measured is None
    assert result.best is not None and result.best.counts.true == 2
    assert json.loads(to_json(done))["methods"][0]["plan"] is None


def test_tables(documents: Documents, truth: Truth) -> None:
    done = evaluate(documents, truth, [Spec("minhash"), Spec("minhash", {"threshold": 0.99})], QUICK)
    plain = json.loads(to_json(done))
    assert [method["name"] for method in plain["methods"]] == ["minhash", "minhash:threshold=0.99"]
    assert plain["labels"] == {
        "documents": 11, "clusters": 5, "pairs": 55, "positive_pairs": 10, "unclear": 0, "excluded": 0,
        "agreement": None, "document_agreement": None,
    }  # fmt: skip
    worst = plain["methods"][0]["clusters"]
    assert [row["f1"] for row in worst] == sorted(row["f1"] for row in worst)
    assert {row["cluster"] for row in worst} == {"harbour", "bridge", "storm"}
    lines = to_csv(done).splitlines()
    assert len(lines) == 3 and lines[0].split(",")[:2] == ["method", "threshold"]
    assert len(to_markdown(done).splitlines()) == 4
    assert rows(done)[0]["f1"] == done.results[0].counts.f1
    assert any("1 of 12 documents" in note for note in done.notes)


def test_the_worst_errors(documents: Documents, truth: Truth) -> None:
    result = evaluate(documents, truth, [Spec("minhash", {"threshold": 0.9})], QUICK).results[0]
    found = find_errors(documents, truth, result, most=3)
    assert len(found.pairs) == 3 and {pair.kind for pair in found.pairs} == {"false negative"}
    data = every()
    missed = [s for s, label in zip(data.scores, data.labels, strict=True) if label and s < 0.9]
    assert found.errors.total_negatives == len(missed)
    assert found.pairs[0].score == pytest.approx(min(missed))
    assert set(found.pairs[0].clusters) <= {*NAMES}


def test_a_pair_that_shares_nothing_is_the_worst_of_all() -> None:
    texts = ["one two three", "four five six", "one two three", "seven"]
    done = neardup.evaluation(texts, [0, 0, 0, 1], splits=0)
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    found = find_errors(Documents(pa.array(range(4)), column), done.truth, done.results[0])
    assert [(pair.left, pair.right, pair.score) for pair in found.pairs] == [("0", "1", 0.0), ("1", "2", 0.0)]


def test_labels_that_are_too_few_to_choose_by_are_refused(documents: Documents) -> None:
    clusters = np.full(len(documents), -1)
    clusters[:3] = (0, 0, 1)
    bench = Bench(documents, Truth(clusters, names=("x", "y")), Protocol(splits=1, bootstrap=0))
    with pytest.raises(
        InputError, match="1 labelled cluster has two or more documents, and a choice needs at"
    ):
        tune(bench, make_specs(["minhash"]), 10**6)


def test_tuning(documents: Documents, truth: Truth) -> None:
    bench = Bench(documents, truth, Protocol(goal=Goal("precision", 0.9), splits=2, bootstrap=0))
    found = tune(bench, make_specs(["minhash:ngram=2/5"]), 10**6)
    assert found.best is not None and found.measured is not None
    assert found.outcome == found.best.outcome, "a run gives what the choice was made by"
    assert found.outcome.precision >= 0.9 and found.outcome.wrong == 0
    assert found.best.value >= found.choices[1].value
    assert found.measured.memory_for(10**6) == pytest.approx(found.measured.bytes_per_document * 10**6)
    assert found.measured.seconds_for(24) == pytest.approx(2 * found.measured.seconds)
    json.dumps(found.as_dict(), allow_nan=False)
    assert {spec.method for spec in default_specs()} == {*methods()}


def test_a_method_without_a_threshold_is_taken_as_it_is(documents: Documents, truth: Truth) -> None:
    bench = Bench(documents, truth, Protocol(splits=2, bootstrap=0))
    found = tune(bench, [Spec("super_shingles"), Spec("imatch"), Spec("minhash")], 1000)
    for choice in found.choices:
        assert choice.reached and choice.held_out is not None and len(choice.held_out.f1) == 4
    assert found.choices[0].spec.method == "minhash"
    strict = Bench(documents, truth, Protocol(goal=Goal("recall", 1.0), splits=2, bootstrap=0))
    assert not tune(strict, [Spec("super_shingles")], 1000).choices[0].reached


def test_a_goal_that_nothing_reaches() -> None:
    texts = ["one two three four five six", "seven eight nine", "one two three four five six", "ten"]
    documents = Documents(pa.array(range(4)), pa.chunked_array([pa.array(texts, pa.large_string())]))
    truth = Truth(np.array([0, 0, 1, 1]), names=("a", "b"))
    bench = Bench(documents, truth, Protocol(goal=Goal("precision", 0.9), splits=1, bootstrap=0))
    found = tune(bench, [Spec("minhash")], 10)
    assert found.best is None and found.measured is None and found.as_dict()["best"] is None


# --- methods in words --------------------------------------------------------------------------------------------


def test_specs() -> None:
    specs = make_specs(["minhash", "minhash:ngram_size=3/5,tokens=words/characters", "minhash"])
    assert [spec.name for spec in specs] == [
        "minhash",
        *(f"minhash:ngram={n},tokens={t}" for n in (3, 5) for t in ("words", "characters")),
    ]
    assert specs[1].plan == methods()["minhash"].plan(ngram=3, tokens="words")
    assert specs[1].at(0.5).words() == ["--method minhash", "--ngram 3", "--tokens words", "--threshold 0.5"]


@pytest.mark.parametrize(
    "text",
    [
        "magic",
        "minhash:ngram",
        "minhash:colour=3",
        "minhash:ngram=x",
        "minhash:ngram=0",
        "minhash:ngram=3,ngram=4",
    ],
)
def test_bad_specs(text: str) -> None:
    with pytest.raises(ParameterError):
        parse_specs(text)


# --- the function ------------------------------------------------------------------------------------------------


def test_the_public_function() -> None:
    by_order = neardup.evaluation(
        TEXTS, [None if c < 0 else NAMES[c] for c in CLUSTERS], "minhash", splits=1, bootstrap=5
    )
    by_id = neardup.evaluation(
        TEXTS,
        {k: c for k, c in enumerate(CLUSTERS) if c >= 0},
        [neardup.make_plan("minhash")],
        splits=1,
        bootstrap=5,
    )
    assert by_order.results[0].counts == by_id.results[0].counts
    assert by_order.truth.names == NAMES
    for labels, said in (([0, 0], "2 labels for 12"), ({99: 1}, "99"), ([0] * 12, "one cluster")):
        with pytest.raises(InputError, match=said):
            neardup.evaluation(TEXTS, labels)
    with pytest.raises(ParameterError):
        neardup.evaluation(TEXTS, CLUSTERS, bootstrap=-1)
    with pytest.raises(ParameterError):
        neardup.evaluation(TEXTS, CLUSTERS, [])


def test_documents_as_dedup_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    page = {"id": "p", "html": "<p>One <b>two</b></p>"}
    path.write_text(json.dumps(page) + "\n" + json.dumps({**page, "id": "q"}) + "\n")
    from neardup.documents import open_inputs
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.core.progress import Progress

    found = read_documents(open_inputs([path]), InputColumns(), Progress())
    assert found.ids.to_pylist() == ["p", "q"] and "<" not in found.texts[0].as_py()
    assert found.size == 2 * len(found.texts[0].as_py())


# --- real labels -------------------------------------------------------------------------------------------------

GOLD = DATA / "spotsigs_gold"


@pytest.mark.slow
@pytest.mark.skipif(
    not GOLD.exists(), reason=f"{GOLD} is not there: set NEARDUP_DATA to the folder of labelled data"
)
def test_news_pages() -> None:
    neardup.evaluation(TEXTS, CLUSTERS)  # compiles
    start = time.process_time()
    done = neardup.evaluation(
        GOLD / "documents.jsonl.gz", GOLD / "clusters.csv", "minhash:ngram=3", text_column="html"
    )
    assert time.process_time() - start < 20
    result = done.results[0]
    assert (done.truth.total, done.truth.positives) == (595_686, 41_489)
    assert result.candidate_recall is not None and result.candidate_recall.recall > 0.98
    assert result.best is not None and result.best.counts.f1 > 0.85
    assert result.intervals["best_f1"].low < result.best.counts.f1 < result.intervals["best_f1"].high


@pytest.mark.skipif(
    not DATA.exists(), reason=f"{DATA} is not there: set NEARDUP_DATA to the folder of labelled data"
)
def test_judged_web_pages() -> None:
    folder = DATA / "webis_pairs"
    done = neardup.evaluation(folder / "documents.jsonl.gz", folder / "pairs.csv", splits=2, bootstrap=50)
    assert done.truth.total == 238
    assert done.results[0].best is not None and done.results[0].best.counts.f1 > 0.7
