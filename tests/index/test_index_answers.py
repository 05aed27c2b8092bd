"""An index gives the cross pairs of `neardup pairs`, whatever its history, for every method."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from random_corpora import cross_pairs, found_by, random_texts

import neardup
from neardup.index.frequencies import counted_statistics
from neardup.index.index import Index

SETTINGS = {
    "minhash": {"method": "minhash", "threshold": 0.6},
    "minhash-estimate": {"method": "minhash", "verify": "estimate"},
    "minhash-unverified": {"method": "minhash", "verify": "none"},
    "minhash-numbers": {"method": "minhash", "threshold": 0.5, "numbers": "separate"},
    "containment": {"method": "minhash", "threshold": 0.8, "decide": "containment"},
    "super_shingles": {"method": "super_shingles"},
    "simhash": {"method": "simhash", "weights": "tf", "distance": 8},
    "simhash-tfidf": {"method": "simhash"},
    "simhash-cosine": {"method": "simhash", "verify": "cosine", "distance": 12, "threshold": 0.8},
    "simhash-128": {"method": "simhash", "bits": 128, "weights": "tf", "distance": 10},
    "hybrid": {"method": "hybrid", "ngram": 3, "threshold": 0.8, "agree": 1},
    "cosine": {"method": "cosine", "threshold": 0.6},
    "spotsigs": {"method": "spotsigs"},
    "spotsigs-high": {"method": "spotsigs", "threshold": 0.7},
    "spotsigs-equal": {"method": "spotsigs", "threshold": 1.0},
    "spotsigs_lsh": {"method": "spotsigs_lsh"},
    "imatch": {"method": "imatch", "lexicons": 4, "agree": 2},
    "imatch_spots": {"method": "imatch_spots"},
    "rare_phrases": {"method": "rare_phrases"},
    "rare_phrases-estimate": {"method": "rare_phrases", "verify": "estimate"},
    "andd": {"method": "andd"},
    "andd-minhash": {"method": "andd", "signature": "minhash"},
    "andd-signatures": {"method": "andd", "verify": "signatures"},
    "andd-samples": {"method": "andd", "signature": "samples"},
    "andd-all": {"method": "andd", "signature": "none"},
    "andd-jaccard": {"method": "andd", "signature": "none", "similarity": "jaccard", "threshold": 0.4},
}
HISTORIES = int(os.environ.get("NEARDUP_HISTORIES", "2"))


def plan_and_statistics(settings: dict, texts: list[str]) -> tuple[neardup.Plan, object]:
    plan = neardup.make_plan(**settings, pairs="all", clusters="components")
    if not plan.counts:
        return plan, None
    from neardup.documents.given import as_inputs
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.core.progress import Progress

    sources, _ = as_inputs(pa.table({"id": list(map(str, range(len(texts)))), "text": texts}), None)
    statistics = counted_statistics(plan, sources, InputColumns(), 1, Progress())
    return plan.with_(statistics=statistics.digest), statistics


def step(rng: random.Random, index: Index, stored: dict[str, str], texts: list[str]) -> str:
    """One change of an index and of what it should hold."""
    kind = rng.choice(("add", "add", "add", "replace", "delete", "compact", "flush", "one", "if_new"))
    if kind in ("add", "replace"):
        names = rng.sample(sorted(stored), min(len(stored), 3)) if kind == "replace" else []
        names += [f"s{rng.randrange(10**6)}" for _ in range(rng.randrange(1, 12))] if kind == "add" else []
        new = {name: rng.choice(texts) for name in names}
        if new:
            index.add(pa.table({"id": list(new), "text": list(new.values())}))
        stored |= new
    elif kind == "delete" and stored:
        names = rng.sample(sorted(stored), min(len(stored), rng.randrange(1, 5)))
        assert index.delete([*names, "nobody"]) == len(names)
        for name in names:
            del stored[name]
    elif kind == "compact":
        index.compact()
    elif kind == "flush":
        with index._truth.reading() as snapshot:
            index._current(snapshot).flush(snapshot)
    elif kind == "one":
        name = f"s{rng.randrange(10**6)}"
        stored[name] = rng.choice(texts)
        index.add([{"id": name, "text": stored[name]}])
    elif kind == "if_new":
        name, text = f"s{rng.randrange(10**6)}", rng.choice(texts)
        if index.add_if_new(text, id=name).status == "new":
            stored[name] = text
    return kind


@pytest.mark.parametrize("name", SETTINGS)
def test_the_answer_is_that_of_pairs(name: str, tmp_path: Path) -> None:
    for history in range(HISTORIES):
        rng = random.Random(f"{name} {history}")
        texts = random_texts(rng, 60)
        plan, statistics = plan_and_statistics(SETTINGS[name], texts)
        folder = tmp_path / f"{history}.index"
        stored: dict[str, str] = {}
        index = Index(folder, plan=plan.with_(statistics=""), statistics=statistics, threads=1)
        for _ in range(8):
            step(rng, index, stored, texts)
            if rng.random() < 0.2:
                index.close()
                index = Index(folder, threads=1)
        assert len(index) == len(stored)
        asked = {f"q{number}": rng.choice(texts) for number in range(25)}
        assert found_by(index, asked) == cross_pairs(stored, asked, plan, statistics)
        index.close()
