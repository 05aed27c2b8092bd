"""Shared and differing passages of two documents, and the counts behind their similarity.

A token is shared if it lies in a feature (a run of tokens) that the other document has too. Consecutive shared
tokens are one passage as long as the other document continues in the same way: at both ends of a moved paragraph a
new passage begins. The cost is a few sorts for any texts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Pairs, Texts, Tokens, make_distinct, to_utf8
from neardup.errors import StatisticsError
from neardup.plan import Check, Plan
from neardup.statistics import Statistics
from neardup.text.composed import to_composed
from neardup.text.whole import TextBytes, WholeWords
from neardup.verify.cosine import Cosine, ExtendedJaccard
from neardup.verify.jaccard import Jaccard
from neardup.verify.numbers import SeparateNumbers, with_words
from neardup.verify.relation import RELATIONS, UNKNOWN, relations

__all__ = ["Comparison", "Passage", "Side", "shared_passages"]

Mask = NDArray[np.bool_]
LEFT, RIGHT = np.zeros(1, np.int64), np.ones(1, np.int64)


class Passage(NamedTuple):
    """A span of one text, shared with the other text as a whole or not at all."""

    start: int  # characters of `Side.text`
    end: int
    shared: bool
    number: int  # passages of one number, on both sides, have the same text; 0: not shared
    tokens: int


@dataclass(frozen=True)
class Side:
    """One of two documents."""

    text: str  # as it was compared: NFC, lone surrogates replaced
    features: int  # distinct ones
    containment: float  # the share of them that the other document has
    passages: list[Passage]  # in order, the whole text


@dataclass(frozen=True)
class Comparison:
    """What two documents have in common, and where."""

    similarity: float
    containment: float  # the shared part of the smaller one
    shared: int  # distinct features that both have
    near_duplicates: bool  # whether the plan's threshold is reached
    relation: str | None  # of the left one to the right one; None where the plan measures too little to know
    estimate: float | None  # the share of equal slots, for a plan that decides on it
    left: Side
    right: Side


class _Cuts(NamedTuple):
    """The passages of one document, by token."""

    starts: Numbers  # the first token of each
    shared: Mask


def shared_passages(plan: Plan, left: str, right: str, statistics: Statistics | None = None) -> Comparison:
    """The similarity of two texts as the plan's engine finds it, and the passages that they share."""
    compared = [to_composed(to_utf8(text).decode()) for text in (left, right)]
    texts = Texts.from_strings(compared)
    if plan.counts and statistics is None:
        raise StatisticsError(
            f"The method {plan.method} needs document frequencies, and two texts have none. "
            "Compare them with another method, or run neardup pairs over the corpus."
        )
    tokens = plan.text(texts)
    features = plan.view.represent(tokens, statistics)
    pairs = _exact(plan, features)
    counts = _counts(plan, features, pairs)
    estimated = _estimate(plan, tokens, statistics)
    decisive = _decisive(plan, tokens, features, pairs if estimated is None else estimated)
    shown = plan.text.parts(texts) if isinstance(plan.text, (TextBytes, WholeWords)) else tokens
    passages = _find_passages(texts, shown, *_runs(plan, shown))
    return Comparison(
        similarity=float(pairs.similarity[0]),
        containment=float(counts.containment[0]),
        shared=int(counts.shared[0]),
        near_duplicates=bool(_check(plan).passes(decisive, plan.threshold)[0]),
        relation="copy" if compared[0] == compared[1] else _relation(plan, decisive),
        estimate=None if estimated is None else float(estimated.similarity[0]),
        left=_side(compared[0], counts.left_size, counts.shared, passages[0]),
        right=_side(compared[1], counts.right_size, counts.shared, passages[1]),
    )


def _exact(plan: Plan, features: Features) -> Pairs:
    """The overlap of the features that candidates come from, in the plan's own measure if that is exact."""
    if plan.check.level == "features" and plan.check_view is None:
        check = plan.check.check if isinstance(plan.check, SeparateNumbers) else plan.check
        return check.measure(make_distinct(features), LEFT, RIGHT)
    return Jaccard().measure(features, LEFT, RIGHT)


