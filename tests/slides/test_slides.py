"""Every worked example of the slides on near-duplicate detection, with the corrections that they need."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations, product

import pytest

from neardup.candidates.curve import Bands, cost
from neardup.signatures.estimate import standard_error, wilson_interval
from slides import (
    coverage,
    estimate,
    first_position,
    first_row,
    firsts,
    jaccard,
    position_sketch,
    rank_minhash,
    row_types,
    rows,
    shingles,
    sketch,
    slide_interval,
)

HOBBIT = "In a hole in the ground there lived a hobbit"
CHANGED = HOBBIT.replace("lived", "was")


def joined(shingle_set: set[tuple[str, ...]]) -> set[str]:
    return {" ".join(shingle) for shingle in shingle_set}


# Shingles


def test_hobbit_has_six_shingles_of_five_words() -> None:
    assert joined(shingles(HOBBIT, 5)) == {
        "In a hole in the",
        "a hole in the ground",
        "hole in the ground there",
        "in the ground there lived",
        "the ground there lived a",
        "ground there lived a hobbit",
    }


def test_hobbit_changes_three_shingles_of_three_words() -> None:
    before, after = shingles(HOBBIT, 3), shingles(CHANGED, 3)
    assert joined(before - after) == {"ground there lived", "there lived a", "lived a hobbit"}
    assert joined(after - before) == {"ground there was", "there was a", "was a hobbit"}
    assert jaccard(before, after) == Fraction(5, 11)


def test_hobbit_changes_three_of_six_shingles_of_five_words() -> None:
    """Not five: the word stands near the end, and only three shingles reach it."""
    before, after = shingles(HOBBIT, 5), shingles(CHANGED, 5)
    assert len(before - after) == len(after - before) == 3
    assert jaccard(before, after) == Fraction(1, 3)


@pytest.mark.parametrize("k", range(1, 9))
def test_a_changed_word_touches_at_most_k_shingles(k: int) -> None:
    """k in the middle of a text, fewer near its ends; as many new ones come as old ones go."""
    words = [f"w{i}" for i in range(40)]
    before = shingles(" ".join(words), k)
    touched = []
    for i in range(len(words)):
        after = shingles(" ".join([*words[:i], "new", *words[i + 1 :]]), k)
        assert len(before - after) == len(after - before)
        touched.append(len(before - after))
    assert max(touched) == k == touched[20]
    assert touched[0] == touched[-1] == 1


@pytest.mark.parametrize("k", range(1, 9))
def test_a_moved_paragraph_touches_up_to_three_times_k_minus_one_shingles(k: int) -> None:
    """Erratum: there are three seams of k − 1 shingles, two where it was and one where it goes to.

    The 2k of the slide holds for k up to 3; for five words it is 12, not 10.
    """
    words = [f"w{i}" for i in range(60)]
    before = shingles(" ".join(words), k)
    touched = set()
    for start, target in product(range(0, 50, 5), range(0, 51, 5)):
        paragraph, rest = words[start : start + 10], words[:start] + words[start + 10 :]
        after = shingles(" ".join(rest[:target] + paragraph + rest[target:]), k)
        assert len(before - after) == len(after - before)
        touched.add(len(before - after))
    assert max(touched) == 3 * (k - 1)
    assert (max(touched) <= 2 * k) == (k <= 3)


def test_jack_london() -> None:
    d1 = shingles("Jack London traveled to Oakland", 2)
    d2 = shingles("Jack London traveled to the city of Oakland", 2)
    d3 = shingles("Jack traveled from Oakland to London", 2)
    assert (len(d1), len(d2), len(d3)) == (4, 7, 5)
    assert jaccard(d1, d2) == Fraction(3, 8)
    assert jaccard(d1, d3) == jaccard(d2, d3) == 0


# Min-hashing


def two_columns(rows_count: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    columns = [bits for bits in product((0, 1), repeat=rows_count) if any(bits)]
    return list(product(columns, columns))


def test_four_row_types_give_the_jaccard_coefficient() -> None:
    for left, right in two_columns(4):
        a, b, c, d = row_types(left, right)
        assert a + b + c + d == 4
        assert jaccard(rows(left), rows(right)) == Fraction(a, a + b + c)


def test_the_chance_of_equal_minhashes_is_the_jaccard_coefficient() -> None:
    """Counted over all permutations: the first row of the union is equally often any of its rows."""
    for left, right in two_columns(4):
        outcomes = firsts(left, right)
        equal = Fraction(sum(x == y for x, y in outcomes), len(outcomes))
        assert equal == jaccard(rows(left), rows(right))


def test_the_proof_on_the_slide_counts_pairs_that_cannot_happen() -> None:
    """Erratum: the formula is right, its argument is not.

    a² / ((a + b)(a + c) − bc) equals a / (a + b + c), but two different rows of type a are never the
    two first rows, and b with c can be: a of the a + ab + ac + bc outcomes are equal, and they are not
    equally likely.
    """
    left, right = (1, 1, 1, 0), (1, 1, 0, 1)
    a, b, c, _ = row_types(left, right)
    assert Fraction(a * a, (a + b) * (a + c) - b * c) == Fraction(a, a + b + c)
    outcomes = set(firsts(left, right))
    assert len(outcomes) == a + a * b + a * c + b * c == 7
    assert (a + b) * (a + c) - b * c == 8
    assert sum(x == y for x, y in outcomes) == a != a * a


PERMUTATIONS = ((1, 3, 7, 6, 2, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 6, 1, 2, 5))
MATRIX = {
    "d1": (1, 1, 0, 0, 0, 1, 1),
    "d2": (0, 0, 1, 1, 1, 0, 0),
    "d3": (1, 0, 0, 0, 0, 1, 1),
    "d4": (0, 1, 1, 1, 1, 0, 0),
}


def test_permutation_tables() -> None:
    """The signature matrix, with a line for each permutation as the slides uncover them."""
    lines = [[rank_minhash(column, ranks) for column in MATRIX.values()] for ranks in PERMUTATIONS]
    assert lines == [[1, 2, 1, 2], [2, 1, 4, 1], [2, 1, 2, 1]]


def test_permutation_tables_estimate() -> None:
    signatures = {d: [rank_minhash(c, ranks) for ranks in PERMUTATIONS] for d, c in MATRIX.items()}
    found = {(x, y): estimate(signatures[x], signatures[y]) for x, y in combinations(MATRIX, 2)}
    true = {(x, y): jaccard(rows(MATRIX[x]), rows(MATRIX[y])) for x, y in combinations(MATRIX, 2)}
    assert {pair for pair, value in found.items() if value} == {("d1", "d3"), ("d2", "d4")}
    assert found["d1", "d3"] == Fraction(2, 3)
    assert found["d2", "d4"] == 1
    assert true["d1", "d3"] == true["d2", "d4"] == Fraction(3, 4)
    assert true["d1", "d4"] == Fraction(1, 7)
    assert true["d1", "d2"] == true["d2", "d3"] == true["d3", "d4"] == 0


def test_ranks_and_rows_agree_alike() -> None:
    """The text defines the min-hash as the first row, the tables show its rank: the same equalities."""
    for ranks, (x, y) in product(PERMUTATIONS, combinations(MATRIX.values(), 2)):
        same_rank = rank_minhash(x, ranks) == rank_minhash(y, ranks)
        assert same_rank == (first_row(x, ranks) == first_row(y, ranks))


D1, D2 = (1, 0, 1, 1, 0), (1, 0, 1, 0, 1)
H = (lambda x: x % 5, lambda x: (2 * x + 1) % 5)


def test_two_hashes_as_the_slide_reads_them() -> None:
    """h takes a position to a row; the estimate is 1/2."""
    assert [first_position(d, [H[1](p) for p in range(5)]) for d in (D1, D2)] == [1, 2]
    assert position_sketch(D1, H) == (0, 1)
    assert position_sketch(D2, H) == (0, 2)
    assert estimate(position_sketch(D1, H), position_sketch(D2, H)) == Fraction(1, 2)


def test_two_hashes_by_the_usual_convention() -> None:
    """h takes a row to its rank; both sketches are (0, 0), and the estimate is 1."""
    assert sketch(D1, H, range(5)) == sketch(D2, H, range(5)) == (0, 0)


def test_two_hashes_true_jaccard_is_a_half() -> None:
    """Erratum: 2/4, not 2/5: the row that neither document has was counted."""
    assert row_types(D1, D2) == (2, 1, 1, 1)
    assert jaccard(rows(D1), rows(D2)) == Fraction(2, 4)


def test_two_hashes_trace() -> None:
    """The table that fills the slots row by row; None stands for the infinite start."""
    slots: dict[tuple[int, int], int | None] = {(i, d): None for i in (0, 1) for d in (0, 1)}
    trace = []
    for r, i in product(range(5), (0, 1)):
        row = H[i](r)
        for d, column in enumerate((D1, D2)):
            if column[row] and slots[i, d] is None:
                slots[i, d] = r
        trace.append((row, D1[row], D2[row], slots[i, 0], slots[i, 1]))
    assert trace == [
        (0, 1, 1, 0, 0),
        (1, 0, 0, None, None),
        (1, 0, 0, 0, 0),
        (3, 1, 0, 1, None),
        (2, 1, 1, 0, 0),
        (0, 1, 1, 1, 2),
        (3, 1, 0, 0, 0),
        (2, 1, 1, 1, 2),
        (4, 0, 1, 0, 0),
        (4, 0, 1, 1, 2),
    ]


EXERCISE = ((0, 1, 0, 1), (1, 0, 1, 0), (1, 1, 0, 0))
EXERCISE_HASHES = (lambda x: (5 * x + 5) % 4, lambda x: (3 * x + 1) % 4)


def estimates(sketches: list[tuple[int, ...]]) -> list[Fraction]:
    """For the pairs (1, 2), (1, 3) and (2, 3)."""
    return [estimate(x, y) for x, y in combinations(sketches, 2)]


def test_exercise() -> None:
    """Rows numbered from 0, as in the slides' example, and h from row to rank: 0, 1/2, 1/2."""
    assert all(EXERCISE_HASHES[0](x) == (x + 1) % 4 for x in range(8))
    sketches = [sketch(d, EXERCISE_HASHES, range(4)) for d in EXERCISE]
    assert sketches == [(0, 0), (1, 1), (1, 0)]
    assert estimates(sketches) == [0, Fraction(1, 2), Fraction(1, 2)]
    true = [jaccard(rows(x), rows(y)) for x, y in combinations(EXERCISE, 2)]
    assert true == [0, Fraction(1, 3), Fraction(1, 3)]


