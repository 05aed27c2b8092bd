"""Documents without a token: all stay, none, or the best one by the keep policy."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from neardup.cli.support.show import summary
from neardup.errors import ParameterError

EMPTY = ["", "…", "  ", "!!!!"]
TEXTS = st.lists(st.sampled_from([*EMPTY, "one two three", "one two three", "four five", "six"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    TEXTS,
    st.sampled_from(["keep", "remove", "one"]),
    st.sampled_from(["longest", "shortest", "first", "last"]),
)
def test_against_a_plain_choice(texts, empty, keep):
    if not texts:
        return
    result = neardup.dedup(texts, empty=empty, keep=keep, ngram=1)
    places = [place for place, text in enumerate(texts) if not any(c.isalnum() for c in text)]
    # Ids are the places; ties go to the smaller one.
    best = {
        "longest": lambda place: (-len(texts[place]), place),
        "shortest": lambda place: (len(texts[place]), place),
        "first": lambda place: (place, 0),
        "last": lambda place: (-place, 0),
    }[keep]
    stays = {"keep": places, "remove": [], "one": sorted(places, key=best)[:1]}[empty]
    rows = result.annotations.to_pylist()
    assert [place for place in places if rows[place]["keep"]] == sorted(stays)
    gone = [place for place in places if place not in stays]
    for place in gone:
        other = stays[0] if stays else None
        assert (rows[place]["evidence"], rows[place]["duplicate_of"]) == ("empty", other)
        assert rows[place]["similarity"] is None and rows[place]["cluster"] is None
    report = result.report
    assert (report["without_tokens"], report["removals"]["empty"]) == (len(places), len(gone))
    assert report["removed"] == sum(not row["keep"] for row in rows) == len(result.removed)
    usual = neardup.dedup(texts, keep=keep, ngram=1)
    assert result.clusters.equals(usual.clusters)
    if places:
        outcome = {
            "keep": "kept, never matched",
            "remove": "removed (--empty remove)",
            "one": f"1 kept, {len(gone)} removed (--empty one)",
        }[empty]
        assert f"no tokens: {outcome}" in summary(report, None, 1.0)


@pytest.mark.parametrize("format", ["jsonl", "parquet", "csv"])
def test_removed_rows_say_why(format, tmp_path):
    source = tmp_path / "a.jsonl"
    rows = [{"id": name, "text": text} for name, text in (("a", "x y z"), ("b", ""), ("c", "?"))]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    neardup.dedup(source, empty="remove").write(tmp_path / "out", format=format)
    path = tmp_path / f"out/removed.{format}"
    if format == "csv":
        assert path.read_text().splitlines()[1:] == ["b,,,,,empty", "c,?,,,,empty"]
        return
    found = pq.read_table(path).to_pylist() if format == "parquet" else list(map(json.loads, path.open()))
    added = {"duplicate_of": None, "similarity": None, "relation": None, "evidence": "empty"}
    assert found == [row | added for row in rows[1:]]


def test_another_threshold_decides_on_empty_documents_too():
    result = neardup.dedup(["", "", "a b c"], empty="one").rethreshold(0.9)
    assert (result.report["removed"], result.report["removals"]["empty"]) == (1, 1)


def test_the_policy_is_part_of_the_plan():
    plans = [neardup.make_plan(empty=name) for name in ("keep", "remove", "one")]
    assert len({plan.digest for plan in plans}) == 3 and neardup.make_plan() == plans[0]
    assert [neardup.Plan.from_json(plan.to_json()) for plan in plans] == plans
    with pytest.raises(ParameterError, match=r"'empty'.*'keep', 'remove', 'one'"):
        neardup.make_plan(empty="two")
