"""Fields that are values or numbers, markup beside fields, stems: what each makes of a document."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.columns import Signatures, Texts, field_of
from neardup.errors import ParameterError, PlanError
from neardup.features.fielded import Cleaned, Fielded
from neardup.features.shingles import Shingles
from neardup.features.spots import Spots
from neardup.index.links import link_columns
from neardup.plan import Plan
from neardup.registry import get_method, methods
from neardup.text.field_types import LEVELS, Scale, parse_fields, read_numbers
from neardup.text.fields import FieldedWords, join_fields
from neardup.text.tagged import TAGS, TaggedWords, tagged_runs
from neardup.weights.counts import Counts
from neardup.weights.fields import FieldShare
from neardup.weights.notation import parse_weights
from neardup.weights.position import Position, TagBoost, occurrence_values

TYPES = FieldedWords(("title", "links", "rank"), types=("words", "value", "number:0:10"))


def sign(plan: Plan, texts: Texts) -> Signatures:
    """The fingerprints of texts, by a plan that counts nothing."""
    assert plan.view.signature is not None
    return plan.view.signature(plan.view.represent(plan.text(texts, details=plan.view.details)))


def rows_of(text: FieldedWords, *rows: str) -> list[list[tuple[int, int]]]:
    """The field and hash of each token, row by row."""
    tokens = text(Texts.from_strings(list(rows)))
    assert tokens.fields is not None
    both = list(zip(tokens.fields.tolist(), tokens.hashes.tolist(), strict=True))
    return [both[a:b] for a, b in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)]


def test_a_value_is_one_feature_whatever_its_words() -> None:
    first, second, third = rows_of(
        TYPES,
        join_fields("body", ["Two Words", ["http://a.org/b c", "x"], None]),
        join_fields("", [None, ["X", "HTTP://A.org/b-c", "?!"], None]),
        join_fields("", [None, ["c b org a http"], None]),
    )
    assert [field for field, _ in first] == [0, 1, 1, 2, 2]
    assert {h for field, h in first if field == 2} == {h for _, h in second}  # case and punctuation aside
    assert len(second) == 2 and third[0][1] not in {h for _, h in second}  # the order of words counts


@given(
    st.lists(
        st.none() | st.floats(-5, 15) | st.sampled_from(["n/a", "", "nan", "inf", "9" * 50]),
        min_size=1,
        max_size=9,
    )
)
def test_numbers_weigh_most_at_both_ends(values: list[object]) -> None:
    found = rows_of(TYPES, *(join_fields("", [None, None, value]) for value in values))
    for value, row in zip(values, found, strict=True):
        share = abs(min(max(value, 0), 10) / 5 - 1) if isinstance(value, float) else 0
        assert len(row) == int(share * LEVELS + 0.5)
    whole = [h for row in found for _, h in row]
    assert len(set(whole)) <= 2 * LEVELS


def test_numbers_that_are_near_have_most_levels_in_common() -> None:
    low, middle, high, higher = rows_of(TYPES, *(join_fields("", [None, None, v]) for v in (0, 5, 9, 10)))
    assert not middle and len(higher) == len(low) == LEVELS
    assert set(high) < set(higher) and not set(low) & set(higher)
    count, _ = Scale(1, 10_000, logarithmic=True).levels(np.array([1.0, 100.0, 1000.0, 0.0, -3.0, np.nan]))
    assert np.bincount(count, minlength=6).tolist() == [LEVELS, 0, LEVELS // 2, LEVELS, LEVELS, 0]


def test_numbers_are_read_as_python_reads_them() -> None:
    words = [b"1.5", b" -2e3 ", b"", b"x", b"1_0", b"inf", b"7"]
    ends = np.cumsum([len(word) for word in words])
    data = np.frombuffer(b"".join(words), np.uint8)
    found = read_numbers(data, ends - [len(word) for word in words], ends)
    assert found[[0, 1, 4, 6]].tolist() == [1.5, -2000, 10, 7] and np.isnan(found[[2, 3, 5]]).all()


@given(
    st.lists(
        st.tuples(
            st.text("ab \x0c", max_size=5),
            st.lists(st.text("xy/", max_size=3), max_size=3),
            st.none() | st.integers(-1, 11),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_batch_gives_what_each_document_gives_alone(rows: list[tuple[str, list[str], int | None]]) -> None:
    plan = get_method("simhash").plan(
        fields="links:value,rank:number:0:10,title", ngram=2, weights="tf, fields(0.5)"
    )
    texts = [join_fields(body, [links, rank, body]) for body, links, rank in rows]
    together = sign(plan, Texts.from_strings(texts))
    alone = [sign(plan, Texts.from_strings([text])) for text in texts]
    assert together.slots is not None
    assert together.slots.tolist() == [one.slots[0].tolist() for one in alone if one.slots is not None]
    assert together.present.tolist() == [one.present[0] for one in alone]


def test_values_are_in_no_order_whatever_the_ngram() -> None:
    plan = get_method("simhash").plan(fields="links:value", ngram=3, weights="tf")
    a, b = (
        plan.view.represent(plan.text(Texts.from_strings([join_fields("w", [links])])))
        for links in (["x", "y"], ["y", "x"])
    )
    assert a.hashes.tolist() == b.hashes.tolist() and len(a.hashes) == 3


def test_a_share_belongs_to_a_number_as_a_whole() -> None:
    columns, types = parse_fields("title, rank:number:0:10")
    stages = parse_weights("tf, fields(0.5)", Fielded(Shingles(1)), fields=columns, types=types)
    assert stages[1:] == (FieldShare(0.5), FieldShare(0.125, 2))
    (only,) = parse_weights("field(rank, 1)", Fielded(Shingles(1)), fields=columns, types=types)
    assert only == FieldShare(0.25, 2)
    plan = get_method("simhash").plan(fields="rank:number:0:10", weights="tf, fields(1)")
    bag = plan.view.represent(plan.text(Texts.from_strings([join_fields("a a a b", [10])])))
    assert bag.weights is not None
    extreme = bag.weights[field_of(bag) == 1]
    assert np.sqrt((extreme**2).sum()) == pytest.approx(3)  # as a vector it weighs the largest weight


def test_colons_that_name_no_kind_belong_to_the_column() -> None:
    assert parse_fields("og:title, a:b:value,plain") == (
        ("og:title", "a:b", "plain"),
        ("words", "value", "words"),
    )
    assert parse_fields("a,b") == (("a", "b"), ())
    with pytest.raises(ParameterError, match="COLUMN:number:LOW:HIGH"):
        get_method("simhash").plan(fields="a:number:9:1")


def test_lists_of_a_file_are_values(tmp_path: Path) -> None:
    rows = [
        {"id": k, "text": f"body {k}", "links": ["a b", "c", "d"] if k else ["d", "c", "a b"]}
        for k in range(2)
    ]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "t.parquet")
    found = neardup.pairs(
        str(tmp_path / "t.parquet"), method="simhash", fields="links:value", weights="tf, fields(9)"
    )
    assert len(found) == 1


# markup, fields, n-grams, stems and words left out, together ----------------------------------------------


def test_markup_is_seen_beside_fields() -> None:
    plan = get_method("simhash").plan(weights="tf, tags(3, b)", fields="title,links:value")
    page = join_fields("<p>plain <b>bold</b></p>", ["&amp title", ["x y"]])
    tokens = plan.text(Texts.from_strings([page, join_fields("", [None, None])]))
    assert tokens.fields is not None and tokens.tags is not None
    assert tokens.fields.tolist() == [0, 0, 1, 1, 2]  # a field is no HTML: its amp is a word
    assert tokens.tags.tolist() == [0, 1 << TAGS.index("b"), 0, 0, 0]
    assert np.diff(tokens.offsets).tolist() == [5, 0]
    bag = plan.view.represent(tokens)
    assert bag.weights is not None
    assert sorted(bag.weights.tolist()) == [1, 1, 1, 1, 3]
    assert getattr(plan.text, "fields", ()) == ("title", "links") and Plan.from_json(plan.to_json()) == plan


def test_a_page_of_unclosed_tags_is_read_in_linear_time() -> None:
    def seconds(size: int) -> float:
        page = "<i>a<b>c</u>" * size + "</b>d"
        began = time.process_time()
        tokens = TaggedWords()(Texts.from_strings([page]))
        assert len(tokens.hashes) == 2 * size + 1 and tokens.tags is not None
        assert tokens.tags[-1] == 1 << TAGS.index("i") | (1 << TAGS.index("b")) * (size > 1)
        return time.process_time() - began

    seconds(10)
    assert seconds(40_000) < 20 * seconds(10_000) + 1


HOSTILE = [
    "<!--",
    "<a href='",
    '<a b="',
    "<",
    "&",
    "<![CDATA[",
    "<script>",
    "</",
    "<i",
    "<!",
    "<a =",
    "'\"<b>",
    "&#x",
    "<style><!--",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_no_markup_takes_more_than_linear_time(part: str) -> None:
    began = time.process_time()
    TaggedWords()(Texts.from_strings([part * 200_000, part * 50_000 + ">" + part * 50_000]))
    link_columns(["http://a/"], [part * 100_000])
    assert time.process_time() - began < 20  # what is quadratic takes hours


@given(
    st.lists(
        st.sampled_from(
            [
                "<b>",
                "</b>",
                "<p class='x > y'>",
                "</p>",
                "text ",
                "&lt;",
                "<br/>",
                "<!-- <b> -->",
                "<B\n>",
                "</i>",
                "<i>",
            ]
        ),
        max_size=14,
    )
)
def test_markup_is_read_as_a_parser_reads_it(parts: list[str]) -> None:
    """The standard library's parser on pages that are well enough formed for it."""

    class Parser(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.runs: list[tuple[str, int]] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.open += [tag] * (tag != "br")

        def handle_endtag(self, tag: str) -> None:
            while tag in self.open and self.open.pop() != tag:
                pass

        def handle_data(self, data: str) -> None:
            self.runs.append((data, sum(1 << TAGS.index(tag) for tag in set(self.open) & set(TAGS))))

    parser = Parser()
    parser.feed("".join(parts))
    parser.close()

    def merged(runs: list[tuple[str, int]]) -> list[tuple[str, int]]:
        return [(char, mask) for text, mask in runs for char in text]

    assert merged(list(tagged_runs("".join(parts)))) == merged(parser.runs)


def test_tags_of_ngrams_and_of_words_left_out() -> None:
    plan = get_method("simhash").plan(weights="tf, tags(2, b)", ngram=2, stopwords="en")
    tokens = plan.text(Texts.from_strings(["zebra <b>and giraffe</b> lion tiger", "<b>emu</b>"]))
    seen = occurrence_values(plan.view.features, tokens, (tokens.tags > 0).astype(np.float64))  # type: ignore[operator]
    words = plan.view.features(tokens)
    assert words.sizes.tolist() == [3, 1]  # zebra giraffe, giraffe lion, lion tiger
    assert seen.tolist() == [1, 1, 0, 1]
    with pytest.raises(PlanError, match="Tags are not known for features of Spots"):
        TagBoost(Spots())(Counts()(Spots()(tokens)), tokens)


def test_positions_are_those_of_the_text_and_fields_keep_their_weight() -> None:
    feature = Fielded(Shingles(1))
    tokens = FieldedWords(("title",))(Texts.from_strings([join_fields("a b c", ["t"])]))
    bag = Position(feature, "x / L")(feature(tokens), tokens)
    assert bag.weights is not None
    own = field_of(bag) == 0
    assert sorted(bag.weights[own].tolist()) == pytest.approx([1 / 3, 2 / 3, 1])
    assert bag.weights[~own].tolist() == [1]


snowball = pytest.importorskip("snowballstemmer")


@pytest.mark.parametrize(
    ("language", "words", "stem"),
    [
        ("english", "running runs Run", "run"),
        ("german", "Häuser Haus hauses", "haus"),
        ("french", "continuerait continuant", "continu"),
    ],
)
def test_words_of_a_stem_are_one(language: str, words: str, stem: str) -> None:
    plan = get_method("simhash").plan(stem=language, weights="tf")
    hashes = plan.text(Texts.from_strings([words, stem])).hashes
    assert len(set(hashes.tolist())) == 1


def test_stems_of_fields_tags_and_stop_words() -> None:
    plan = get_method("simhash").plan(
        stem="english", fields="title", weights="tf, tags(2, b)", stopwords="en"
    )
    page = join_fields("<b>Jumping</b> this because <i>of</i> zebras", ["jumps his"])
    bag = plan.view.represent(plan.text(Texts.from_strings([page])))
    assert bag.weights is not None
    assert sorted(zip(field_of(bag).tolist(), bag.weights.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 1)]
    assert Cleaned(Shingles(1), "en", stem="english") in (plan.view.features.of,)  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="'stem' parameter of simhash must be one of"):
        get_method("simhash").plan(stem="klingon")