def test_exercise_depends_on_convention_and_numbering() -> None:
    """Two slots are a coarse sample: each reading is a fair one, and they disagree."""
    positions = [position_sketch(d, EXERCISE_HASHES) for d in EXERCISE]
    assert positions == [(0, 0), (1, 1), (0, 0)]
    assert estimates(positions) == [0, 1, 0]
    from_one = [sketch(d, EXERCISE_HASHES, range(1, 5)) for d in EXERCISE]
    assert from_one == [(1, 1), (0, 0), (2, 0)]
    assert estimates(from_one) == [0, 0, Fraction(1, 2)]


# Confidence


def test_slide_interval_covers_less_than_it_says() -> None:
    """Erratum: a tail of 1 − θ on each side leaves 2θ − 1 in the middle: 0.9 for 0.95."""
    for theta in (0.9, 0.95, 0.975):
        covered = coverage(partial(slide_interval, slots=2000, confidence=theta), 0.5, 2000)
        assert covered == pytest.approx(2 * theta - 1, abs=0.012)


def test_slide_interval_has_no_width_at_the_ends() -> None:
    """Erratum: 20 of 20 agreeing slots do not prove that two documents are equal."""
    assert slide_interval(0, 20, 0.95) == (0, 0)
    assert slide_interval(20, 20, 0.95) == (1, 1)
    low, high = wilson_interval(20, 20)
    assert high == 1
    assert low == pytest.approx(20 / (20 + 1.959964**2))


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
def test_wilson_covers_what_it_says(p: float) -> None:
    """By exact summation, k = 130: a discrete sample can only oscillate around the level."""
    ours = coverage(partial(wilson_interval, slots=130), p, 130)
    printed = coverage(partial(slide_interval, slots=130, confidence=0.95), p, 130)
    assert ours == pytest.approx(0.95, abs=0.025)
    assert printed < 0.93


