"""Large buckets: linear work by default, said so in the report, and the same clusters."""

from __future__ import annotations

import random

import pytest

import neardup
from corpora import set_constants

N = 500


def near_identical(count, length=60):
    """Versions of one text, each with a word of its own: any two share more than 0.8 of their shingles."""
    source, found = random.Random(4), []
    for k in range(count):
        text = [f"w{k}" for k in range(length)]
        text[source.choice([0, 1, length - 1])] = f"x{k}"
        found.append(" ".join(text))
    return found


@pytest.fixture(scope="module")
def texts():
    return near_identical(N)


def test_the_work_is_linear_and_the_report_says_what_was_skipped(texts):
    report = neardup.dedup(texts).report
    plan = neardup.make_plan()
    assert report["pairs"]["candidates"] <= (plan.pivots + 1) * N
    assert report["buckets"]["largest"] > N / 2 and report["buckets"]["above_limit"] > 0
    assert report["buckets"]["pairs_skipped"] > N * N / 10


def test_twice_the_documents_are_about_twice_the_candidates(texts):
    few = neardup.dedup(texts[: N // 2]).report["pairs"]["candidates"]
    many = neardup.dedup(texts).report["pairs"]["candidates"]
    assert many < 3 * few


def test_there_is_still_one_cluster(texts):
    result = neardup.dedup(texts)
    assert result.report["clusters"] == 1 and set(result.clusters["size"].to_pylist()) == {N}
    assert len(result.kept) == 1


def test_a_limit_above_the_bucket_compares_everything(texts):
    plan = neardup.make_plan().with_(bucket=N)
    report = neardup.dedup(texts[:100], plan=plan).report
    assert report["buckets"]["above_limit"] == 0
    assert report["buckets"]["pairs_skipped"] == 0


def test_all_pairs_are_all_pairs(texts):
    result = neardup.dedup(texts[:100], pairs="all")
    assert len(result.pairs) == 100 * 99 // 2
    assert result.report["buckets"]["pairs_skipped"] == 0


def test_every_removed_document_has_its_similarity_although_the_bucket_was_not_compared(texts):
    result = neardup.dedup(texts)
    removed = [row for row in result.clusters.to_pylist() if not row["keep"]]
    assert len(removed) == N - 1
    assert all(row["similarity"] is not None and row["similarity"] > 0.8 for row in removed)


def test_the_summary_of_a_run_that_wants_all_pairs_says_how_many_there_are(texts, monkeypatch):
    from neardup.engines.core.progress import Progress

    class Listening(Progress):
        def note(self, message):
            notes.append(message)

    monkeypatch.setattr("neardup.engines.local.verify.MANY_PAIRS", 1000)
    notes: list[str] = []
    neardup.dedup(texts[:100], pairs="all", progress=Listening())
    assert len(notes) == 1 and "pairs=all compares up to" in notes[0] and "100 documents" in notes[0]


def template(documents, source, shared=82, own=18, edits=2):
    """Pages of one template, a third of them in two versions that differ in a few words of their own part."""
    frame = [f"t{source.randrange(20_000)}" for _ in range(shared)]
    found = []
    for _ in range(documents):
        body = [f"w{source.randrange(20_000)}" for _ in range(own)]
        found.append(frame + body)
        if source.random() < 0.3:
            version = list(body)
            for _ in range(edits):
                version[source.randrange(own)] = f"x{source.randrange(10**6)}"
            found.append(frame + version)
    return [" ".join(text) for text in found]


@pytest.mark.parametrize(("shared", "share"), [(50, 0.99), (65, 0.98), (75, 0.96), (82, 0.9)])
def test_versions_of_pages_with_one_template_are_found(shared, share):
    """A bucket of the template holds everything; its versions are mostly found in bands of their own words.

    What is lost where the template is nearly the whole page is the price of linear work, and it is reported.
    """
    texts = template(1000, random.Random(3), shared, 100 - shared)
    every = neardup.dedup(texts, threshold=0.8, pairs="all")
    few = [neardup.dedup(texts, threshold=0.8, seed=seed).report for seed in range(4)]
    assert len(every.pairs) > 200
    assert sum(report["removed"] for report in few) >= share * 4 * every.report["removed"]
    assert all(report["buckets"]["pairs_skipped"] > 0 for report in few)


def test_blocks_of_candidates_are_bounded_when_all_pairs_are_wanted(texts, monkeypatch):
    """A quadratic answer must not need quadratic memory: whatever is measured together is bounded."""
    from neardup.engines.local.measure import Measurer

    set_constants(monkeypatch, BLOCK_PAIRS=500)
    sizes, measure = [], Measurer.measure

    def watched(self, left, right):
        sizes.append(len(left))
        return measure(self, left, right)

    monkeypatch.setattr(Measurer, "measure", watched)
    neardup.dedup(texts[:200], pairs="all")
    assert sum(sizes) >= 0.99 * 200 * 199 / 2 and max(sizes) <= 2 * 500
