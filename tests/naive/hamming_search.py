"""Hamming search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from naive.common import Edge


def count_columns(fingerprints: Sequence[int]) -> list[int]:
    """The number of ones of each fingerprint."""
    return [x.bit_count() for x in fingerprints]


def block_keys(fingerprints: Sequence[int], bits: Sequence[int]) -> list[int]:
    """The chosen bits of each fingerprint, the first of them lowest."""
    return [sum((x >> bit & 1) << place for place, bit in enumerate(bits)) for x in fingerprints]


def order_by_digit(keys: Sequence[int], shift: int, mask: int, order: Sequence[int]) -> list[int]:
    """Places in order of a digit of their keys, otherwise as they were."""
    return sorted(order, key=lambda place: keys[place] >> shift & mask)


def gather_columns(fingerprints: Sequence[int], order: Sequence[int]) -> list[int]:
    """Fingerprints in an order."""
    return [fingerprints[place] for place in order]


def run_ends(keys: Sequence[int], limit: int) -> tuple[list[int], list[Edge]]:
    """The end of each place's run of equal keys; runs that are too long end at once and are listed."""
    begins = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    runs = list(zip(begins, [*begins[1:], len(keys)], strict=False))
    ends = [j + 1 if b - a > limit else b for a, b in runs for j in range(a, b)]
    return ends, [(a, b) for a, b in runs if b - a > limit]


def window_ends(ones: Sequence[int], distance: int) -> list[int]:
    """The first place with more than `distance` ones more than each place."""
    return [sum(other <= one + distance for other in ones) for one in ones]


def met_before(a: int, b: int, earlier: Iterable[int]) -> bool:
    """Whether two fingerprints agree under one of the masks."""
    return any((a ^ b) & mask == 0 for mask in earlier)


def join_spans(
    fingerprints: Sequence[int], ends: Sequence[int], distance: int, earlier: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Pairs i < j < ends[i] within the distance that agree under none of the masks."""
    return [
        (i, j, (fingerprints[i] ^ fingerprints[j]).bit_count())
        for i in range(len(fingerprints))
        for j in range(i + 1, ends[i])
        if (fingerprints[i] ^ fingerprints[j]).bit_count() <= distance
        and not met_before(fingerprints[i], fingerprints[j], earlier)
    ]


def probe(
    fingerprints: Sequence[int], keys: Sequence[int], wanted: Sequence[tuple[int, int]], distance: int,
    earlier: Sequence[int],
) -> set[tuple[int, int, int]]:  # fmt: skip
    """(query, document, distance) of documents with a query's key that are near it."""
    return {
        (q, d, (x ^ y).bit_count())
        for q, (x, key) in enumerate(wanted)
        for d, y in enumerate(fingerprints)
        if keys[d] == key and (x ^ y).bit_count() <= distance and not met_before(x, y, earlier)
    }


def stirred(h: int) -> int:
    """A hash of a hash, whose remainder selects one feature in p."""
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return h ^ h >> 33