def test_wilson_covers_what_it_says_on_average() -> None:
    levels = [i / 50 for i in range(1, 50)]
    for slots in (20, 64, 130):
        covered = [coverage(partial(wilson_interval, slots=slots), p, slots) for p in levels]
        assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.01)


def test_standard_error_shrinks_with_the_root_of_k() -> None:
    assert standard_error(0.5, 100) == pytest.approx(0.05)
    assert standard_error(0.5, 400) == pytest.approx(0.025)
    assert standard_error(0.0, 100) == standard_error(1.0, 100) == 0


# Bands


def test_forty_megabytes_and_five_thousand_million_pairs() -> None:
    needed = cost(Bands(20, 5), documents=10**5)
    assert needed.signature_bytes == 10**5 * 100 * 4 == 40_000_000
    assert needed.key_bytes == 10**5 * 20 * 8 == 16_000_000
    assert 10**5 * (10**5 - 1) // 2 == 4_999_950_000
    assert needed.candidates < 4_999_950_000 / 10_000


def test_false_negatives_at_eight_tenths() -> None:
    """Erratum: 0.000356 where the slide cuts to 0.00035; one pair in 2,809, 99.9644 % found."""
    assert pytest.approx(0.328, abs=0.0005) == 0.8**5
    missed = 1 - Bands(20, 5).probability(0.8)
    assert missed == pytest.approx(0.000356, abs=5e-7)
    assert round(1 / missed) == 2809


