"""The label store: who gets what, what is settled, what undo does, and what is refused."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import InputError, ParameterError, StorageError
from neardup.labelling import quality
from neardup.labelling.assignment import next_disputed, next_item
from neardup.labelling.settings import LabelSettings
from neardup.labelling.states import settle
from neardup.labelling.store import FOUND, Item, LabelStore, NewPair
from neardup.labelling.suggestion import add_to_pool, suggest
from neardup.labelling.tags import tag_cluster, tagged_clusters, tagged_pairs, undo_tags
from neardup.labelling.transfer import export, import_labels

PAIRS = LabelSettings(scheme="pairs", pair_judges=2, honey_share=0.0)
TEXTS = {name: f"text of {name}" for name in "abcdefgh"}


def make(path: Path, settings: LabelSettings = PAIRS, pairs: str = "ab cd ef") -> LabelStore:
    store = LabelStore(path / "labels.db")
    store.change_settings(settings)
    store.add([NewPair(*pair, 0.5, "spread") for pair in pairs.split()], TEXTS)
    return store


def take(store: LabelStore, judge: str, kind: str = "pair", now: float | None = None) -> Item:
    found = next_item(store, judge, kind, now)
    assert found is not None
    return found


def states(store: LabelStore, kind: str = "pair") -> dict[str, str]:
    return {one.a + one.b: one.state for one in store.items("kind = ?", (kind,))}


@given(st.lists(st.sampled_from("xyz"), max_size=6), st.integers(1, 6))
def test_votes_are_settled_as_the_protocol_says(votes: list[str], needed: int) -> None:
    state, answer = settle(votes, needed, "unanimous")
    majority, by_majority = settle(votes, needed, "majority")
    if len(votes) < needed:
        assert state == majority == "open"
        return
    top = Counter(votes).most_common(1)[0]
    assert (state, answer) == (("agreed", votes[0]) if len(set(votes)) == 1 else ("disputed", None))
    assert (majority, by_majority) == (("agreed", top[0]) if 2 * top[1] > len(votes) else ("disputed", None))


def test_judges_get_items_that_others_began_and_no_item_twice(tmp_path: Path) -> None:
    store = make(tmp_path)
    first = take(store, "ann")
    assert take(store, "ann") == first  # a page that is loaded again
    assert take(store, "bob") == first and take(store, "eva").a == "c"  # two have the first one
    store.judge(first.item, "ann", "duplicate")
    assert take(store, "ann").a == "c"
    assert states(store) == {"ab": "open", "cd": "open", "ef": "open"}
    store.judge(first.item, "bob", "near")
    assert states(store)["ab"] == "disputed"
    with pytest.raises(InputError, match="You have judged this item"):
        store.judge(first.item, "bob", "duplicate")
    with pytest.raises(InputError, match="not stored"):
        store.judge(first.item, "eva", "duplicate")
    settled = next_disputed(store, "eva")
    assert settled == store.item(first.item) and next_disputed(store, "joe") is None
    store.judge(first.item, "eva", "near", "adjudicator")
    assert store.item(first.item).answer == "near" and next_disputed(store, "joe") is None


def test_a_lease_expires(tmp_path: Path) -> None:
    store = make(
        tmp_path, LabelSettings(scheme="pairs", pair_judges=1, honey_share=0.0, lease_seconds=60), "ab"
    )
    late = take(store, "ann", now=1000.0)
    assert next_item(store, "bob", "pair", now=1059.0) is None
    assert take(store, "bob", now=1061.0) == late
    store.judge(late.item, "bob", "duplicate", at=1062.0)
    with pytest.raises(InputError, match="Others have judged"):
        store.judge(late.item, "ann", "near", at=1063.0)
    assert store.item(late.item).answer == "duplicate"


def test_undo_gives_the_item_back_and_keeps_the_record(tmp_path: Path) -> None:
    store = make(tmp_path)
    item = take(store, "ann")
    store.judge(item.item, "ann", "duplicate")
    assert store.undo("ann") == item.item and store.undo("ann") is None
    assert take(store, "ann") == item and store.item(item.item).judged == 0
    store.judge(item.item, "ann", "near")
    assert [row[0] for row in store.rows("SELECT answer FROM judgements ORDER BY seq")] == [
        "duplicate", "duplicate", "near",
    ]  # fmt: skip
    with pytest.raises(sqlite3.IntegrityError, match="only added"):
        store.rows("DELETE FROM judgements")


def test_a_skipped_item_goes_to_others(tmp_path: Path) -> None:
    store = make(tmp_path, PAIRS, "ab")
    store.judge(take(store, "ann").item, "ann", "skip")
    assert next_item(store, "ann", "pair") is None and take(store, "bob").judged == 0


def test_two_phases(tmp_path: Path) -> None:
    store = make(tmp_path, LabelSettings(honey_share=0.0), "ab cd")
    assert states(store) == {"ab": "waiting", "cd": "waiting"} and next_item(store, "ann", "pair") is None
    for judge in ("ann", "bob"):
        for _ in "abcd":
            one = take(store, judge, "document")
            said = "no" if one.a == "c" or (one.a == "b" and judge == "bob") else "yes"
            store.judge(one.item, judge, said)
    assert states(store, "document") == {"a": "agreed", "b": "disputed", "c": "agreed", "d": "agreed"}
    assert states(store) == {"ab": "waiting", "cd": "excluded"}
    store.judge(next_disputed(store, "eva").item, "eva", "yes", "adjudicator")  # type: ignore[union-attr]
    assert states(store)["ab"] == "open"
    store.undo("eva", "adjudicator")
    assert states(store)["ab"] == "waiting"


@given(st.integers(0, 10_000))
def test_however_judges_take_turns_items_get_what_they_need(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = random.Random(seed)
    store = make(tmp_path_factory.mktemp("turns"))
    lent: dict[str, Item] = {}
    for _ in range(60):
        judge = rng.choice(["ann", "bob", "eva", "joe"])
        if judge in lent and rng.random() < 0.7:
            store.judge(lent.pop(judge).item, judge, rng.choice(["duplicate", "near"]))
        elif rng.random() < 0.1:
            lent.pop(judge, None)
            if (back := store.undo(judge)) is not None:
                lent[judge] = store.item(back)
        elif (found := next_item(store, judge, "pair")) is not None:
            lent[judge] = found
    for item in store.items():
        holders = sum(one.item == item.item for one in lent.values())
        assert item.judged <= 2 and (holders + item.judged <= 2 or item.state != "open")
    store.close()


def test_settings_are_checked() -> None:
    for name, value in (("scheme", "three"), ("pair_judges", 0), ("honey_share", 0.9), ("lease_seconds", 1)):
        with pytest.raises(ParameterError):
            LabelSettings(**{name: value})
    assert LabelSettings.from_json(LabelSettings(pair_judges=5).to_json()) == LabelSettings(pair_judges=5)
    with pytest.raises(ParameterError, match="a number"):
        LabelSettings().with_texts({"pair_judges": "many"})


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.db").write_text("no database, but a text that is longer than a header" * 20)
    with pytest.raises(StorageError, match="cannot be used"):
        LabelStore(tmp_path / "labels.db")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE x (y)").connection.commit()
    with pytest.raises(StorageError, match="no store of labels"):
        LabelStore(tmp_path / "other.db")


def test_import_leaves_bad_records_out_and_says_so(tmp_path: Path) -> None:
    store = make(tmp_path)
    rows = [
        "a,b,duplicate,ann",
        "b,a,near,bob",
        "c,d,often,",
        "e,x,duplicate,",
        "e,e,near,",
        "g,h,Non-duplicate,",
        "c,e,,",
    ]
    (tmp_path / "in.csv").write_text("id_a,id_b,label,rater\n" + "\n".join(rows) + "\n")
    texts = {name: text for name, text in TEXTS.items() if name in "abcdefgh"}
    done = import_labels(
        store, tmp_path / "in.csv", lambda ids: ({id: texts[id] for id in ids if id in texts}, {})
    )
    assert (done.judgements, done.labels, done.unlabelled) == (2, 1, 1)
    assert [line.split(": ", 1)[0].rpartition(" ")[2] for line in done.problems] == ["3", "4", "5"]
    assert "no document has the id 'x'" in done.problems[1] and "with itself" in done.problems[2]
    assert states(store) | {"ab": "disputed", "gh": "adjudicated", "ce": "open"} == states(store)
    table = export(store, "pairs").to_pylist()
    assert [(row["id_a"], row["id_b"], row["label"]) for row in table] == [("g", "h", "different")]
    assert export(store, "judgements").column("rater").to_pylist() == ["ann", "bob"]


def test_containment_keeps_its_direction(tmp_path: Path) -> None:
    store = make(tmp_path)
    (tmp_path / "in.csv").write_text("id_a,id_b,label,has_more\nb,a,containment,a\nc,d,b contains a,\n")
    import_labels(store, tmp_path / "in.csv", lambda ids: ({}, {}))
    assert {row["id_a"]: row["has_more"] for row in export(store, "pairs").to_pylist()} == {
        "a": "b",
        "c": "b",
    }


def test_clusters_tagged_at_once(tmp_path: Path) -> None:
    store = make(tmp_path)
    tag_cluster(store, "one", {"a": "same", "b": "same", "c": "apart"}, "ann")
    tag_cluster(store, "two", {"d": "irrelevant", "e": "irrelevant"}, "ann")
    assert tagged_pairs(store) == {("a", "b"): True, ("a", "c"): False, ("b", "c"): False}
    rows = export(store, "clusters").to_pylist()
    assert {row["id"]: row["cluster"] for row in rows} == {
        "a": "one", "b": "one", "c": "one: c", "d": "irrelevant", "e": "irrelevant",
    }  # fmt: skip
    assert undo_tags(store, "ann") == "two" and set(tagged_clusters(store)) == {"one"}
    with pytest.raises(InputError, match="a tag must be"):
        tag_cluster(store, "one", {"a": "perhaps"}, "ann")


def test_precision_of_found_pairs_has_wilsons_interval(tmp_path: Path) -> None:
    store = make(tmp_path, LabelSettings(scheme="pairs", pair_judges=1, honey_share=0.0), "")
    assert quality.precision(store) is None
    store.add([NewPair("a", "b", 0.9, "spread")], TEXTS)
    assert store.add([NewPair(*pair, 0.9, FOUND) for pair in "ab ac ad ae".split()], TEXTS) == 3
    for answer in ("duplicate", "containment a", "near", "broken"):
        store.judge(take(store, "ann").item, "ann", answer)
    found = quality.precision(store)
    assert found is not None and (found.precision, found.judged, found.unclear) == (2 / 3, 3, 1)
    z2, p = 1.959964**2, 2 / 3
    half = (z2 / 3 * p * (1 - p) + (z2 / 6) ** 2) ** 0.5
    low, high = ((p + z2 / 6 + sign * half) / (1 + z2 / 3) for sign in (-1, 1))
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(low, abs=1e-4),
        pytest.approx(high, abs=1e-4),
    )


def test_suggestions_are_uncertain_spread_and_of_different_documents(tmp_path: Path) -> None:
    store = make(tmp_path, PAIRS, "")
    names = [f"d{k:02}" for k in range(40)]
    pool = [NewPair(names[2 * k], names[2 * k + 1], k / 20, "spread") for k in range(20)]
    pool += [NewPair(names[0], names[k], 0.69, "spread") for k in range(2, 40)]
    add_to_pool(store, pool)
    found = suggest(store, 6, 0.7)
    used = [end for one in found for end in (one.a, one.b)]
    assert len(found) == 6 and len(set(used)) == 12
    values = [one.similarity or 0 for one in found]
    assert min(abs(value - 0.7) for value in values) < 0.02 and max(values) - min(values) > 0.3
