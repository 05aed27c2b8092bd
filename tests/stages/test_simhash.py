"""Simhash: the thesis' example, fields, weights by name, reserved bits, and what cannot be understood."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import naive
import neardup
from neardup.columns import Features, Signatures, Texts, field_of
from neardup.errors import InputError, MissingExtra, ParameterError, PlanError
from neardup.features.fielded import Cleaned, Fielded
from neardup.features.shingles import Shingles
from neardup.plan import Clustering, Plan
from neardup.registry import get_method
from neardup.signatures.sign_bits import ReservedBits, SignBits
from neardup.text.fields import FieldedWords, join_fields
from neardup.text.tagged import TAGS, TaggedWords
from neardup.text.words import Words
from neardup.weights.counts import Counts
from neardup.weights.expression import evaluate, parse
from neardup.weights.fields import FieldShare, FlipWeight
from neardup.weights.frequency import TfIdf, compute_idf
from neardup.weights.notation import parse_weights
from neardup.weights.position import SCALES, Position, TagBoost
from neardup.weights.shape import Damp, Middle, Threshold, Top, TopShare

WORD = Shingles(1)


def sign(plan: Plan, texts: Texts) -> Signatures:
    """The fingerprints of texts, by a plan that counts nothing."""
    assert plan.view.signature is not None
    return plan.view.signature(plan.view.represent(plan.text(texts, details=plan.view.details)))


def bag_of(*weights: float) -> Features:
    n = len(weights)
    return Features(
        np.array([0, n]), np.arange(1, n + 1, dtype=np.uint64) << np.uint64(8), np.array(weights, np.float32),
        distinct=True,
    )  # fmt: skip


def test_table_3_1() -> None:
    """medicare … negotiate: '1001' with all five words, and still without 'plan'."""
    words = {"1001": 0.09, "1110": 0.01, "0010": 0.06, "0101": 0.05, "1101": 0.04}
    chosen: dict[int, float] = {}
    for pattern, weight in words.items():  # a hash whose first projections are those of the table
        h = next(
            h for h in range(1, 10_000)
            if h not in chosen and "".join(str(bit) for bit in naive.sign_bits([h], [1], 64, 1)[:4]) == pattern
        )  # fmt: skip
        chosen[h] = weight
    for left_out in (None, 0.01):
        row = {h: w for h, w in sorted(chosen.items()) if w != left_out}
        features = Features(
            np.array([0, len(row)]), np.array(list(row), np.uint64), np.array(list(row.values()), np.float32),
            distinct=True,
        )  # fmt: skip
        slots = SignBits(64, 1)(features).slots
        assert [int(slots[0, 0]) >> bit & 1 for bit in range(4)] == [1, 0, 0, 1]


def test_a_document_without_features_has_no_fingerprint_and_meets_nothing() -> None:
    result = neardup.dedup(
        ["", "...", "", "one two three", "one two three four"], method="simhash", distance=63
    )
    assert result.report["kept"] == 4
    plan = get_method("simhash").plan(weights="tf")
    assert sign(plan, Texts.from_strings(["", "a"])).present.tolist() == [False, True]


@pytest.mark.parametrize("kind", ["clusters", "all"])
def test_pairs_are_those_within_the_distance(kind: str) -> None:
    random = np.random.default_rng(0)
    base = [f"w{i}" for i in range(60)]
    texts = []
    for _ in range(150):
        words = list(base) if random.random() < 0.5 else [f"v{i}" for i in range(80)]
        for place in random.integers(0, len(words), random.integers(0, 9)):
            words[place] = f"x{random.integers(0, 500)}"
        texts.append(" ".join(words))
    plan = get_method("simhash").plan(weights="tf", distance=6)
    slots = sign(plan, Texts.from_strings(texts)).slots
    assert slots is not None
    expected = {
        (a, b)
        for a in range(150)
        for b in range(a + 1, 150)
        if naive.hamming(slots[a].tolist(), slots[b].tolist()) <= 6
    }
    result = neardup.dedup(texts, plan=plan.with_(pairs=kind, clustering=Clustering("components")))
    found = {
        tuple(sorted(pair))
        for pair in zip(result.pairs["left"].to_pylist(), result.pairs["right"].to_pylist(), strict=True)
    }
    if kind == "all":
        assert found == expected
    else:
        assert found <= expected
        clusters = result.clusters
        labels = dict(zip(clusters["id"].to_pylist(), clusters["cluster"].to_pylist(), strict=True))
        whole = naive.components(150, expected)
        for a, b in expected:
            assert labels[a] == labels[b]
        assert len(set(labels.values())) == len({whole[a] for a, _ in expected})


def test_leaders_are_masters_within_the_distance() -> None:
    texts = [" ".join(f"w{i}" for i in range(start, start + 60)) for start in range(30)]
    result = neardup.dedup(
        texts, method="simhash", weights="tf", distance=9, clusters="leaders", keep="first"
    )
    plan = get_method("simhash").plan(weights="tf", distance=9)
    slots = sign(plan, Texts.from_strings(texts)).slots
    assert slots is not None
    rows = result.clusters.to_pylist()
    assert len(rows) > 4
    assert all(naive.hamming(slots[row["id"]].tolist(), slots[row["leader"]].tolist()) <= 9 for row in rows)


def test_fields_are_features_of_their_own() -> None:
    text = FieldedWords(("title", "tags"))
    rows = [
        join_fields("Paris in spring", ["Paris", ["a", "b"]]),
        join_fields("Paris", [None, None]),
        "plain paris",
    ]
    tokens = text(Texts.from_strings(rows))
    assert tokens.fields is not None
    assert np.diff(tokens.offsets).tolist() == [6, 1, 2]
    assert tokens.fields.tolist() == [0, 0, 0, 1, 2, 2, 0, 0, 0]
    features = Fielded(Shingles(2))(tokens)
    assert field_of(features).tolist() == [0, 0, 1, 2, 0, 0]  # no run crosses a border
    single = Fielded(WORD)(tokens)
    assert single.hashes[0] == single.hashes[6] != single.hashes[3]
    alone = Fielded(WORD)(text(Texts.from_strings(rows[1:2])))
    assert alone.hashes.tolist() == single.hashes[6:7].tolist()


def test_a_field_decides_about_copies_and_an_absent_one_is_named() -> None:
    rows = [
        {"id": 1, "text": "the same words", "title": "one"},
        {"id": 2, "text": "the same words", "title": "two"},
    ]
    import pyarrow as pa

    table = pa.Table.from_pylist(rows)
    assert neardup.dedup(table, method="simhash", weights="tf").report["kept"] == 1
    assert (
        neardup.dedup(table, method="simhash", weights="tf, fields(9)", fields="title", distance=0).report[
            "kept"
        ]
        == 2
    )
    with pytest.raises(InputError, match="no column 'author', which --fields asks for"):
        neardup.dedup(table, method="simhash", fields="title,author")
    with pytest.raises(ParameterError, match="different column names"):
        get_method("simhash").plan(fields="title,title")


def test_cleaned_words_are_left_out() -> None:
    tokens = Words()(Texts.from_strings(["The trade surplus hit 791 billion in December 2003"]))
    kept = Cleaned(WORD, ("the", "in"), numbers=True)(tokens)
    assert sorted(kept.hashes.tolist()) == sorted(
        WORD(Words()(Texts.from_strings(["trade surplus hit billion"]))).hashes.tolist()
    )


def test_shapes_of_weights() -> None:
    bag = bag_of(100, 1, 50, 0.5, 49, 10)
    assert Threshold(0.01)(bag).weights.tolist() == [100, 1, 50, 49, 10]
    assert Threshold(0.5)(bag).weights.tolist() == [100, 50]
    assert Top(2)(bag).weights.tolist() == [100, 50]
    assert TopShare(0.3)(bag).weights.tolist() == [100, 50]
    assert Middle(0.05, 0.5)(bag).weights.tolist() == [50, 49, 10]
    assert Middle()(bag_of(3, 3)).weights.tolist() == [3, 3]
    assert Damp(3)(bag).weights.tolist() == [49, 1, 49, 0.5, 49, 10]
    empty = Features(np.zeros(3, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.float32), distinct=True)
    for stage in (Threshold(), Top(), TopShare(), Middle(), Damp()):
        assert len(stage(empty)) == 2


def test_idf_forms() -> None:
    counts = np.array([1, 10, 100])
    assert compute_idf("inverse", counts, 100).tolist() == pytest.approx([1, 0.1, 0.01])
    assert compute_idf("normalised", counts, 100).tolist() == pytest.approx([1, 0.5, 0])
    assert compute_idf("log", counts, 100)[2] > 0
    assert compute_idf("smooth", counts, 100)[2] == pytest.approx(1)


def test_positions_are_of_first_occurrences() -> None:
    texts = Texts.from_strings(["a b a c", "", "c"])
    tokens = Words()(texts)
    bag = Position(WORD, "x + 10 * L")(WORD(tokens), tokens)
    words = {w: int(WORD(Words()(Texts.from_strings([w]))).hashes[0]) for w in "abc"}
    first = dict(zip(bag.hashes[:3].tolist(), bag.weights[:3].tolist(), strict=True))
    assert first == {words["a"]: 2 * 41, words["b"]: 42, words["c"]: 44}  # 'a' occurs twice, first at place 1
    assert bag.weights[3:].tolist() == [11]


def test_the_scales_of_the_thesis() -> None:
    x = np.arange(1, 200.0)
    values = {
        name: evaluate(formula, {"x": x, "L": np.full(199, 199.0), "w": x})
        for name, formula in SCALES.items()
    }
    assert all((v >= -1e-12).all() and np.isfinite(v).all() for v in values.values())
    assert values["log(x)/x"][0] > 0
    # log(x)/x decays faster than 1/log x, not slower (errata).
    assert values["log(x)/x"][-1] / values["log(x)/x"][0] < values["1/log(x)"][-1] / values["1/log(x)"][0]
    assert values["cosine"][98] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    "formula", ["__import__('os')", "x.real", "x[0]", "lambda: 1", "1 if x else 2", "x @ x", "y", "log(x, 2, 3)",
                "'a' * 9", "(x", "", "x" * 600, "9**99999999999999999", "True"],
)  # fmt: skip
def test_no_formula_runs_code(formula: str) -> None:
    with pytest.raises(ParameterError, match="expression"):
        parse(formula, ("x",))


def test_a_formula_that_is_negative_is_refused() -> None:
    with pytest.raises(PlanError, match=r"is -2 for word 1 of 1: weights must be finite and not negative"):
        neardup.dedup(["one", "two"], method="simhash", weights="position(x - 3)")


@pytest.mark.parametrize(
    ("text", "says"),
    [("foo", "made of tf, tfidf"), ("low(2)", "from 0 to 1"), ("low(a)", "a number"), ("top(1.5)", "whole number"),
     ("tfidf(cubic)", "one of log"), ("low(0.1", "as many"), ("low(0.1, 0.2)", "at most 1"), ("flip(title)", "fields"),
     ("tags(1.5, blink)", "one of title")],
)  # fmt: skip
def test_unknown_weights_are_named(text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse_weights(text, WORD)


def test_weights_by_name() -> None:
    found = parse_weights("tfidf(inverse, log), position(max(1/x, 0.5)), low(0.2), tags(2, h1, b)", WORD)
    assert found == (
        TfIdf(WORD, "log", "inverse"), Position(WORD, "max(1/x, 0.5)"), Threshold(0.2), TagBoost(WORD, 2, ("h1", "b")),
    )  # fmt: skip
    assert parse_weights("field(url, 0.5), flip(title, 0.9)", WORD, fields=("title", "url"), bits=128, seed=4) == (
        FieldShare(0.5, 2), FlipWeight(1, 0.9, 128, 4),
    )  # fmt: skip


def test_every_variant_travels_as_json() -> None:
    for options in (
        {"weights": "tf, damp, middle, top_share"}, {"fields": "a,b", "weights": "tfidf, flip(b, 0.9), field(a)"},
        {"fields": "a", "reserve": "a:8"}, {"stopwords": "en", "strip_numbers": True}, {"weights": "tfidf, tags"},
    ):  # fmt: skip
        plan = get_method("simhash").plan(**options)
        assert Plan.from_json(plan.to_json()) == plan


def test_markup_is_seen_and_boosts() -> None:
    page = "<title>Top</title><p>plain <b>bold <i>both</i></b> <script>hidden()</script>&amp; rest</p>"
    tokens = TaggedWords()(Texts.from_strings([page, "", "no markup"]))
    assert np.diff(tokens.offsets).tolist() == [5, 0, 2]
    bit = {tag: 1 << place for place, tag in enumerate(TAGS)}
    assert tokens.tags is not None
    assert tokens.tags.tolist() == [bit["title"], 0, bit["b"], bit["b"] | bit["i"], 0, 0, 0]
    bag = TagBoost(WORD)(WORD(tokens), tokens)
    assert sorted(bag.weights[:5].tolist()) == [1, 1, 1.5, 1.5, 1.5]


def test_fields_weigh_a_share_of_the_largest_weight() -> None:
    text = FieldedWords(("title",))
    tokens = text(Texts.from_strings([join_fields("a a a b", ["t u"]), join_fields("", ["t"])]))
    feature = Fielded(WORD)
    bag = FieldShare(0.5)(Counts()(feature(tokens)), tokens)
    assert bag.weights[field_of(bag) == 1].tolist() == [1.5, 1.5, 0.5]


@pytest.mark.parametrize("chance", [0.5, 0.9, 0.99])
def test_a_change_of_a_field_flips_a_bit_as_often_as_stated(chance: float) -> None:
    text, feature = FieldedWords(("section",)), Fielded(WORD)
    stage, signature = FlipWeight(1, chance), SignBits(64)
    changed = 0
    for number in range(400):
        body = " ".join(f"w{number}x{i}" for i in range(40))
        tokens = text(
            Texts.from_strings([join_fields(body, [f"s{number}"]), join_fields(body, [f"t{number}"])])
        )
        bag = Position(feature, "sqrt(x)")(
            feature(tokens), tokens
        )  # sums without ties, which would flip more
        a, b = signature(stage(bag, tokens)).slots
        changed += (a != b).any()
    exact = 1 - 0.5**stage.needed  # the number of bits is whole
    assert exact >= chance - 1e-9
    assert changed / 400 == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 400) ** 0.5 + 0.01)


def test_reserved_bits_are_the_field_alone() -> None:
    text, feature = FieldedWords(("section",)), Fielded(WORD)
    rows = [("a b c", "news"), ("d e f", "news"), ("a b c", "sport")]
    tokens = text(Texts.from_strings([join_fields(body, [section]) for body, section in rows]))
    slots = ReservedBits(64, 16, 1)(Counts()(feature(tokens))).slots
    top, rest = slots[:, 1] >> np.uint32(16), slots.copy()
    rest[:, 1] &= np.uint32(0xFFFF)
    assert top[0] == top[1] != top[2]
    assert (rest[0] == rest[2]).all() and (rest[0] != rest[1]).any()
    with pytest.raises(ParameterError, match="FIELD:BITS"):
        get_method("simhash").plan(fields="a", reserve="b:8")


def test_stemming_says_what_it_needs() -> None:
    try:
        import snowballstemmer  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match="snowballstemmer"):
            get_method("simhash").plan(stem="english")
        return
    plan = get_method("simhash").plan(stem="english", weights="tf")
    hashes = plan.text(Texts.from_strings(["running runs", "run run"])).hashes
    assert len(set(hashes.tolist())) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"distance": 64},
        {"distance": 3, "threshold": 0.9},
        {"bits": 4},
        {"verify": "cosine", "distance": 64},
        {"fields": "a:number"},
        {"fields": "a:number:3:3"},
        {"fields": "a:log:0:3"},
        {"fields": "a:number:x:3"},
    ],
)
def test_options_that_contradict_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        get_method("simhash").plan(**options)


def test_the_order_of_the_input_does_not_matter_where_many_are_alike() -> None:
    import pyarrow as pa

    random = np.random.default_rng(8)
    base = " ".join(f"w{i}" for i in range(300))
    table = pa.table({"id": [f"d{k}" for k in range(120)], "text": [f"{base} x{k} y{k}" for k in range(120)]})
    options = {"method": "simhash", "weights": "tf", "distance": 8, "keep": "shortest"}
    first, again = (
        neardup.dedup(some, **options)  # type: ignore[arg-type]
        for some in (table, table.take(pa.array(random.permutation(120))))
    )
    assert len(first.clusters) == 120
    assert first.clusters.sort_by("id").equals(again.clusters.sort_by("id"))
    assert first.pairs.equals(again.pairs)


def test_views_and_plots(tmp_path: Path) -> None:
    from neardup.clusters.sizes import balance, cluster_sizes, evenness
    from neardup.evaluate.simhash_plots import (
        plot_cluster_sizes,
        plot_evenness,
        plot_weights,
        weights_by_position,
    )

    left, right, apart = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0, 3, 3])
    sizes = cluster_sizes(4, left, right, apart)
    assert sizes.averages == [1.5, 1.5, 1.5, 2.5]
    assert [part.tolist() for part in sizes.histogram(0)] == [[1, 2], [2, 2]]
    assert sizes.suggest() == 3
    random = np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64)
    assert 150 < evenness(random).chi_square < 360 < evenness(random >> np.uint64(1)).chi_square
    assert balance(random[None, :]) == pytest.approx([0.5] * 64, abs=0.01)
    plan = get_method("simhash").plan(weights="tf, position(1/x)")
    places, weights = weights_by_position(plan, "a b a c")
    assert places.tolist() == [1, 2, 4]
    assert weights.tolist() == [2, 0.5, 0.25]
    pytest.importorskip("matplotlib")
    for path in (
        plot_weights(tmp_path / "w.png", plan, "a b a c"),
        plot_evenness(tmp_path / "e.png", evenness(random)),
        plot_cluster_sizes(tmp_path / "c.png", sizes),
    ):
        assert path.read_bytes()[:4] == b"\x89PNG"