def test_false_positives_at_three_tenths() -> None:
    """Erratum: 0.047494 where the slide cuts to 0.0474; and the similarity is 0.3, not "0.3 %"."""
    assert pytest.approx(0.00243) == 0.3**5
    assert Bands(20, 5).probability(0.3) == pytest.approx(0.047494, abs=5e-7)
    assert Bands(20, 5).probability(0.003) < 1e-11


@pytest.mark.parametrize(
    ("similarity", "printed", "digits"),
    [(0.2, 0.006, 3), (0.3, 0.047, 3), (0.4, 0.186, 3), (0.5, 0.47, 2), (0.6, 0.802, 3), (0.7, 0.975, 3),
     (0.8, 0.9996, 4)],
)  # fmt: skip
def test_twenty_bands_of_five_rows(similarity: float, printed: float, digits: int) -> None:
    assert round(Bands(20, 5).probability(similarity), digits) == printed


def test_one_row_is_a_straight_line() -> None:
    for s in (0.0, 0.25, 0.5, 1.0):
        assert Bands(1, 1).probability(s) == pytest.approx(s)


@pytest.mark.parametrize(
    ("bands", "midpoint", "missed", "in_vain"),
    [(20, 0.5087, 0.000356, 0.047494), (15, 0.5382, 0.002592, 0.035836), (10, 0.5823, 0.018869, 0.024036)],
)
def test_fewer_bands_of_five_rows(bands: int, midpoint: float, missed: float, in_vain: float) -> None:
    """20, 15 and 10 bands: the middle of the curve, misses at 0.8, and false candidates at 0.3."""
    curve = Bands(bands, 5)
    assert curve.midpoint == pytest.approx(midpoint, abs=5e-5)
    assert 1 - curve.probability(0.8) == pytest.approx(missed, abs=5e-7)
    assert curve.probability(0.3) == pytest.approx(in_vain, abs=5e-7)


def test_fewer_bands_mean_fewer_false_positives_and_more_false_negatives() -> None:
    for s in (0.1, 0.3, 0.5, 0.7, 0.9):
        found = [Bands(b, 5).probability(s) for b in (10, 15, 20)]
        assert found == sorted(found)
        assert len(set(found)) == 3
