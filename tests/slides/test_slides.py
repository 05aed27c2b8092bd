"""The worked examples of the slides, shingles and min-hashing, with the corrections that they need."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest

from slides import (
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
