"""Which document of a cluster stays, and what is recorded about those that go."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from email.utils import format_datetime

import oracle
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from corpora import CERTAIN, SOME, collections, thresholds
from neardup.errors import InputError, ParameterError

WORTH = {
    "longest": lambda texts, ids: lambda x: (-len(texts[x]), ids[x]),
    "shortest": lambda texts, ids: lambda x: (len(texts[x]), ids[x]),
    "first": lambda texts, ids: lambda x: x,
    "last": lambda texts, ids: lambda x: -x,
}


def as_float(value):
    return None if value is None else float(value)


@st.composite
def identified(draw):
    """Texts with ids that are not in the order of the texts."""
    texts = draw(collections)
    numbers = draw(st.permutations(range(len(texts))))
    kind = draw(st.sampled_from([int, lambda k: f"d{k}"]))
    return texts, [kind(number) for number in numbers]


@SOME
@given(
    identified(),
    thresholds,
    st.sampled_from(sorted(WORTH)),
    st.integers(1, 3),
    st.sampled_from(["components", "leaders"]),
)
def test_every_decision_is_the_one_of_the_policy(documents, threshold, keep, count, clusters):
    texts, ids = documents
    result = neardup.dedup(
        pa.table({"id": ids, "text": texts}),
        keep=keep,
        keep_count=count,
        clusters=clusters,
        pairs="all",
        threshold=float(threshold),
        ngram=2,
        **CERTAIN,
    )
    truth = oracle.Truth(result.plan, texts, threshold, 2)
    worth = WORTH[keep](texts, ids)
    groups = truth.clusters() if clusters == "components" else truth.led_clusters(worth)
    expected = truth.decisions(groups, worth, count, lambda x: ids[x])
    number = {name: x for x, name in enumerate(ids)}
    found = {number[row["id"]]: row for row in result.clusters.to_pylist()}
    assert found.keys() == expected.keys()
    for x, decision in expected.items():
        row = found[x]
        assert row["cluster"] == ids[decision.cluster]
        assert row["leader"] == ids[decision.leader]
        assert row["keep"] == decision.keep
        assert row["duplicate_of"] == (None if decision.duplicate_of is None else ids[decision.duplicate_of])
        assert row["similarity"] == as_float(decision.similarity)
        assert row["containment"] == as_float(decision.containment)
        assert row["size"] == decision.size
    gone = {x for x, decision in expected.items() if not decision.keep}
    assert result.removed["id"].to_pylist() == [ids[x] for x in sorted(gone)], "in the order of the input"
    assert result.kept["id"].to_pylist() == [ids[x] for x in range(len(ids)) if x not in gone]


# --- no document at all ---------------------------------------------------------------------------------------


@SOME
@given(identified(), thresholds)
def test_none_removes_every_document_of_a_verified_pair(documents, threshold):
    """Each for a near-duplicate of its own, which is removed as well."""
    texts, ids = documents
    how = {"threshold": float(threshold), "ngram": 2, **CERTAIN}
    result = neardup.dedup(pa.table({"id": ids, "text": texts}), keep="none", **how)
    every = neardup.pairs(pa.table({"id": ids, "text": texts}), **how)
    paired = {name for side in ("left", "right") for name in every[side].to_pylist()}
    gone = set(result.removed["id"].to_pylist())
    assert gone == paired
    for row in result.clusters.to_pylist():
        assert not row["keep"] and row["duplicate_of"] in gone - {row["id"]}
        assert row["evidence"] in ("copy", "direct") and row["similarity"] >= float(threshold)
    assert result.report["removals"]["by_chain"] == 0


def test_none_removes_the_end_of_a_chain():
    """The last version is near the second only, which leaders take for the first one's."""
    texts = ["a b c d e f g h i j", "a b c d e f g h k l", "a b c d e k l m n o"]
    how = {"ngram": 1, "threshold": 0.5, "keep": "none"}
    assert neardup.dedup(texts, ngram=1, threshold=0.5, keep="first").report["removed"] == 1
    result = neardup.dedup(texts, **how)
    assert [row["duplicate_of"] for row in sorted(result.clusters.to_pylist(), key=lambda row: row["id"])] == [
        1, 0, 1
    ]  # fmt: skip
    assert neardup.make_plan("cosine", keep="none").clustering.kind == "components", "not average linkage"


