"""One index in PostgreSQL, several processes: each follows the others with segments of its own; and SQLite the same."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable
from pathlib import Path

import postgres
import pyarrow as pa
import pytest
from random_corpora import cross_pairs, found_by, random_texts
from test_index_answers import SETTINGS, plan_and_statistics, step

import neardup
from neardup.index.index import Index


@pytest.mark.parametrize("name", ["minhash", "simhash-tfidf", "spotsigs", "rare_phrases"])
def test_two_followers_of_a_database_answer_alike(name: str, server: postgres.Server, tmp_path: Path) -> None:
    rng = random.Random(name)
    texts = random_texts(rng, 60)
    plan, statistics = plan_and_statistics(SETTINGS[name], texts)
    url = server.url(name.replace("-", "_"))
    stored: dict[str, str] = {}
    how = {"plan": plan.with_(statistics=""), "statistics": statistics, "threads": 1}
    with (
        Index(url, segments=tmp_path / "a", **how) as first,
        Index(url, segments=tmp_path / "b", threads=1) as second,
    ):
        for _ in range(10):
            step(rng, rng.choice((first, second)), stored, texts)
            asked = {f"q{number}": rng.choice(texts) for number in range(8)}
            expected = cross_pairs(stored, asked, plan, statistics)
            assert found_by(first, asked) == expected
            assert found_by(second, asked) == expected


def _add_all(path: str, segments: str, texts: list[str], started: Callable, results: object) -> None:
    with Index(path, segments=segments or None, wait=60.0, threads=1) as index:
        started.wait()
        added = [index.add_if_new(text).status == "new" for text in texts]
    results.put(added)


@pytest.mark.parametrize("kind", [pytest.param("sqlite", marks=pytest.mark.slow), "postgres"])
def test_of_processes_with_the_same_texts_one_adds_each(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = str(tmp_path / "i") if kind == "sqlite" else request.getfixturevalue("server").url("race")
    folders = ["", ""] if kind == "sqlite" else [str(tmp_path / "a"), str(tmp_path / "b")]
    Index(where, method="minhash", threshold=0.7, segments=folders[0] or None).close()
    texts = [" ".join(f"t{number}w{k}" for k in range(20)) for number in range(40)]
    context = multiprocessing.get_context("spawn")
    started, results = context.Barrier(2), context.Queue()
    workers = [
        context.Process(target=_add_all, args=(where, folder, texts, started, results)) for folder in folders
    ]
    for worker in workers:
        worker.start()
    first, second = results.get(timeout=120), results.get(timeout=120)
    for worker in workers:
        worker.join(60)
    assert [a + b for a, b in zip(first, second, strict=True)] == [1] * len(texts)
    with Index(where, segments=folders[0] or None) as index:
        assert len(index) == len(texts)


def test_a_reader_sees_a_replacement_as_a_whole(tmp_path: Path) -> None:
    """While documents are replaced and segments merged, a query finds each document once: before or after."""
    import threading

    text = " ".join(f"word{k}" for k in range(40))
    with Index(tmp_path / "i", method="minhash", threshold=0.6, threads=1) as index:
        index.add(pa.table({"id": ["a", "b"], "text": [text, text + " more"]}))
        stop, wrong, asked = threading.Event(), [], 0

        def ask() -> None:
            nonlocal asked
            with Index(tmp_path / "i", threads=1) as reader:
                while not stop.is_set():
                    for one in (reader, index):
                        found = sorted(str(match.id) for match in one.query(text))
                        if found != ["a", "b"]:
                            wrong.append(found)
                        asked += 1

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(60):
            index.add(pa.table({"id": ["a", "b"], "text": [f"{text} v{number}", f"{text} more v{number}"]}))
            if number % 5 == 0:
                index.compact()
        stop.set()
        for thread in threads:
            thread.join()
        assert not wrong and asked > 20


def test_public_names_are_the_index(tmp_path: Path) -> None:
    assert neardup.Index is Index