# verified by cosine, reserved bits, weights with other methods --------------------------------------------


def test_the_cosine_decides_within_the_distance() -> None:
    words = [f"w{i}" for i in range(100)]
    texts = [
        " ".join(words),
        " ".join([*words[:98], "x", "y"]),
        " ".join([*words[:60], *(f"z{i}" for i in range(40))]),
    ]
    found = neardup.pairs(texts, method="simhash", verify="cosine", weights="tf", distance=40, threshold=0.55)
    known = {(r["left"], r["right"]): r["similarity"] for r in found.to_pylist()}
    assert known == {(0, 1): pytest.approx(0.98), (0, 2): pytest.approx(0.6), (1, 2): pytest.approx(0.6)}
    assert len(neardup.pairs(texts, method="simhash", verify="cosine", weights="tf", distance=40)) == 1
    assert (
        len(neardup.pairs(texts, method="simhash", verify="cosine", weights="tf", distance=0, threshold=0.1))
        == 0
    )
    whole = neardup.dedup(texts, method="simhash", verify="cosine", distance=40, threshold=0.2)
    assert whole.rethreshold(0.97).report["kept"] == 3 - len(
        neardup.pairs(texts, method="simhash", verify="cosine", distance=40, threshold=0.97)
    )


@pytest.mark.parametrize("pairs", ["all", "clusters"])
def test_documents_of_other_sections_never_match(pairs: str) -> None:
    words = " ".join(f"w{i}" for i in range(80))
    table = pa.table({"id": range(60), "text": [words] * 60, "section": [f"s{k % 20}" for k in range(60)]})
    result = neardup.dedup(
        table,
        method="simhash",
        weights="tf",
        fields="section",
        reserve="section:16",
        distance=20,
        pairs=pairs,
    )
    sections = table["section"].to_pylist()
    found = {(sections[r["left"]], sections[r["right"]]) for r in result.pairs.to_pylist()}
    assert found == {(name, name) for name in set(sections)}
    assert result.report["kept"] == 20


@pytest.mark.parametrize("name", list(methods()))
def test_every_weight_is_usable_by_every_method(name: str) -> None:
    """Weight stages behind those of the method itself: what they keep is a part of what it kept, batch by batch."""
    plan = get_method(name).plan()
    texts = Texts.from_strings(["the cat is on the mat and that was a good day for all of it", "", "a cat"])
    tokens = plan.text(texts)
    of = plan.view.features
    from neardup.statistics import Statistics, count_features

    stages = parse_weights("position(1/x), low(0.1), damp(2), top(5), middle(0.01, 1), top_share(0.5)", of)
    from neardup.plan import stage_json

    tables = {stage_json(feature): count_features(feature(tokens)) for feature in (*plan.counts, of)}
    known = Statistics(3, stage_json(plan.text), tables)
    bag = plan.view.represent(tokens, known)
    for stage in stages:
        before, bag = bag, stage(bag, tokens, known)
        assert bag.weights is not None and np.isfinite(bag.weights).all()
        assert set(bag.hashes.tolist()) <= set(before.hashes.tolist()) and len(bag) == 3
    if plan.view.signature is not None:
        present = plan.view.signature(bag).present
        assert not (present & (bag.sizes == 0)).any()
