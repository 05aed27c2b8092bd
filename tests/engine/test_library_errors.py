"""What the library cannot do is one sentence, an exception of neardup's, and nothing silently ignored."""

from __future__ import annotations

import pyarrow as pa
import pytest

import neardup
from neardup.errors import InputError, NeardupError, ParameterError, PlanError
from neardup.registry import ALIASES, methods, presets

TEXTS = ["one two three", "four five six"]


@pytest.mark.parametrize(
    "options, sentence",
    [
        (
            {"threshold": 0},
            "The 'threshold' parameter of minhash must be a number above 0 and up to 1. Got 0.0",
        ),
        (
            {"threshold": 1.1},
            "The 'threshold' parameter of minhash must be a number above 0 and up to 1. Got 1.1",
        ),
        ({"threshold": float("nan")}, "The 'threshold' parameter of minhash must be a number above 0"),
        ({"threshold": "0.7"}, "Got '0.7' instead"),
        ({"threshold": None}, "Got None instead"),
        ({"threshold": True}, "Got True instead"),
        ({"ngram": 0}, "The 'ngram' parameter of minhash must be a whole number"),
        ({"ngram": 2.5}, "The 'ngram' parameter of minhash must be a whole number"),
        ({"bands": 0}, "The 'bands' parameter of minhash must be a whole number"),
        ({"seed": -1}, "The 'seed' parameter of minhash must be a whole number"),
        (
            {"tokens": "letters"},
            "must be one of 'words', 'whitespace', 'characters', 'code'. Got 'letters' instead.",
        ),
        ({"verify": "maybe"}, "must be one of 'exact', 'estimate', 'none'. Got 'maybe' instead."),
        ({"treshold": 0.7}, "minhash has no parameter 'treshold': its parameters are bands, ngram"),
        ({"method": "magic"}, "The 'method' parameter of neardup must be one of 'minhash'"),
        ({"preset": "magic"}, "The 'preset' parameter of neardup must be one of 'fineweb'"),
        (
            {"pairs": "some"},
            "The 'pairs' parameter of dedup must be 'clusters' or 'all'. Got 'some' instead.",
        ),
        (
            {"clusters": "piles"},
            "The 'clusters' parameter of dedup must be one of 'leaders', 'components', 'average'",
        ),
        ({"clusters": "average", "verify": "none"}, "must be 'leaders' or 'components' with verify=none"),
        ({"direct_only": "yes"}, "The 'direct_only' parameter of dedup must be true or false"),
        ({"duplicate_ids": "drop"}, "The 'duplicate_ids' parameter of dedup must be 'error' or 'rename'"),
        ({"threads": 0}, "The 'threads' parameter of neardup must be a whole number"),
        ({"format": "docx"}, "The 'format' parameter of neardup must be one of parquet, jsonl"),
        ({"num_perm": 10, "bands": 5, "rows": 3}, "'num_perm'"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_one_sentence(options, sentence):
    with pytest.raises(ParameterError) as caught:
        neardup.dedup(TEXTS, **options)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("The ") and "\n" not in str(caught.value)


@pytest.mark.parametrize("threads", ["2", 1.5])
def test_threads_of_another_type_are_a_bad_parameter(threads):
    with pytest.raises(ParameterError):
        neardup.dedup(TEXTS, threads=threads)


@pytest.mark.parametrize("options", [{"ngram": 10**15}, {"bands": 10**15, "rows": 1}], ids=str)
def test_a_number_that_no_machine_can_hold_is_a_bad_parameter(options):
    with pytest.raises(NeardupError):
        neardup.dedup(TEXTS, **options)


@pytest.mark.parametrize("alias, name", ALIASES.items())
def test_names_of_other_tools_are_understood(alias, name):
    value = {"threshold": 0.5}.get(name, 4)
    assert neardup.make_plan(**{alias: value}) == neardup.make_plan(**{name: value})


def test_two_names_for_one_option_are_refused():
    with pytest.raises(ParameterError):
        neardup.make_plan(threshold=0.5, jaccard_threshold=0.9)


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_its_options(name):
    options = dict(presets(name))
    assert neardup.make_plan(preset=name) == neardup.make_plan(options.pop("method"), **options)
    assert neardup.make_plan(presets(name)["method"], preset=name) == neardup.make_plan(preset=name)


def test_what_is_given_by_hand_wins_over_a_preset():
    plan = neardup.make_plan(preset="fineweb", threshold=0.9, num_bands=10)
    assert (plan.threshold, plan.candidates.groups, plan.candidates.width) == (0.9, 10, 8)


def test_the_public_names_stay_what_they_are():
    assert list(neardup.list_methods()) == list(methods())
    assert {name for name in neardup.__all__ if not hasattr(neardup, name)} == set()


def test_every_method_has_a_summary_and_help_for_every_parameter():
    for method in methods().values():
        assert method.summary
        assert all(parameter.help for parameter in method.parameters.values())


# --- plans ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"threshold": 0.5}, {"method": "minhash"}, {"preset": "fineweb"}], ids=str)
def test_a_plan_is_given_alone(other):
    with pytest.raises(ParameterError, match="'plan' parameter of dedup must be given alone"):
        neardup.dedup(TEXTS, plan=neardup.make_plan(), **other)


@pytest.mark.parametrize(
    "other",
    [{"keep": "first"}, {"keep_count": 2}, {"pairs": "all"}, {"clusters": "leaders"}, {"direct_only": True}],
    ids=str,
)
def test_what_a_plan_decides_is_not_ignored_beside_it(other):
    with pytest.raises(ParameterError):
        neardup.dedup(TEXTS, plan=neardup.make_plan(), **other)


def test_pairs_of_a_plan_are_all_pairs():
    texts = ["one two three four five six"] * 4
    assert len(neardup.pairs(texts, plan=neardup.make_plan())) == 6


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "not json",
        '{"format": 99}',
        '{"format": 1}',
        '{"format": 1, "stage": "os.system"}',
    ],
)
def test_what_is_no_plan(text):
    with pytest.raises(PlanError):
        neardup.Plan.from_json(text)


# --- documents -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["missing.jsonl", "missing/*.jsonl", "missing"])
def test_a_file_that_is_not_there(path, tmp_path):
    with pytest.raises(InputError, match=r"does not exist|no file matches"):
        neardup.dedup(str(tmp_path / path))


@pytest.mark.parametrize("given", [None, 5, len], ids=repr)
def test_something_that_holds_no_documents(given):
    with pytest.raises(InputError):
        neardup.dedup(given)


def test_a_mapping_is_refused():
    with pytest.raises(InputError, match="cannot be read"):
        neardup.dedup({"a": "one two", "b": "one two"})


def test_an_iterable_of_something_else():
    with pytest.raises(InputError, match="must hold strings; item 2 is of type int"):
        neardup.dedup(["one", 2])


@pytest.mark.parametrize(
    "make", [pa.array, lambda texts: pa.chunked_array([texts])], ids=["array", "chunked"]
)
def test_an_arrow_array_of_strings_is_an_iterable_of_strings(make):
    assert neardup.dedup(make([*TEXTS, TEXTS[0]])).kept == TEXTS


def test_a_list_of_paths_with_one_that_is_missing(tmp_path):
    (tmp_path / "a.txt").write_text("one two three")
    with pytest.raises(InputError, match=r"missing\.txt"):
        neardup.dedup([str(tmp_path / "a.txt"), str(tmp_path / "missing.txt")])


def test_a_text_instead_of_a_path_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="does not exist"):
        neardup.dedup("this is a text and not the name of a file")


def test_a_long_text_instead_of_a_path_is_refused_in_a_sentence():
    with pytest.raises(InputError):
        neardup.dedup("this is a text and not the name of a file " * 100)


def test_bytes_hold_no_texts():
    with pytest.raises(InputError, match="cannot be read"):
        neardup.dedup(b"bytes")


def test_a_work_folder_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(NeardupError):
            neardup.dedup(TEXTS, work_dir=folder)
