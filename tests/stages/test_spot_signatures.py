"""Spot signatures as the paper has them (Theobald et al., SpotSigs, section 3), and what their parameters may be."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import naive
from neardup.columns import Texts
from neardup.errors import InputError, ParameterError
from neardup.features.antecedents import PRESETS, parse_antecedents
from neardup.features.shingles import factors
from neardup.features.spots import Spots
from neardup.text.stopwords import languages, read_words, stop_words
from neardup.text.words import Words, hash_words

RALLY = (
    "At a rally to kick off a weeklong campaign for the South Carolina primary, Obama tried to set the record "
    "straight from an attack circulating widely on the Internet that is designed to play into prejudices against "
    "Muslims and fears of terrorism."
)


def signatures(text: str, spots: Spots) -> list[int]:
    return spots(Words()(Texts.from_strings([text]))).hashes.tolist()


def written(*names: str) -> list[int]:
    """The hashes of signatures in the paper's notation, antecedent:word:word."""
    found = []
    for name in names:
        words = [naive.hash_token(word.encode()) for word in name.split(":")]
        found += naive.shingle(words, factors(len(words)).tolist())
    return found


def test_the_example_of_section_3_2_to_the_letter() -> None:
    assert signatures(RALLY, Spots("example", distance=1, chain=2)) == written(
        "a:rally:kick",
        "a:weeklong:campaign",
        "the:south:carolina",
        "the:record:straight",
        "an:attack:circulating",
        "the:internet:designed",
        "is:designed:play",
    )


def test_a_text_without_antecedents_has_no_signature() -> None:
    assert signatures("NASDAQ 2,301.45 up 0.4% Dow Jones 10,302.99 down 0.1%", Spots()) == []
    assert signatures("", Spots()) == []


def test_distance_2_takes_the_second_fourth_and_sixth_word() -> None:
    text = "the w1 w2 w3 w4 w5 w6 w7"
    assert signatures(text, Spots("the", stopwords=())) == written("the:w2:w4:w6")


def test_a_stop_word_moves_the_chain_on_and_counting_goes_on_from_there() -> None:
    text = "the w1 of w3 w4 and w6 w7 w8"
    assert signatures(text, Spots("the", stopwords=("the", "of", "and"))) == written("the:w3:w6:w8")


def test_chains_are_cut_off_at_the_end_and_may_overlap() -> None:
    spots = Spots("the", distance=1, chain=3, stopwords=("the",))
    assert signatures("the red the green", spots) == written("the:red:green", "the:green")
    assert signatures("the red the", spots) == written("the:red"), "no word behind it: no signature"
    assert signatures("red the the", spots) == []


def test_several_specifications_at_once() -> None:
    text = "is w1 w2 w3 that w5 w6 w7 w8 w9 w10 w11 w12 w13 w14"
    spots = Spots("is(3,1), that(5,2), is(2,1)", stopwords=("is", "that"))
    assert signatures(text, spots) == written("is:w2", "is:w3", "that:w9:w14")


def test_one_entry_per_occurrence() -> None:
    spots = Spots("the", distance=1, chain=1)
    assert signatures("the cat the cat", spots) == written("the:cat", "the:cat")


def test_words_of_the_lists_match_whatever_their_case() -> None:
    assert signatures("The Cat", Spots("THE,", distance=1)) == signatures("the cat", Spots("the", distance=1))


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "pt", "nl"])
def test_languages_have_stop_words(language: str) -> None:
    assert language in languages()
    assert len(stop_words(language)) > 100
    assert {*stop_words("en"), *stop_words(language)} == {*stop_words(f"en+{language}")}
    text = " ".join(word for word in stop_words(language) if word.isalpha())
    assert signatures(text, Spots("stopwords", stopwords=language)) == [], "no content word anywhere"


def test_the_presets_are_the_sets_of_the_papers() -> None:
    assert {"a", "an", "the", "is", "were", "could", "would", "having", "done"} <= {*PRESETS["paper"]}
    assert PRESETS["is_the_said_was_there_a_it"] == ("is", "the", "said", "was", "there", "a", "it")
    assert PRESETS["the_a_can_be_will_have_do"] == ("the", "a", "can", "be", "will", "have", "do")
    rows_of_table_5 = [name for name in PRESETS if name not in ("paper", "example")]
    assert len(rows_of_table_5) == 10
    for name in PRESETS:
        assert signatures(
            f"{RALLY} The cat said it was there and can be what you will have to do.", Spots(name)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"antecedents": "papre"}, "one of 'paper', 'example', 'is', 'the'"),
        ({"antecedents": ()}, "at least one word"),
        ({"antecedents": " , "}, "specifications like"),
        ({"antecedents": "is(3)"}, "specifications like"),
        ({"antecedents": "is(0,1)"}, "'distance' parameter of spots must be a whole number from 1"),
        ({"antecedents": "is(1,x)"}, "'chain' parameter of spots must be a whole number from 1"),
        ({"antecedents": "is that"}, "separated by commas"),
        ({"antecedents": ",".join(f"is({i},1)" for i in range(1, 40))}, "at most 31 different pairs"),
        ({"distance": 0}, "'distance' parameter"),
        ({"chain": 0}, "'chain' parameter"),
        ({"chain": 2.5}, "'chain' parameter"),
        ({"stopwords": "xx"}, "a language code of af, ar"),
        ({"stopwords": ("as well",)}, "single words"),
    ],
)
def test_bad_parameters_are_refused_at_once(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        Spots(**options)


def test_a_list_of_ones_own_is_told_what_is_left_out() -> None:
    with pytest.warns(UserWarning, match="include 'as well', which are not single words"):
        spots = Spots("the", distance=1, chain=1, stopwords=("as well", "a"))
    assert signatures("the a cat", spots) == written("the:cat")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Spots("paper", stopwords="fr")


def test_specifications_are_read_with_their_defaults() -> None:
    assert parse_antecedents("is(3,1), that (5, 2) ,the,", 2, 3, ()) == (
        ("is", 3, 1),
        ("that", 5, 2),
        ("the", 2, 3),
    )
    assert parse_antecedents(("is", "is"), 1, 1, ()) == (("is", 1, 1),)


def test_parameters_travel_as_json() -> None:
    spots = Spots(("is", "the(1,2)"), stopwords=("a", "b"))
    values = json.loads(json.dumps([spots.antecedents, spots.distance, spots.chain, spots.stopwords]))
    assert Spots(*(tuple(v) if isinstance(v, list) else v for v in values)) == spots


def test_words_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("is, the # remark\n\n# nothing\nthe\nover\n", encoding="utf-8")
    assert read_words(path) == ("is", "the", "over")
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no words"):
        read_words(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_words(tmp_path / "absent.txt")


def test_hashes_of_words_are_those_of_tokens() -> None:
    hashes, dropped = hash_words(["the", "The", "can't", "as well", ""])
    assert dropped == ("can't", "as well", "")
    tokens = {naive.hash_token(b"the"), naive.hash_token(b"can't")}
    assert {*hashes.tolist()} == tokens
    assert hashes.dtype == np.uint64
    assert hash_words([])[0].tolist() == []
