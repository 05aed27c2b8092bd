"""Runs checked on the text: tokens of two windows with one hash are compared letter by letter, case folded.

A difference is a collision of hashes, by chance or made on purpose. The windows concerned are then grouped by their
tokens themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.engines.core.represent import chunk_ranges
from neardup.engines.local.passages.positions import TokenBytes, whole_text
from neardup.engines.local.passages.repeats import Runs, join_pairs
from neardup.text.composed import to_composed
from neardup.text.words import unicode_table
from neardup.workers import ordered_map

STRETCH = 1 << 15  # tokens that are compared at a time


@dataclass(frozen=True)
class Comparisons:
    """Sequences of tokens that must be equal."""

    run: Numbers
    left: Numbers
    right: Numbers
    tokens: Numbers


def verified(runs: Runs, width: int, places: TokenBytes) -> tuple[Runs, int]:
    """The runs without windows whose tokens differ from those of their first occurrence, and how many of these were."""
    wrong = _differing(_comparisons(runs, width), places)
    if not len(wrong):
        return runs, 0
    return _regrouped(runs, np.unique(wrong), width, places)


def _comparisons(runs: Runs, width: int) -> Comparisons:
    """Each run with its first occurrence; and one that follows itself with itself, so many tokens on."""
    position, first, length, count = runs.T
    number = np.arange(len(runs))
    other, again = position != first, count > 1
    whole = Comparisons(
        np.concatenate([number[other], number[again]]),
        np.concatenate([position[other], (position + length)[again]]),
        np.concatenate([first[other], position[again]]),
        np.concatenate([(length + width - 1)[other], (length * (count - 1) + width - 1)[again]]),
    )
    parts = -(-whole.tokens // STRETCH)
    row = np.repeat(np.arange(len(whole.run)), parts)
    begin = STRETCH * (np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts))
    tokens = np.minimum(whole.tokens[row] - begin, STRETCH)
    return Comparisons(whole.run[row], whole.left[row] + begin, whole.right[row] + begin, tokens)


def _differing(some: Comparisons, places: TokenBytes) -> Numbers:
    """The runs of the comparisons that find a difference."""
    ends = [each + some.tokens - 1 for each in (some.left, some.right)]
    begins, stops = places.find(np.concatenate([some.left, some.right, *ends]))
    n = len(some.run)
    left, right = np.split(begins[: 2 * n], 2)
    left_end, right_end = np.split(stops[2 * n :], 2)
    changed = places.pieces.changed
    composing = changed[places.pieces.of(some.left)] | changed[places.pieces.of(some.right)]
    composing |= changed[places.pieces.of(ends[0])] | changed[places.pieces.of(ends[1])]
    table, mode = unicode_table(places.text.tokens)

    def differing(part: tuple[int, int]) -> Numbers:
        rows = slice(*part)
        one = whole_text(places.spool, left[rows], left_end[rows])
        two = whole_text(places.spool, right[rows], right_end[rows])
        if composing[rows].any():
            one, two = _composed(one), _composed(two)
        found = np.empty(len(one), np.int64)
        kernel = kernels.repeats
        kernel.differing_texts(one.data, one.offsets, two.data, two.offsets, table, mode, found)
        return some.run[rows][found >= 0]

    parts = chunk_ranges(left_end - left)
    return np.concatenate([np.zeros(0, np.int64), *ordered_map(differing, parts, places.threads)])


def _composed(texts: Texts) -> Texts:
    return Texts.from_strings(
        [to_composed(texts.document(k).decode("utf-8", "replace")) for k in range(len(texts))]
    )


def _regrouped(runs: Runs, wrong: Numbers, width: int, places: TokenBytes) -> tuple[Runs, int]:
    """The runs after all windows that share a hash with those of the wrong ones are grouped by their tokens."""
    bad = np.zeros(0, np.int64)
    for run in wrong.tolist():
        bad = np.union1d(bad, np.arange(runs[run, 1], runs[run, 1] + runs[run, 2]))
    low, high = np.searchsorted(bad, runs[:, 1]), np.searchsorted(bad, runs[:, 1] + runs[:, 2])
    touched = high > low
    positions, firsts = _windows_of(runs[touched])
    suspect = np.isin(firsts, bad)
    groups: dict[tuple[int, bytes], list[int]] = {}
    for k in np.flatnonzero(suspect).tolist():
        groups.setdefault((int(firsts[k]), _window_text(int(positions[k]), width, places)), []).append(k)
    keep, changed = ~suspect, 0
    before = firsts.copy()
    for members in groups.values():  # in order of position, as the windows are
        if len(members) > 1:
            keep[members] = True
            firsts[members] = positions[members[0]]
    changed = int((~keep | (firsts != before)).sum())
    found = np.concatenate([runs[~touched], join_pairs(positions[keep], firsts[keep], width)])
    return found[np.argsort(found[:, 0], kind="stable")], changed


def _windows_of(runs: Runs) -> tuple[Numbers, Numbers]:
    """The windows of some runs, one by one: positions and first occurrences."""
    position, first, length, count = runs.T
    sizes = length * count
    row = np.repeat(np.arange(len(runs)), sizes)
    number = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return position[row] + number, first[row] + number % np.maximum(length[row], 1)


def _window_text(position: int, width: int, places: TokenBytes) -> bytes:
    """The tokens of a window, case folded, with a mark between them."""
    begins, ends = places.find(np.arange(position, position + width))
    texts = _composed(whole_text(places.spool, begins, ends))
    table, mode = unicode_table(places.text.tokens)
    fold = kernels.repeats.fold_token
    parts = [texts.data[first:last] for first, last in pairwise(texts.offsets.tolist())]
    return b"\xff".join(fold(part, table, mode).tobytes() for part in parts)