@pytest.mark.parametrize("clusters", ["leaders", "average", "complete"])
def test_none_refuses_a_clustering_that_keeps_some(clusters):
    with pytest.raises(ParameterError, match="'components' or omitted with keep=none"):
        neardup.dedup(["a b", "a c"], keep="none", clusters=clusters)


def decide(keep, count=1, **columns):
    """The ids that stay of one cluster of copies, named a, b, c …, with these columns."""
    size = len(next(iter(columns.values())))
    names = list("abcdefghij"[:size])
    result = neardup.dedup(
        pa.table({"id": names, "text": ["the same text"] * size, **columns}), keep=keep, keep_count=count
    )
    return result.kept["id"].to_pylist(), result


def best(keep, **columns):
    kept, _ = decide(keep, **columns)
    assert len(kept) == 1
    return kept[0]


# --- dates ---------------------------------------------------------------------------------------------------

MOMENTS = [
    datetime(2021, 5, 1, 12, tzinfo=UTC),
    datetime(2023, 1, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1999, 12, 31, tzinfo=UTC),
    datetime(2023, 2, 1, tzinfo=UTC),
]
FORMS = {
    "ISO 8601": [moment.isoformat() for moment in MOMENTS],
    "ISO 8601 with Z": [moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in MOMENTS],
    "ISO 8601 with a space": [moment.strftime("%Y-%m-%d %H:%M:%S") for moment in MOMENTS],
    "other zones": [
        moment.astimezone(timezone(timedelta(hours=hours))).isoformat()
        for moment, hours in zip(MOMENTS, (9, -11, 0, 12), strict=True)
    ],
    "mail": [format_datetime(moment) for moment in MOMENTS],
    "white space": [f"  {moment.isoformat()}\n" for moment in MOMENTS],
    "Unix time": [int(moment.timestamp()) for moment in MOMENTS],
    "Unix time with a fraction": [moment.timestamp() + 0.5 for moment in MOMENTS],
    "Unix time as text": [str(int(moment.timestamp())) for moment in MOMENTS],
    "timestamps": pa.array(MOMENTS, pa.timestamp("us", tz="Asia/Tokyo")),
    "timestamps without a zone": pa.array([m.replace(tzinfo=None) for m in MOMENTS], pa.timestamp("s")),
    "nanoseconds": pa.array(MOMENTS, pa.timestamp("ns", tz="UTC")),
    "dates": pa.array([moment.date() for moment in MOMENTS], pa.date32()),
    "dates of another width": pa.array([moment.date() for moment in MOMENTS], pa.date64()),
    "a dictionary": pa.array([moment.isoformat() for moment in MOMENTS]).dictionary_encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_newest_and_oldest_read_every_common_form_of_a_date(form):
    assert best("newest:when", when=FORMS[form]) == "d"
    assert best("oldest:when", when=FORMS[form]) == "c"


def test_forms_may_be_mixed_in_one_column():
    mixed = ["2020-06-01", "Mon, 1 Jun 2021 00:00:00 +0000", "1000000000"]
    assert best("newest:when", when=mixed) == "b"
    assert best("oldest:when", when=mixed) == "c"


@pytest.mark.parametrize("keep", ["newest:when", "oldest:when", "highest:when", "lowest:when"])
def test_a_missing_value_comes_last_and_is_no_problem(keep):
    kept, result = decide(keep, when=pa.array([None, 7, None], pa.int64()))
    assert kept == ["b"]
    assert result.report["problems"]["total"] == 0


@pytest.mark.parametrize("keep, kind", [("newest:when", "a date"), ("lowest:when", "a number")])
def test_a_value_that_cannot_be_read_comes_last_and_is_counted(keep, kind):
    kept, result = decide(keep, when=["soon", "1234", "", "yesterday"])
    assert kept == ["b"]
    problems = result.report["problems"]
    assert problems["total"] == 1
    assert f"3 values are not {kind}" in problems["first"][0]["reason"]


def test_a_strict_run_stops_at_values_that_cannot_be_read():
    table = pa.table({"text": ["same", "same"], "when": ["soon", "later"]})
    with pytest.raises(InputError, match="2 values are not a date"):
        neardup.dedup(table, keep="newest:when", strict=True)


def test_where_no_value_can_be_read_the_id_decides():
    assert best("newest:when", when=["soon", "later"]) == "a"


ODD_DATES = [
    "1 Jan 99999999999999999999 00:00:00",
    "Mon, 99 Jan 2020 99:99:99 +9999",
    "0000-00-00",
    "9999-12-31T23:59:59+14:00",
    "0001-01-01T00:00:00-14:00",
    "2020-W53-7",
    "12/31/2020",
    "\x00",
    "−1",
    "1e400",
    "nan",
    "9" * 5000,
    "Thu, 1 Jan 1970 00:00:00 -9999999999",
]


@pytest.mark.parametrize("value", ODD_DATES, ids=lambda value: repr(value)[:30])
def test_an_odd_date_does_not_end_the_run(value):
    kept, _ = decide("newest:when", when=[value, value])
    assert kept == ["a"]


@SOME
@given(
    st.lists(st.text(max_size=20) | st.datetimes().map(str) | st.floats().map(str), min_size=1, max_size=5),
    st.sampled_from(["newest:when", "oldest:when", "highest:when"]),
)
def test_no_text_in_a_date_column_ends_the_run(values, keep):
    kept, _ = decide(keep, when=values)
    assert len(kept) == 1


# --- numbers -------------------------------------------------------------------------------------------------

NUMBERS = {
    "integers": [3, 9, -5, 0],
    "floats": [3.5, 9.25, -5.0, 0.0],
    "texts": ["3", "9e0", "-5.0", "0"],
    "decimals": [Decimal("3.1"), Decimal("9.9"), Decimal("-5.5"), Decimal("0.0")],
    "small": pa.array([3, 9, -5, 0], pa.int8()),
    "infinite": [0.0, float("inf"), float("-inf"), 1.0],
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_highest_and_lowest(kind):
    assert best("highest:score", score=NUMBERS[kind]) == "b"
    assert best("lowest:score", score=NUMBERS[kind]) == "c"


def test_large_integers_are_told_apart():
    """Ids by time, or nanoseconds since 1970, do not fit in the 53 bits of a float."""
    base = 1_700_000_000_000_000_000
    assert best("highest:score", score=[base, base + 2, base + 1]) == "b"
    assert best("lowest:score", score=[base + 2, base + 1, base]) == "c"


# --- priority ------------------------------------------------------------------------------------------------


def test_priority_follows_the_order_given_and_what_is_not_named_comes_last():
    assert best("priority:source=wire,blog", source=["forum", "blog", "wire", None]) == "c"
    assert best("priority:source=wire,blog", source=["forum", "blog", "mirror", None]) == "b"
    assert best("priority:source=wire,blog", source=["forum", "zine", None]) == "a"


def test_priority_of_numbers_and_with_spaces():
    assert best("priority:rank=2, 1", rank=[1, 3, 2]) == "c"


def test_priority_of_truth_values():
    assert best("priority:checked=true,false", checked=[False, True]) == "b"


# --- ties, counts, and all of them ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keep", ["longest", "shortest", "none", "newest:x", "oldest:x", "highest:x", "lowest:x", "priority:x=1"]
)
def test_ties_are_broken_by_id(keep):
    table = pa.table({"id": ["b", "a", "c"], "text": ["same"] * 3, "x": [1, 1, 1]})
    result = neardup.dedup(table, keep=keep)
    assert set(result.clusters["leader"].to_pylist()) == {"a"}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_so_many_of_a_cluster_stay(count):
    kept, result = decide("highest:score", count, score=[5, 1, 4, 2])
    assert kept == sorted("acdb"[:count])
    removed = [row for row in result.clusters.to_pylist() if not row["keep"]]
    assert {row["duplicate_of"] for row in removed} <= {"a"}, "what goes duplicates the best"


def test_none_stay():
    kept, result = decide("none", score=[1, 2, 3])
    assert kept == [] and result.report["kept"] == 0
    others = {row["id"]: row["duplicate_of"] for row in result.clusters.to_pylist()}
    assert others == {"a": "b", "b": "a", "c": "a"}, "even the best one names another"


def test_lengths_are_of_characters_not_of_bytes():
    """Two Japanese characters are more bytes than four English ones."""
    base = " ".join(f"w{k}" for k in range(30))
    texts = [f"{base} 猫犬", f"{base} cats"]
    assert len(texts[0]) < len(texts[1]) and len(texts[0].encode()) > len(texts[1].encode())
    assert neardup.dedup(texts, keep="longest").kept == [texts[1]]
    assert neardup.dedup(texts, keep="shortest").kept == [texts[0]]


# --- what is recorded about those that go ---------------------------------------------------------------------


def test_similarity_with_the_kept_document_is_measured_even_below_the_threshold():
    """The ends of a chain are one cluster by way of its middle; what they share with each other is said."""
    chain = ["a b c d e f g h i j k", "c d e f g h i j k l", "e f g h i j k l m n"]
    result = neardup.dedup(chain, threshold=0.6, ngram=1, clusters="components", **CERTAIN)
    truth = oracle.Truth(result.plan, chain, "0.6", 1)
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    assert rows[2]["duplicate_of"] == 0
    assert rows[2]["similarity"] == float(truth.similarity(0, 2)) < 0.6
    assert rows[2]["containment"] == float(truth.containment(0, 2))
    pairs = {(row["left"], row["right"]) for row in result.pairs.to_pylist()}
    assert pairs == {(0, 1), (1, 2)}, "and it is no pair"


def test_a_long_chain_has_the_similarity_of_every_member_with_the_kept_one():
    words = [f"w{k}" for k in range(60)]
    chain = [" ".join(words[2 * k : 2 * k + 20]) for k in range(20)]
    result = neardup.dedup(chain, threshold=0.8, ngram=1, keep="first", clusters="components", **CERTAIN)
    assert result.report["clusters"] == 1 and len(chain) > result.plan.clustering.complete
    truth = oracle.Truth(result.plan, chain, "0.8", 1)
    for row in result.clusters.to_pylist():
        if row["id"]:
            assert row["duplicate_of"] == 0
            assert row["similarity"] == float(truth.similarity(0, row["id"]))
            assert row["containment"] == float(truth.containment(0, row["id"]))
    assert 0.0 in result.clusters["similarity"].to_pylist(), "the far end shares nothing with the beginning"


# --- what cannot be asked for ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keep",
    [
        "",
        "best",
        "newest",
        "newest:",
        "first:size",
        "priority:source",
        "priority:source=",
        "newest:a=b",
        ":",
    ],
)
def test_a_policy_that_is_none(keep):
    with pytest.raises(ParameterError, match="'keep' parameter of dedup must be one of longest, shortest"):
        neardup.make_plan(keep=keep)


@pytest.mark.parametrize(
    ("keep", "kept"),
    [("shortest:url", "c"), ("longest:url", "a"), ("shortest:number", "b"), ("shortest", "d")],
)
def test_the_length_of_a_value_decides_and_one_that_is_missing_comes_last(keep, kept):
    words = " ".join(f"w{k}" for k in range(100))
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "text": [words + " and more", words + " x", words + " yy", words],
            "url": ["http://h/long", "http://h/b", "h:/", None],
            "number": [100, 7, 12345, None],
        }
    )
    for kind in ("components", "leaders"):
        result = neardup.dedup(table, keep=keep, clusters=kind, threshold=0.5)
        assert result.kept["id"].to_pylist() == [kept]


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_that_is_none(count):
    with pytest.raises(ParameterError, match="'keep_count' parameter of dedup must be a whole number"):
        neardup.make_plan(keep_count=count)


def test_a_column_that_is_not_there():
    with pytest.raises(
        InputError, match="has no column 'when', which --keep asks for; its columns are text, date"
    ):
        neardup.dedup(pa.table({"text": ["a"], "date": [date(2020, 1, 1)]}), keep="newest:when")
