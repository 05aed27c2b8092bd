"""Who is near whom in an index, and decisions about new documents: those of `neardup pairs`, for every method."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyarrow as pa
import pytest
from random_corpora import random_texts
from test_index_answers import SETTINGS, plan_and_statistics

import neardup
from neardup.engines.core.progress import Progress
from neardup.errors import ParameterError, PlanError
from neardup.index.decisions import IndexDecision
from neardup.index.documents import covers
from neardup.index.index import Index
from neardup.index.inputs import AttributeColumns
from neardup.index.stored_pairs import stored_neighbours

SOME = (
    "minhash",
    "minhash-unverified",
    "containment",
    "simhash-tfidf",
    "cosine",
    "spotsigs",
    "imatch",
    "andd",
)
Found = dict[
    tuple[str, str], tuple[float | None, str | None]
]  # similarity and relation of the first to the second


def pairs_of(texts: dict[str, str], plan: neardup.Plan, statistics: object) -> Found:
    """Similarity and relation of every pair, both ways round."""
    table = pa.table({"id": list(texts), "text": list(texts.values())})
    turned = {"contains": "contained", "contained": "contains"}
    found: Found = {}
    for row in neardup.pairs(table, plan=plan, statistics=statistics).to_pylist():
        similarity, relation = row["similarity"], row["relation"]
        found[row["left"], row["right"]] = (similarity, relation)
        found[row["right"], row["left"]] = (similarity, turned.get(relation, relation))
    return found


def linked(index: Index) -> set[tuple[str, str]]:
    """The pairs of ids that the neighbours of an index mean, both ways round."""
    with index.reading() as (snapshot, search):
        documents, (nodes, near) = stored_neighbours(search, snapshot, Progress())
    members: dict[int, list[str]] = {}
    for document, node in zip(documents, nodes, strict=True):
        members.setdefault(node, []).append(document.id)
    return {
        (mine, other)
        for node, ids in members.items()
        if node >= 0
        for one in near[node]
        for mine, other in itertools.product(ids, members[one.node])
        if mine != other
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_neighbours_are_the_pairs_of_all_stored_documents(name: str, tmp_path: Path) -> None:
    texts = random_texts(random.Random(f"stored {name}"), 60)
    stored = {f"d{n}": text for n, text in enumerate(texts)}
    plan, statistics = plan_and_statistics(SETTINGS[name], texts)
    expected = set(pairs_of(stored, plan, statistics))
    for store in ("text", "features", "signatures"):
        given = {"plan": plan.with_(statistics=""), "statistics": statistics, "store": store, "threads": 1}
        try:
            index = Index(tmp_path / store, **given)
        except PlanError:
            assert store != "text"  # such a method compares more than is stored
            continue
        with index:
            index.add(pa.table({"id": list(stored), "text": list(stored.values())}))
            assert linked(index) == expected


@pytest.mark.parametrize("name", SOME)
def test_decisions_are_those_of_a_plain_search(name: str, tmp_path: Path) -> None:
    """The first copy that covers a document, else the nearest that does, among the indexed and the new ones before."""
    rng = random.Random(f"decisions {name}")
    texts = random_texts(rng, 60)
    everything = {f"d{n}": text for n, text in enumerate(texts)}
    access = {one: rng.choice((None, None, ["a"], ["b"], ["a", "b"])) for one in everything}
    plan, statistics = plan_and_statistics(SETTINGS[name], texts)
    near, stored, new = pairs_of(everything, plan, statistics), list(everything)[:30], list(everything)[30:]

    def table(ids: list[str]) -> pa.Table:
        groups = pa.array([access[one] for one in ids], pa.list_(pa.string()))
        return pa.table({"id": ids, "text": [everything[one] for one in ids], "who": groups})

    known, expected = list(stored), []
    for one in new:
        mine = None if access[one] is None else frozenset(access[one])
        some = [k for k in known if covers(None if access[k] is None else frozenset(access[k]), mine)]
        some = [k for k in some if (one, k) in near]
        copies = [k for k in some if near[one, k][1] == "copy"]
        decision = IndexDecision("keep")
        if copies:
            decision = IndexDecision("drop", copies[0], 1.0, "copy")
        elif some:
            best = max(near[one, k][0] or 0.0 for k in some)
            nearest = next(k for k in some if (near[one, k][0] or 0.0) == best)
            decision = IndexDecision("demote", nearest, *near[one, nearest])
        if decision.action != "drop":
            known.append(one)
        expected.append((one, decision))
    with Index(tmp_path / "i", plan=plan.with_(statistics=""), statistics=statistics, threads=1) as index:
        columns = AttributeColumns(access="who")
        index.add(table(stored), attributes=columns)
        assert index.decide(table(new), attributes=columns) == expected
        assert len(index) == len(stored)
        dropped = [one for one, decision in expected if decision.action == "drop"]
        gentle = dict(index.decide(table(new), attributes=columns, drop=False))
        assert not [one for one in dropped if gentle[one].action != "demote"]


def test_a_higher_threshold_and_masters(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(100)]
    texts = {"a": words, "b": [*words, "more"], "c": words[:80], "d": ["other"] * 9}
    rows = [{"id": one, "text": " ".join(text), "q": len(one) + ord(one)} for one, text in texts.items()]
    with Index(tmp_path / "i", method="minhash", threshold=0.6) as index:
        index.add(pa.Table.from_pylist(rows), attributes=AttributeColumns(quality="q"))
        assert index.clusters() == [["b", "a", "c"]]
        assert index.clusters(master="quality", order="length") == [["c", "b", "a"]]
        assert index.clusters(master="rank", threshold=0.9) == [["a", "b"]]
        assert index.crawl_order() == ["d", "c", "b", "a"]
        assert index.crawl_order(threshold=0.9) == ["d", "c", "b", "a"]
        with pytest.raises(ParameterError, match="threshold of the index"):
            index.clusters(threshold=0.5)
        with pytest.raises(ParameterError, match="order"):
            index.clusters(order="best")  # type: ignore[arg-type]


def test_thousands_of_copies_are_one_text(tmp_path: Path) -> None:
    text = " ".join(f"w{n}" for n in range(50))
    with Index(tmp_path / "i", method="minhash") as index:
        index.add(pa.table({"id": list(range(5000)), "text": [text] * 4998 + [text + " more", "else"]}))
        assert [len(cluster) for cluster in index.clusters()] == [4999]
        assert index.crawl_order()[:2] == [0, 4999]


def test_an_empty_index_has_no_neighbours(tmp_path: Path) -> None:
    for method in ("minhash", "simhash"):
        with Index(tmp_path / method, method=method) as index:
            assert index.clusters() == [] and index.crawl_order() == []
            assert index.query("some words of a text") == []
            assert len(index.query_many(["some words of a text"])) == 0
            assert index.check("some words of a text").status == "new"
            if method == "minhash":
                assert index.decide(["some words of a text"])[0][1] == IndexDecision("keep")
                continue
            with pytest.raises(PlanError, match="no document frequencies to weigh by"):
                index.decide(["some words of a text"])
