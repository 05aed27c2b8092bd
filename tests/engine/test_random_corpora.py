"""Random corpora beside the oracle: every method × clustering × keep policy × threads, thresholds on the boundary.

`python tests/engine/test_random_corpora.py 20000` tries corpora 0 … 19999; the number of a corpus says all about it.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from fractions import Fraction
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from method_oracle import ROUNDED, MethodTruth
from test_linkage import expected_clusters

import neardup
from neardup.clusters.keep import WITH_COLUMN
from neardup.engines.core.duplicates import LEAST
from neardup.plan import CLUSTER_KINDS, Plan
from neardup.registry import methods

# Small texts need small features, and bands that make candidates of most pairs.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "minhash": [
        {"ngram": 1, "bands": 32, "rows": 1},
        {"ngram": 2, "bands": 8, "rows": 2},
        {"ngram": 1, "bands": 32, "rows": 1, "numbers": "separate"},
    ],
    "super_shingles": [
        {"ngram": 1, "num_perm": 12, "groups": 6},
        {"ngram": 1, "num_perm": 12, "threshold": 0.5},
    ],
    "hybrid": [{"ngram": 2, "bits": 64}],
    "cosine": [{}, {"ngram": 2}, {"weights": "tf", "idf_low": 0.1}],
    "spotsigs": [
        {"distance": 1, "chain": 1},
        {"chain": 2},
        {"chain": 1, "matcher": "prefix"},
        {"chain": 1, "matcher": "partitions"},
    ],
    "spotsigs_lsh": [{"distance": 1, "chain": 1, "bands": 16, "rows": 1}],
    "simhash": [{"bits": 32, "distance": 8}, {"weights": "tf"}],
    "imatch": [{"lexicons": 4, "drop": 0.4, "idf_low": 0.0, "idf_high": 1.0}],
    "imatch_spots": [{"lexicons": 4, "drop": 0.4, "idf_low": 0.0, "idf_high": 1.0, "chain": 1}],
    "rare_phrases": [
        {"ngram": 1, "bands": 16, "rows": 1, "rare": 1.0},
        {"ngram": 1, "bands": 16, "rows": 1, "sampler": "ioffe", "function": "ln_idf"},
        {"ngram": 2, "bands": 6, "rows": 1, "agree": 2, "verify": "estimate", "num_perm": 12},
    ],
    "andd": [
        {"bits": 64},
        {"bits": 64, "verify": "signatures"},
        {"signature": "minhash", "verify": "signatures", "num_perm": 32},
    ],
    "exact": [{}, {"equal": "bytes"}],
}
KEEP = ["longest", "shortest", "first", "last", *(f"{policy}:rank" for policy in WITH_COLUMN[:-1])]
FRAME = "the a is had can".split()
WORDS = "east west north south river harbour bridge mill".split()
NUMBERS = {"east": "3", "west": "45", "harbour": "1999", "mill": "7", "bridge": "0"}
IN_MAKE_TEST = 48


def one_of(source: random.Random) -> list[str]:
    return [source.choice(FRAME if source.random() < 0.4 else WORDS) for _ in range(source.randrange(14))]


def changed(source: random.Random, words: list[str]) -> list[str]:
    words = list(words)
    for _ in range(source.randrange(3)):
        place = source.randrange(len(words) + 1)
        words[place : place + source.randrange(2)] = source.choices(WORDS, k=source.randrange(2))
    return words


def draw_texts(source: random.Random) -> list[str]:
    """Texts of a few words, edits of them, copies, and some without a word."""
    texts = [one_of(source)]
    for _ in range(source.randrange(18)):
        kind = source.random()
        texts.append(one_of(source) if kind < 0.3 else changed(source, source.choice(texts)))
        if kind > 0.85:
            texts.append(source.choice(texts))
    return [" ".join(words) for words in texts]


def draw_threshold(source: random.Random, plan: Plan, texts: list[str]) -> float:
    """A similarity that two of the texts have, a little more than that, or the plan's own."""
    truth = MethodTruth(plan, texts)
    pairs = [(a, b) for a in range(truth.n) for b in range(a) if truth.meet(b, a) and truth.similarity(b, a)]
    if not pairs or source.random() < 0.2:
        return plan.threshold
    exact = truth.similarity(*source.choice(pairs))
    on_the_boundary = exact == 1 or source.random() < 0.7
    return float(exact) if on_the_boundary else min(1.0, float(exact + Fraction(1, 10**6)))