def _decisive(plan: Plan, tokens: Tokens, features: Features, pairs: Pairs) -> Pairs:
    """The evidence that decides: 0 where numbers keep the documents apart."""
    if not isinstance(plan.check, SeparateNumbers):
        return pairs
    return plan.check.measure(with_words(make_distinct(features), tokens), LEFT, RIGHT)


def _counts(plan: Plan, features: Features, pairs: Pairs) -> Pairs:
    """The numbers of features, if the pair has dot products and norms instead."""
    if not isinstance(plan.check, (Cosine, ExtendedJaccard)):
        return pairs
    return Jaccard().measure(replace(make_distinct(features), weights=None), LEFT, RIGHT)


def _estimate(plan: Plan, tokens: Tokens, statistics: Statistics | None) -> Pairs | None:
    """The evidence of the signatures, if the plan decides by it."""
    view = plan.check_view or plan.view
    if plan.check.level != "signatures" or view.signature is None:
        return None
    return plan.check.measure(view.signature(view.represent(tokens, statistics)), LEFT, RIGHT)


def _check(plan: Plan) -> Check:
    """The check that decides; without one the exact similarity does."""
    return Jaccard() if plan.check.level == "none" else plan.check


def _relation(plan: Plan, pairs: Pairs) -> str | None:
    number = int(relations(pairs, _check(plan), plan.threshold)[0])
    return None if number == UNKNOWN else RELATIONS[number]


def _side(text: str, size: NDArray[np.float64], shared: NDArray[np.float64], passages: list[Passage]) -> Side:
    return Side(text, int(size[0]), float(shared[0] / size[0]) if size[0] else 0.0, passages)


def _runs(plan: Plan, tokens: Tokens) -> tuple[Features, int]:
    """The runs of tokens to compare, one starting at each token, and their length."""
    width = getattr(plan.view.features, "width", None)
    if isinstance(width, int):
        runs, sizes = plan.view.features(tokens), np.diff(tokens.offsets)
        if np.array_equal(runs.sizes, np.maximum(sizes - width + 1, np.minimum(sizes, 1))):
            return runs, width
    return Features(tokens.offsets, tokens.hashes), 1  # other features: token by token


def _find_passages(texts: Texts, tokens: Tokens, runs: Features, width: int) -> list[list[Passage]]:
    """The passages of both documents."""
    sides, distinct = _dense(np.split(runs.hashes, runs.offsets[1:2]))
    common = _in_both(sides, distinct)
    links = _common_links(sides, common, distinct)
    sizes = np.diff(tokens.offsets)
    cuts = [_cut(common[d], links[d], int(sizes[d]), width) for d in (0, 1)]
    numbers = _number(sides, cuts, distinct)
    found = []
    for d in (0, 1):
        positions = tokens.positions[tokens.offsets[d] : tokens.offsets[d + 1]].astype(np.int64)
        data = texts.data[texts.offsets[d] : texts.offsets[d + 1]]
        starts = _to_characters(data, _text_starts(data, positions, cuts[d].starts))
        found.append(_passages(starts, cuts[d], numbers[d], int(sizes[d])))
    return found


def _dense(sides: list[Hashes] | list[Numbers]) -> tuple[list[Numbers], int]:
    """The values of both sides as numbers from 0, and the number of distinct values."""
    values, ids = np.unique(np.concatenate(sides), return_inverse=True)
    return np.split(ids.astype(np.int64), [len(sides[0])]), len(values)


def _in_both(sides: list[Numbers], size: int) -> list[Mask]:
    """Which entries of each side, all below `size`, the other side has too."""
    present = np.zeros((2, size), np.bool_)
    for d in (0, 1):
        present[d, sides[d]] = True
    return [present[1 - d, sides[d]] for d in (0, 1)]


