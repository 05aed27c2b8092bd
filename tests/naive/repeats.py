"""Repeated windows of tokens: by a suffix array, and by looking at every window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

Place = tuple[int, int]  # document, token


def suffix_array_windows(documents: Sequence[Sequence[str]], width: int) -> set[Place]:
    """The windows that occur elsewhere: suffixes whose neighbour in sorted order shares `width` tokens."""
    suffixes = sorted(
        (list(document[start:]), (number, start))
        for number, document in enumerate(documents)
        for start in range(len(document))
    )
    found: set[Place] = set()
    for (left, one), (right, two) in pairwise(suffixes):
        if len(left) >= width and left[:width] == right[:width]:
            found |= {one, two}
    return found


def repeated_windows(documents: Sequence[Sequence[str]], width: int) -> dict[Place, Place]:
    """The first occurrence of each window that occurs more than once."""
    groups: dict[tuple[str, ...], list[Place]] = {}
    for number, document in enumerate(documents):
        for start in range(len(document) - width + 1):
            groups.setdefault(tuple(document[start : start + width]), []).append((number, start))
    return {place: places[0] for places in groups.values() if len(places) > 1 for place in places}


def passages(documents: Sequence[Sequence[str]], width: int) -> dict[tuple[str, ...], list[Place]]:
    """The longest sequences of windows that always occur together, as tokens, with all their places."""
    first = repeated_windows(documents, width)
    occurrences: dict[Place, list[Place]] = {}
    for place, leader in first.items():
        occurrences.setdefault(leader, []).append(place)

    def only(window: Place, step: int) -> Place | None:
        """The window that stands before or behind all occurrences of this one, and nowhere else."""
        beside = {first.get((number, start + step)) for number, start in occurrences[window]}
        if len(beside) != 1 or None in beside:
            return None
        (other,) = beside
        return other

    def follows(one: Place, two: Place | None) -> bool:
        return two is not None and only(one, 1) == two and only(two, -1) == one

    found: dict[tuple[str, ...], list[Place]] = {}
    for window, places in occurrences.items():
        before = only(window, -1)
        if before is not None and follows(before, window):
            continue
        last, length = window, 1
        while follows(last, after := only(last, 1)):
            assert after is not None
            last, length = after, length + 1
        number, start = window
        found[tuple(documents[number][start : start + length + width - 1])] = sorted(places)
    return found


def later_tokens(documents: Sequence[Sequence[str]], width: int) -> set[Place]:
    """The tokens of windows that stand earlier; not those that the first occurrence of the same window has."""
    found: set[Place] = set()
    for place, leader in repeated_windows(documents, width).items():
        if place != leader:
            found |= set(window_tokens(place, width)) - set(window_tokens(leader, width))
    return found


def window_tokens(place: Place, width: int) -> Iterable[Place]:
    """The tokens of a window."""
    return [(place[0], place[1] + k) for k in range(width)]
