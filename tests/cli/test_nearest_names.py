"""A misspelt name is answered with the nearest known one; a word that is near none is not."""

from __future__ import annotations

import pytest
from commands import refused, shown

import neardup


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["dedup", "in.jsonl", "-o", "out", "--method", "minhsh"], "minhash"),
        (["dedup", "in.jsonl", "-o", "out", "--preset", "finweb"], "fineweb"),
        (["dedup", "in.jsonl", "-o", "out", "--unit", "sentense:3"], "sentence"),
        (["dedup", "in.jsonl", "-o", "out", "--keep", "pririty:source=wire"], "priority"),
        (["dedup", "in.jsonl", "-o", "out", "--keep", "Longest"], "longest"),
        (["dedup", "in.jsonl", "-o", "out", "--clusters", "averge"], "average"),
        (["dedup", "in.jsonl", "-o", "out", "--format", "jsnl"], "jsonl"),
        (["dedup", "in.jsonl", "-o", "out", "--verify", "exct"], "exact"),
        (["dedup", "in.jsonl", "-o", "out", "--engine", "sprak"], "spark"),
        (["dedup", "in.jsonl", "-o", "out", "--normalize", "accent"], "accents"),
        (["dedup", "in.jsonl", "-o", "out", "--treshold", "0.7"], "threshold"),
        (["methods", "simhsah"], "simhash"),
        (["dedpu", "in.jsonl"], "dedup"),
    ],
    ids=shown,
)
def test_the_nearest_name_is_asked_for(words, nearest):
    said = refused(*words)
    assert "id you mean" in said and nearest in said.partition("id you mean")[2]


@pytest.mark.parametrize("word", ["zebra", "", "x" * 1_000_000, "\x1b[31m"], ids=len)
def test_a_word_that_is_near_none_is_not_guessed(word):
    assert "Did you mean" not in refused("dedup", "in.jsonl", "-o", "out", "--method", word)


def test_the_library_asks_too():
    with pytest.raises(neardup.errors.ParameterError, match=r"Did you mean 'minhash'\?"):
        neardup.make_plan("mihash")
    with pytest.raises(neardup.errors.ParameterError, match=r"Did you mean 'threshold'\?"):
        neardup.make_plan("minhash", treshold=0.5)