def _common_links(sides: list[Numbers], common: list[Mask], distinct: int) -> list[Mask]:
    """For each run whether the other document, too, has it right after the run before it."""
    joined = [np.flatnonzero(mask[1:] & mask[:-1]) + 1 for mask in common]
    links = [ids[at - 1] * distinct + ids[at] for ids, at in zip(sides, joined, strict=True)]
    found = [np.zeros(len(ids), np.bool_) for ids in sides]
    for mask, at, both in zip(found, joined, _in_both(*_dense(links)), strict=True):
        mask[at] = both
    return found


def _cut(common: Mask, links: Mask, size: int, width: int) -> _Cuts:
    """Where the passages of a document of `size` tokens begin, and which of them are shared."""
    depth = np.zeros(size + 1, np.int64)  # how many shared runs open here, less those that closed
    begins = np.flatnonzero(common)
    depth[begins] += 1
    depth[np.minimum(begins + width, size)] -= 1
    covered = np.cumsum(depth[:size]) > 0
    first = ~covered
    first[1:] &= covered[:-1]
    first[begins[~links[begins]]] = True  # a covered stretch always begins with such a run
    starts = np.flatnonzero(first)
    return _Cuts(starts, covered[starts])


def _number(sides: list[Numbers], cuts: list[_Cuts], distinct: int) -> list[Numbers]:
    """Numbers from 1, in the order of the left text, that shared passages have in common with their partners.

    A passage belongs to the one of the other text in which its first run stands first.
    """
    base = (0, len(cuts[0].starts))
    edges: list[list[Numbers]] = [[], []]
    for d in (0, 1):
        own = np.flatnonzero(cuts[d].shared)
        runs = sides[d][cuts[d].starts[own]]
        place = _first_places(sides[1 - d], distinct)[runs]
        partner = np.searchsorted(cuts[1 - d].starts, place, "right") - 1
        edges[d].append(own + base[d])
        edges[1 - d].append(partner + base[1 - d])
    roots = kernels.graph.components(base[1] + len(cuts[1].starts), *map(np.concatenate, edges))
    shared = np.concatenate([cut.shared for cut in cuts])
    numbers = np.zeros(len(roots), np.int64)
    numbers[shared] = np.unique(roots[shared], return_inverse=True)[1] + 1
    return np.split(numbers, base[1:])


def _first_places(ids: Numbers, distinct: int) -> Numbers:
    """Where each number below `distinct` first stands; undefined for one that does not."""
    places = np.zeros(distinct, np.int64)
    places[ids[::-1]] = np.arange(len(ids))[::-1]  # of several values for one entry, the last is kept
    return places


def _text_starts(data: NDArray[np.uint8], positions: Numbers, starts: Numbers) -> Numbers:
    """Byte positions of the passages: the text between two tokens is cut behind its last white space.

    So that an opening bracket stays with the word after it, and a full stop with the word before.
    """
    cuts = positions[starts]
    blanks = np.flatnonzero((data == 32) | ((data >= 9) & (data <= 13)))
    if len(blanks):
        behind = blanks[np.maximum(np.searchsorted(blanks, cuts) - 1, 0)] + 1
        previous = positions[np.maximum(starts - 1, 0)]
        cuts = np.where((behind > previous) & (behind < cuts), behind, cuts)
    cuts[:1] = 0  # whatever stands before the first token goes with it
    return cuts


def _to_characters(data: NDArray[np.uint8], cuts: Numbers) -> Numbers:
    """Character positions of byte positions, the end of the text added."""
    ends = np.append(cuts, len(data))
    if data.max(initial=0) < 0x80:
        return ends
    before: Numbers = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])  # characters that began
    characters: Numbers = before[ends]
    return characters


def _passages(starts: Numbers, cuts: _Cuts, numbers: Numbers, size: int) -> list[Passage]:
    """The passages that begin at these characters; a text without a token is one that nothing shares."""
    if len(cuts.starts) == 0:
        return [Passage(0, int(starts[-1]), False, 0, 0)] if starts[-1] else []
    tokens = np.diff(np.append(cuts.starts, size))
    columns = (starts[:-1], starts[1:], cuts.shared, numbers, tokens)
    return list(map(Passage._make, zip(*(column.tolist() for column in columns), strict=True)))