class Case:
    """Everything about a corpus follows from its number."""

    def __init__(self, number: int, ordered: bool = True) -> None:
        source = random.Random(number)
        names = sorted(methods())
        self.name = names[number % len(names)]
        kind = CLUSTER_KINDS[number // len(names) % len(CLUSTER_KINDS)]
        self.keep = KEEP[source.randrange(len(KEEP))]
        if not ordered and self.keep in ("first", "last"):
            self.keep = "longest"
        self.count = source.choice([1, 1, 1, 2, 3])
        self.threads = source.randrange(1, 5)
        self.texts = draw_texts(source)
        settings = source.choice(SETTINGS[self.name])
        if settings.get("numbers") == "separate":
            self.texts = [" ".join(NUMBERS.get(word, word) for word in text.split()) for text in self.texts]
        ids = list(range(len(self.texts)))
        source.shuffle(ids)
        self.ids = ids if source.random() < 0.5 else [f"d{number}" for number in ids]
        self.ranks = [source.choice([None, 1, 2, 2, 3]) for _ in self.texts]
        plan = neardup.make_plan(
            self.name,
            **settings,
            clusters=kind,
            keep=self.keep,
            keep_count=self.count,
            pairs=source.choice(["all", "clusters"]),
        )
        plan = plan.with_(df_unit="texts")
        self.plan = plan.with_(threshold=draw_threshold(source, plan, self.texts))

    @property
    def table(self) -> pa.Table:
        ranks = pa.array(self.ranks, pa.int64())
        return pa.table({"id": self.ids, "text": self.texts, "rank": ranks})

    def worth(self, x: int) -> tuple[Any, ...]:
        """The place of a document in the order of the policy."""
        rank = self.ranks[x]
        downwards = self.keep in ("newest:rank", "highest:rank")
        by_rank = (rank is None, 0 if rank is None else -rank if downwards else rank)
        keys: dict[str, Any] = {
            "longest": -len(self.texts[x]),
            "shortest": len(self.texts[x]),
            "first": x,
            "last": -x,
        }
        return keys.get(self.keep, by_rank), self.ids[x]


def close(found: float | None, expected: Fraction | None, plan: Plan) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    return (
        abs(found - float(expected)) < 1e-6 if isinstance(plan.check, ROUNDED) else found == float(expected)
    )


def groups_of(truth: MethodTruth, case: Case) -> list[list[int]]:
    """The clusters that the plan asks for."""
    kind = case.plan.clustering.kind
    if kind == "components":
        return truth.clusters()
    if kind == "leaders":
        return truth.led_clusters(case.worth)
    return sorted(sorted(group) for group in expected_clusters(truth, kind, case.ids))


def targets_of(truth: MethodTruth, case: Case, group: list[int]) -> dict[int, int | None]:
    """What each document of a cluster duplicates, None if it stays."""
    ranked = sorted(group, key=case.worth)
    if not case.plan.clustering.links:
        return {x: ranked[0] if place >= case.count else None for place, x in enumerate(ranked)}
    looser = MethodTruth.__new__(
        MethodTruth
    )  # a document may go for one with which it reaches half the threshold
    vars(looser).update(vars(truth))
    looser.plan = case.plan.with_(threshold=LEAST * case.plan.threshold)
    looser.threshold = truth.threshold * Fraction(LEAST)
    head: dict[int, int] = {}
    for leader in ranked:
        if leader not in head:
            same = [x for x in ranked if x not in head]
            head |= {
                x: leader for x in same if x == leader or truth.copies(x, leader) or looser.passes(x, leader)
            }
    return {x: head[x] if place >= case.count and head[x] != x else None for place, x in enumerate(ranked)}


def check(number: int, run: Any = neardup.dedup, ordered: bool = True) -> Case:
    """Compare a run over corpus `number` with the oracle; `ordered`: policies may go by the order of documents."""
    case = Case(number, ordered)
    result = run(case.table, plan=case.plan, threads=case.threads, guard=False)
    truth = MethodTruth(case.plan, case.texts)
    place = {name: x for x, name in enumerate(case.ids)}
    found = {
        tuple(sorted((place[row["left"]], place[row["right"]]))): row for row in result.pairs.to_pylist()
    }
    true = set(truth.pairs())
    joined = {tuple(sorted(pair)) for pair in true}
    if case.plan.pairs == "all":
        assert set(found) == joined
    for a, b in found:
        assert truth.copies(a, b) or truth.passes(a, b)
        assert close(found[a, b]["similarity"], truth.similarity(a, b), case.plan)
    groups = groups_of(truth, case)
    rows = {place[row["id"]]: row for row in result.clusters.to_pylist()}
    assert sorted(rows) == sorted(x for group in groups for x in group)
    removed = 0
    for group in groups:
        first = min(group, key=lambda x: case.ids[x])
        targets = targets_of(truth, case, group)
        for x in group:
            row, target = rows[x], targets[x]
            assert (row["cluster"], row["size"]) == (case.ids[first], len(group))
            assert row["leader"] == case.ids[min(group, key=case.worth)]
            assert row["duplicate_of"] == (None if target is None else case.ids[target]), (x, target)
            if target is not None:
                removed += 1
                assert close(row["similarity"], truth.similarity(x, target), case.plan)
    assert len(result.removed) == removed and len(result.kept) == len(case.texts) - removed
    return case


@pytest.mark.parametrize("number", range(IN_MAKE_TEST))
def test_a_random_corpus_has_the_answers_of_the_oracle(number):
    check(number)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(IN_MAKE_TEST, 20_000, 1000))
def test_twenty_thousand_random_corpora(start):
    for number in range(start, min(start + 1000, 20_000)):
        check(number)


if __name__ == "__main__":
    first, last = (0, int(sys.argv[1])) if len(sys.argv) < 3 else map(int, sys.argv[1:3])
    failed = Counter[str]()
    for number in count(first):
        if number == last:
            break
        try:
            check(number)
        except Exception as error:
            failed[Case(number).name] += 1
            print(number, Case(number).name, repr(error)[:200].replace("\n", " "), flush=True)
    print(f"{last - first:,} corpora, {sum(failed.values())} failed {dict(failed)}")
