"""What is known of a k-gram: fields, tags, queries, and features that somebody adds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.columns import Texts
from neardup.errors import InputError, ParameterError
from neardup.features.shingles import Shingles
from neardup.learn.model.file import Model, read_model
from neardup.learn.model.gram_features import compute_features, get_features, gram_features
from neardup.learn.model.grams import GramTable
from neardup.learn.model.queries import pack_queries, unpack_queries
from neardup.learn.model.weight import LearnedWeight, default_features
from neardup.learn.training.data import count_statistics
from neardup.learn.training.query_files import read_queries
from neardup.text.fields import FieldedWords, join_fields
from neardup.text.tagged import TaggedWords
from neardup.text.words import Words


def grams(text: object, *texts: str, **told: object) -> GramTable:
    weight = LearnedWeight(Shingles(1), **told)  # type: ignore[arg-type]
    batch = Texts.from_strings(list(texts))
    tokens = text(batch)  # type: ignore[operator]
    return weight.grams(weight.of(tokens), tokens, count_statistics(batch, weight.counts, text, 1))  # type: ignore[arg-type]


def value(found: GramTable, feature: str, word: str) -> float | None:
    place = np.flatnonzero(found.hashes == Shingles(1)(Words()(Texts.from_strings([word]))).hashes[0])
    return float(compute_features(found, [feature])[place[0], 0]) if len(place) else None


def fielded() -> GramTable:
    columns = ("Subject", "url")
    page = join_fields(
        "many words of a text about prices", ["Prices fall", "http://example.com/prices/today"]
    )
    return grams(FieldedWords(columns), page, fields=columns)


def test_titles_and_urls_are_known_by_the_names_of_their_columns() -> None:
    found = fielded()
    assert [value(found, "in_title", word) for word in ("prices", "fall", "words")] == [1.0, 1.0, 0.0]
    assert [value(found, "in_url", word) for word in ("prices", "fall", "words")] == [1.0, 0.0, 0.0]
    assert [value(found, "in_field", word) for word in ("prices", "fall", "words")] == [1.0, 1.0, 0.0]
    assert [value(found, "only_field", word) for word in ("prices", "fall", "words")] == [0.0, 1.0, 0.0]


def test_words_of_the_url_alone_are_no_words_of_the_document() -> None:
    assert value(fielded(), "bias", "example") is None and value(fielded(), "bias", "fall") == 1.0


def test_a_title_stands_before_everything() -> None:
    found = fielded()
    assert value(found, "front", "fall") == 1.0 and value(found, "location", "prices") == 0.0
    assert value(found, "front", "about") == pytest.approx(256 / 261)


def test_tags_around_a_word_are_features() -> None:
    page = "<html><title>News</title><body><h1>Big day</h1><p>We <b>met</b> <a href='x'>friends</a></body>"
    found = grams(TaggedWords(), page)
    named = {"in_link": "friends", "in_heading": "day", "emphasised": "met"}
    for feature, word in named.items():
        assert value(found, feature, word) == 1.0
        assert value(found, feature, "we") == 0.0
    assert value(found, "in_heading", "news") == 1.0


def test_queries_are_a_table_that_travels_with_the_model(tmp_path: Path) -> None:
    path = tmp_path / "queries.csv"
    path.write_text("query,count\nred shoes,90\nred hat,9\nunasked,0\n")
    packed = read_queries(path)
    found = grams(Words(), "a red hat and shoes", queries=packed)
    shares = [value(found, "query_frequency", word) for word in ("red", "shoes", "hat", "and")]
    logs = np.log1p([99, 90, 9, 0]) / np.log1p(99)
    assert shares == pytest.approx(logs.tolist(), abs=1 / 255)
    model = Model({"bias": 0.5, "query_frequency": 0.5}, queries=packed, fields=("subject",))
    model.write(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again == model and again.weight.queries == packed
    assert neardup.make_plan("andd", model=str(tmp_path / "model.json")).text == FieldedWords(("subject",))


def test_queries_shorter_than_a_k_gram_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"query": "red"}\n{"query": "red shoes"}\n')
    known = unpack_queries(read_queries(path, ngram=2))
    assert known is not None and len(known[0]) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("word,count\nred,1\n", "has no query column"),
        ("query,count\nred,many\n", "frequency 'many', which must be a number"),
        ("query,count\nred,-1\n", "which must be a number from 0 upwards"),
        ("query,count\nred,0\n", "has no query of 1 or more tokens"),
    ],
)
def test_queries_that_cannot_be_read_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "queries.csv").write_text(text)
    with pytest.raises(InputError, match=problem):
        read_queries(tmp_path / "queries.csv")
    with pytest.raises(InputError, match="does not exist"):
        read_queries(tmp_path / "absent.csv")


def test_a_broken_table_of_queries_is_refused() -> None:
    for packed in ("?", "AAAA", pack_queries(np.array([9, 4], np.uint64), np.array([1, 2]))[:-4]):
        with pytest.raises(ParameterError, match="packed table"):
            LearnedWeight(Shingles(1), queries=packed)


def test_the_most_frequent_k_grams_are_packed_in_order() -> None:
    hashes = np.array([5, 7, 9, 11], np.uint64)
    known = unpack_queries(pack_queries(hashes, np.array([1, 50, 50, 50]), most=2))
    assert known is not None and known[0].tolist() == [7, 9] and known[1].tolist() == [1.0, 1.0]


def test_a_domain_adds_a_feature_of_its_own() -> None:
    @neardup.gram_feature
    def is_invoice(grams: GramTable) -> np.ndarray:
        """1 for the word 'invoice'."""
        return np.isin(grams.hashes, Shingles(1)(Words()(Texts.from_strings(["invoice"]))).hashes).astype(
            float
        )

    try:
        assert gram_features()["is_invoice"].description == "1 for the word 'invoice'."
        found = grams(Words(), "the invoice")
        assert value(found, "is_invoice", "invoice") == 1.0 and value(found, "is_invoice", "the") == 0.0
    finally:
        gram_features.__globals__["_FEATURES"].pop("is_invoice")
    with pytest.raises(ParameterError, match="some of bias"):
        get_features(["is_invoice"])


def test_what_cannot_be_known_is_no_feature_of_a_default_model() -> None:
    assert not {"in_title", "in_link", "query_frequency", "idf_average"} & set(default_features(1))
    everything = default_features(3, fields=True, markup=True, queries=True)
    assert {"in_title", "in_link", "query_frequency", "idf_average"} <= set(everything)
    assert set(everything) <= set(gram_features())


@pytest.mark.parametrize("text", [FieldedWords(("title", "url")), TaggedWords()])
def test_no_batch_changes_a_weight(text: object) -> None:
    pages = [
        join_fields("One <b>two</b> three", ["One title", "http://one"]), "", join_fields("", ["", ""]),
        join_fields("Four <a>five</a> three", ["", "http://five"]), "three",
    ]  # fmt: skip
    names = default_features(1, fields=True, markup=True)
    fields = getattr(text, "fields", ())
    weight = LearnedWeight(Shingles(1), names, tuple(np.linspace(0.1, 0.9, len(names))), "keep", fields)
    whole = Texts.from_strings(pages)
    statistics = count_statistics(whole, weight.counts, text, 1)  # type: ignore[arg-type]
    look = lambda batch: weight(weight.of(tokens := text(batch)), tokens, statistics)  # type: ignore[operator]  # noqa: E731
    together = look(whole)
    for number in range(len(pages)):
        alone = look(whole.slice(number, number + 1))
        part = slice(together.offsets[number], together.offsets[number + 1])
        assert np.array_equal(alone.hashes, together.hashes[part])
        assert alone.weights is not None and together.weights is not None
        assert np.array_equal(alone.weights, together.weights[part])


def test_fields_and_tags_go_together() -> None:
    model = Model(fields=("title",), markup=True)
    page = join_fields("<p>We met <a href='x'>friends</a></p>", ["Old friends"])
    found = grams(model.text, page, fields=model.fields)
    assert [value(found, "in_title", word) for word in ("friends", "old", "met")] == [1.0, 1.0, 0.0]
    assert [value(found, "in_link", word) for word in ("friends", "old", "met")] == [1.0, 0.0, 0.0]


def test_a_model_with_fields_learns_what_a_subject_is_worth(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"w{k}" for k in range(400)])
    rows = []
    for campaign in range(20):
        subject = " ".join(rng.choice(words, 8))
        for _ in range(3):
            rows.append({"id": len(rows), "text": " ".join(rng.choice(words, 30)), "subject": subject,
                         "cluster": campaign})  # fmt: skip
    table = pa.Table.from_pylist(rows)
    labels = [row["cluster"] for row in rows]
    model = neardup.train_model(table.drop(["cluster"]), labels, fields="subject")
    blind = neardup.train_model(table.drop(["cluster", "subject"]), labels)
    assert model.training["f1"] > 0.9 > blind.training["f1"] + 0.3
    model.write(tmp_path / "model.json")
    found = neardup.pairs(table, method="andd", model=str(tmp_path / "model.json"))
    right = [
        labels[a] == labels[b]
        for a, b in zip(*(found[name].to_pylist() for name in ("left", "right")), strict=True)
    ]
    assert len(right) > 50 and np.mean(right) > 0.9
    curve = model.probability
    assert curve is not None
    assert found["probability"].to_pylist() == pytest.approx(
        curve.of(found["similarity"].to_numpy()).tolist()
    )
    assert "probability" not in neardup.pairs(table, method="andd").column_names
    with pytest.raises(InputError, match="no column 'subject'"):
        neardup.pairs(table.drop(["subject"]), method="andd", model=str(tmp_path / "model.json"))
