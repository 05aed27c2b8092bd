"""Set hashes, sign bits, and the checks that read them: agreement of groups and bits, cosine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.candidates.groups import Groups
from neardup.columns import Features, Signatures
from neardup.errors import PlanError
from neardup.signatures.minhash import MinHash
from neardup.signatures.set_hash import SetHash
from neardup.signatures.sign_bits import SignBits, bit_agreement
from neardup.verify.bits import BitAgreement
from neardup.verify.cosine import Cosine
from neardup.verify.jaccard import SlotAgreement
from neardup.weights.counts import Counts

RANDOM = np.random.default_rng(11)
VOCABULARY = np.unique(RANDOM.integers(0, 2**64, 4000, dtype=np.uint64))


def features(*rows: object, weights: object = None) -> Features:
    lists = [np.asarray(row, np.uint64) for row in rows]
    values = None if weights is None else np.concatenate([np.asarray(row, np.float32) for row in weights])  # type: ignore[attr-defined]
    offsets = np.cumsum([0, *map(len, lists)])
    return Features(offsets, np.concatenate(lists), values, distinct=values is not None)


def hashes(signatures: Signatures) -> list[list[int]]:
    """The 64-bit hashes of each document."""
    return [
        [int(high) << 32 | int(low) for high, low in zip(row[::2], row[1::2], strict=True)]
        for row in signatures.slots
    ]


# Set hashes


def test_a_set_has_one_hash_whatever_its_order_and_repeats() -> None:
    some = VOCABULARY[:30]
    mixed = RANDOM.permutation(np.concatenate([some, some[:7]]))
    found = hashes(SetHash(lexicons=5, drop=0.5)(features(some, mixed, some[1:])))
    assert found[0] == found[1]
    assert found[0][0] != found[2][0], "the whole lexicon sees every feature"


def test_one_feature_more_upsets_the_whole_hash() -> None:
    """Simhash thesis, 2.4.3: a single addition could upset the entire digest. About half the bits are others."""
    base = VOCABULARY[:50]
    rows = [base, *(np.append(base, extra) for extra in VOCABULARY[100:164])]
    first, *rest = (row[0] for row in hashes(SetHash()(features(*rows))))
    changed = [(first ^ other).bit_count() for other in rest]
    assert len({first, *rest}) == 65
    assert 28 < sum(changed) / len(changed) < 36


def test_documents_with_few_features_have_no_signature() -> None:
    """ANDD paper, 2.2: a constraint on the minimum length for which a valid signature can be produced."""
    some = features([], [1], [1, 2], [1, 2, 3], [1, 1, 1])
    assert SetHash(least=3)(some).present.tolist() == [False, False, False, True, False]
    assert SetHash()(some).present.tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("drop", [0.1, 0.33, 0.8])
def test_each_random_lexicon_misses_its_share_of_the_features(drop: float) -> None:
    """A single feature is missing in a lexicon where its hash is that of nothing."""
    lexicons = 6
    alone = hashes(SetHash(lexicons, drop)(features(*([[h] for h in VOCABULARY]), [])))
    nothing = alone.pop()
    missing = np.array([[one == none for one, none in zip(row, nothing, strict=True)] for row in alone])
    assert not missing[:, 0].any(), "the first lexicon is complete"
    bound = 4 * (drop * (1 - drop) / len(VOCABULARY)) ** 0.5
    assert missing[:, 1:].mean(axis=0) == pytest.approx([drop] * (lexicons - 1), abs=bound)
    both = (missing[:, 1] & missing[:, 2]).mean()
    assert both == pytest.approx(drop * drop, abs=0.03), "lexicons are independent of each other"


def test_the_same_features_are_missing_in_every_document() -> None:
    """Whether a feature counts is a matter of the lexicon alone: with or without it, hashes are equal or not."""
    setting = SetHash(lexicons=8, drop=0.5)
    feature = VOCABULARY[0]
    effects = []
    for start in (10, 50, 300):
        base = VOCABULARY[start : start + 20]
        without, with_ = hashes(setting(features(base, np.append(base, feature))))
        effects.append([a == b for a, b in zip(without, with_, strict=True)])
    assert effects[0] == effects[1] == effects[2]
    assert any(effects[0]) and not all(effects[0])


def test_random_lexicons_find_pairs_as_often_as_the_dropped_share_says() -> None:
    """A pair that differs in d features agrees in a lexicon with probability drop^d; K of them, 1 − (1 − drop^d)^K."""
    drop, lexicons, trials = 0.5, 6, 600
    rows = []
    for trial in range(trials):
        base = RANDOM.choice(VOCABULARY[:2000], 20, replace=False)
        rows += [base, np.append(base, VOCABULARY[2000 + trial * 2 : 2002 + trial * 2])]
    keys = Groups(lexicons + 1, 2).keys(SetHash(lexicons + 1, drop)(features(*rows)))
    found = (keys[:, ::2] == keys[:, 1::2]).any(axis=0).mean()
    expected = 1 - (1 - drop**2) ** lexicons
    assert found == pytest.approx(expected, abs=4 * (expected * (1 - expected) / trials) ** 0.5)


# Sign bits


@pytest.mark.parametrize("bits", [1, 31, 32, 33, 64, 100, 384])
def test_bits_beyond_the_last_are_zero_and_the_others_do_not_depend_on_them(bits: int) -> None:
    some = features(*(VOCABULARY[k : k + 40] for k in range(50)))
    found, whole = SignBits(bits)(some).slots, SignBits(448)(some).slots
    assert found.shape[1] == SignBits(bits).slots == -(-bits // 64) * 2
    unpacked = np.unpackbits(found.view(np.uint8), axis=1, bitorder="little")
    expected = np.unpackbits(whole.view(np.uint8), axis=1, bitorder="little")[:, : unpacked.shape[1]].copy()
    expected[:, bits:] = 0
    assert np.array_equal(unpacked, expected)


def test_the_scale_of_weights_changes_nothing() -> None:
    weights = [RANDOM.integers(1, 50, 60).astype(np.float32) for _ in range(4)]
    rows = [VOCABULARY[k * 60 : k * 60 + 60] for k in range(4)]
    first = SignBits(384)(features(*rows, weights=weights)).slots
    for scale in (0.25, 1024.0, 2**-20):  # powers of two, which round nothing
        again = SignBits(384)(features(*rows, weights=[w * np.float32(scale) for w in weights])).slots
        assert np.array_equal(again, first)


def test_weights_of_one_are_no_weights_and_repeats_of_an_uncounted_feature_count_once() -> None:
    row = VOCABULARY[:40]
    plain = SignBits(128)(features(row)).slots
    assert np.array_equal(SignBits(128)(features(row, weights=[np.ones(40)])).slots, plain)
    assert np.array_equal(SignBits(128)(features(np.concatenate([row, row[:5]]))).slots, plain)


def test_bits_of_a_document_do_not_depend_on_its_neighbours() -> None:
    rows = [VOCABULARY[:30], [], VOCABULARY[30:31], [], VOCABULARY[40:99]]
    weights = [RANDOM.random(len(row)).astype(np.float32) * 10**k for k, row in enumerate(rows)]
    whole = SignBits(100)(features(*rows, weights=weights))
    alone = [SignBits(100)(features(row, weights=[w])) for row, w in zip(rows, weights, strict=True)]
    assert np.array_equal(whole.slots, np.concatenate([one.slots for one in alone]))
    assert whole.present.tolist() == [True, False, True, False, True]


def test_another_seed_gives_other_bits() -> None:
    one, other = (SignBits(384, seed)(features(VOCABULARY[:50])).slots for seed in (1, 2))
    assert 120 < sum(int(x).bit_count() for x in (one ^ other)[0]) < 264


# Checks


def signatures(rows: object, present: object = None) -> Signatures:
    table = np.array(rows, np.uint32)
    return Signatures(table, np.ones(len(table), bool) if present is None else np.array(present))


PAIRS = (np.array([0, 0, 1]), np.array([1, 2, 2]))


def test_equal_bits_are_counted() -> None:
    some = signatures([[0b1011, 0], [0b0011, 0], [0, 0]], [True, True, False])
    measured = BitAgreement(40).measure(some, *PAIRS)
    assert measured.similarity.tolist() == [39 / 40, 0, 0], "what has no features agrees with nothing"
    assert BitAgreement(40).passes(measured, 0.975).tolist() == [True, False, False]
    assert BitAgreement(40).passes(measured, 0.976).tolist() == [False, False, False]


def test_groups_agree_as_a_whole_or_not_at_all() -> None:
    some = signatures([[1, 2, 3, 4, 5, 6], [1, 2, 3, 9, 5, 6], [1, 9, 3, 9, 5, 9]])
    for width, shares in ((1, [5 / 6, 3 / 6, 4 / 6]), (2, [2 / 3, 0, 1 / 3]), (3, [1 / 2, 0, 0])):
        assert SlotAgreement(width).measure(some, *PAIRS).similarity.tolist() == pytest.approx(shares)
    thirds = SlotAgreement(2).measure(some, *PAIRS)
    assert SlotAgreement(2).passes(thirds, 2 / 3).tolist() == [True, False, False], "a tie counts"


def test_too_many_choices_of_groups_are_refused() -> None:
    assert Groups(11, 2, agree=5).tables == 462
    with pytest.raises(PlanError, match="184,756 ways"):
        Groups(20, 2, agree=10)


vectors = st.lists(
    st.dictionaries(st.integers(0, 12), st.floats(0.125, 8, width=16), max_size=8), min_size=2, max_size=4
)


@given(vectors)
def test_the_cosine_is_that_of_plain_vectors(rows: list[dict[int, float]]) -> None:
    rows = [dict(sorted(row.items())) for row in rows]
    some = features(*(list(row) for row in rows), weights=[list(row.values()) for row in rows])
    left, right = (side.ravel() for side in np.indices((len(rows), len(rows))))
    measured = Cosine().measure(some, left, right)

    def cosine(a: dict[int, float], b: dict[int, float]) -> float:
        norms = math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))
        return sum(x * b.get(key, 0.0) for key, x in a.items()) / norms if norms else 0.0

    expected = [cosine(rows[a], rows[b]) for a, b in zip(left, right, strict=True)]
    assert measured.similarity.tolist() == pytest.approx(expected, abs=1e-9)
    same = left == right
    assert Cosine().passes(measured, 1.0)[same].tolist() == [bool(row) for row in rows]


def test_a_bit_agreement_and_its_cosine() -> None:
    assert bit_agreement(1) == 1 and bit_agreement(0) == 0.5 and bit_agreement(-1) == 0
    assert bit_agreement(0.5) == pytest.approx(2 / 3)


# Multi-sets


@pytest.mark.parametrize("counts", [(5, 3), (20, 1), (2, 2)])
def test_min_hashes_of_multi_sets_estimate_the_sum_of_minima_over_the_sum_of_maxima(
    counts: tuple[int, int],
) -> None:
    """Documents whose features occur a and b times, and some that only one has."""
    a, b = counts
    shared, own = VOCABULARY[:60], [VOCABULARY[100:130], VOCABULARY[200:245]]
    rows = [np.concatenate([np.repeat(shared, count), only]) for count, only in zip((a, b), own, strict=True)]
    counted = Counts()(features(*rows))
    truth = 60 * min(a, b) / (60 * max(a, b) + 30 + 45)
    slots = MinHash(8192, multiset=True)(counted).slots
    found = float((slots[0] == slots[1]).mean())
    assert found == pytest.approx(truth, abs=4.5 * (truth * (1 - truth) / 8192) ** 0.5)
    as_sets = MinHash(8192)(counted).slots
    assert float((as_sets[0] == as_sets[1]).mean()) == pytest.approx(60 / 135, abs=0.025)
