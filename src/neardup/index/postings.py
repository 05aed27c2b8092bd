"""Documents to the 64-bit keys by which an index finds them: one scheme for each way to find candidates.

Two documents are candidates if a key that one is asked for by is a key that the other is stored under. Tables are
folded into keys, so that a segment of the index is one sorted list. Table 0 has the digests of texts: copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from neardup.candidates.hamming import to_columns
from neardup.candidates.partitions import boundaries
from neardup.candidates.prefix import prefix_entries
from neardup.columns import Features, Hashes, Numbers, make_distinct
from neardup.engines.core.represent import Representation
from neardup.errors import PlanError
from neardup.plan import Distribution, Plan
from neardup.thresholds import as_fraction

COPIES = 0  # the table of digests
MOST_TABLES = 128  # of Hamming blocks
KEY_BITS = 24  # of a Hamming key, that few fingerprints share by chance
LARGEST = 1 << 31  # features of a document
WIDEST = (
    19,
    20,
)  # size partitions are no narrower than for this threshold: the number of partitions stays small
THIRTY, TWENTY_SEVEN, THIRTY_ONE = (np.uint64(bits) for bits in (30, 27, 31))
STEP, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True)
class Postings:
    """Keys of documents, several for each."""

    documents: Numbers  # the place of each key's document in its batch
    keys: Hashes


Scheme = Callable[[Plan, Representation, bool], list[Postings]]  # with True, the keys to ask for


def stored_keys(plan: Plan, made: Representation, digests: Hashes) -> Postings:
    """The keys that documents are stored under."""
    return _joined([_copies(made, digests), *SCHEMES[plan.candidates.distribution](plan, made, False)])


def probe_keys(plan: Plan, made: Representation, digests: Hashes) -> Postings:
    """The keys that documents are asked for by."""
    return _joined([_copies(made, digests), *SCHEMES[plan.candidates.distribution](plan, made, True)])


def check_scheme(plan: Plan) -> None:
    """Refuse a plan whose candidates an index cannot find."""
    if plan.candidates.distribution not in SCHEMES:
        raise PlanError(f"The method {plan.method} cannot be used in an index: choose another method.")
    if plan.candidates.distribution == "hamming":
        _block_masks(*_block_settings(plan))


def fold(table: int | Hashes, keys: Hashes) -> Hashes:
    """Keys of a table as keys of all tables: spread evenly, and different ones stay different within the table."""
    start = (
        np.uint64((table + 1) * int(STEP) % (1 << 64))
        if isinstance(table, int)
        else (table + np.uint64(1)) * STEP
    )
    mixed = keys + start  # an array: it wraps around without a warning
    for shift, factor in ((THIRTY, FIRST), (TWENTY_SEVEN, SECOND)):
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> THIRTY_ONE
    return mixed


def _joined(parts: list[Postings]) -> Postings:
    return Postings(
        np.concatenate([part.documents for part in parts]), np.concatenate([part.keys for part in parts])
    )


def _copies(made: Representation, digests: Hashes) -> Postings:
    """Texts without a token are copies of nothing."""
    some = np.flatnonzero(made.tokens > 0)
    return Postings(some, fold(COPIES, digests[some, 0]))


def _of_tables(plan: Plan, made: Representation, asked: bool) -> list[Postings]:
    """Bands, super-shingles, lexicons, bands of bits: equal keys of a table."""
    some = np.flatnonzero(made.present)
    tables = np.arange(1, len(made.keys) + 1, dtype=np.uint64)
    folded = fold(tables[:, None], made.keys[:, some])
    documents = np.empty(folded.shape, np.int64)
    documents[:] = some  # for one document ten times faster than np.tile
    return [Postings(documents.ravel(), folded.ravel())]


# Hamming distance --------------------------------------------------------------------------------------------


def _of_blocks(plan: Plan, made: Representation, asked: bool) -> list[Postings]:
    """Fingerprints that differ in at most k bits agree in at least b − k of b blocks of bits."""
    assert made.signatures is not None
    some = np.flatnonzero(made.present)
    words = to_columns(made.signatures.slots[some])
    found = []
    for table, mask in enumerate(_block_masks(*_block_settings(plan)), 1):
        key = np.zeros(len(some), np.uint64)
        for word, bits in zip(words, mask, strict=True):
            key = fold(table, key ^ (word & bits))
        found.append(Postings(some, key))
    return found


def _block_settings(plan: Plan) -> tuple[int, int, int]:
    candidates: Any = plan.candidates
    return candidates.bits, candidates.distance(plan.threshold), candidates.exact


@cache
def _block_masks(bits: int, distance: int, exact: int) -> Hashes:
    """The bits of each table's key: tables × words. Reserved bits, the last, must be equal and are in every key."""
    free, blocks = bits - exact, distance + 1
    if blocks > min(free, MOST_TABLES):
        raise PlanError(
            f"An index finds fingerprints of {bits} bits within a distance of {min(free, MOST_TABLES) - 1} at most, "
            f"and {distance} is asked for: take a smaller --distance or a higher --threshold."
        )
    while (
        free * (blocks - distance) // blocks < KEY_BITS
        and blocks < free
        and comb(blocks + 1, distance) <= MOST_TABLES
    ):
        blocks += 1
    masks = []
    for chosen in combinations(range(blocks), blocks - distance):
        mask = sum(1 << bit for bit in range(free) if bit % blocks in chosen)
        mask |= (1 << bits) - (1 << free)
        masks.append([mask >> (64 * word) & (2**64 - 1) for word in range(-(-bits // 64))])
    return np.array(masks, np.uint64)


# features ----------------------------------------------------------------------------------------------------


def _of_features(plan: Plan, made: Representation, asked: bool) -> list[Postings]:
    """Every feature: candidates share one (cosine, containment)."""
    sets = made.features if made.features.distinct else make_distinct(made.features)
    return [Postings(np.repeat(np.arange(len(sets)), sets.sizes), fold(1, sets.hashes))]


def _of_prefixes(plan: Plan, made: Representation, asked: bool) -> list[Postings]:
    """Features of the prefix, in the table of the document's size partition.

    In ascending order of their hashes, the first feature that two similar documents share lies where the features
    before it weigh at most L − ⌈τL⌉ in each. Similar sizes lie in one partition or in neighbouring ones
    (SpotSigs, 4.2).
    """
    sets = made.features if made.features.distinct else make_distinct(made.features)
    sizes = _sizes(sets)
    limit = as_fraction(plan.threshold)
    room = sizes - -(-sizes * limit.numerator // limit.denominator)
    entries = np.sort(prefix_entries(sets, np.zeros(len(sets.hashes), np.int64), room))
    documents = np.repeat(np.arange(len(sets)), sets.sizes)[entries]
    partition = np.searchsorted(_partitions(limit.numerator, limit.denominator), sizes, "right")[documents]
    found = []
    for shift in (-1, 0, 1) if asked else (0,):
        tables = (partition + shift + 1).astype(np.uint64)
        found.append(Postings(documents, fold(1, sets.hashes[entries] ^ tables * FIRST)))
    return found


def _sizes(sets: Features) -> Numbers:
    """Σ frequencies of each document's features."""
    if sets.weights is None:
        return sets.sizes
    ends = np.concatenate([[0], np.cumsum(sets.weights, dtype=np.float64)])
    return np.diff(ends[sets.offsets]).astype(np.int64)


@cache
def _partitions(numerator: int, denominator: int) -> Numbers:
    """Where partitions of sizes begin; wider ones than needed are still right."""
    limit = as_fraction(numerator / denominator)
    widest = as_fraction(WIDEST[0] / WIDEST[1])
    return boundaries(min(limit, widest), LARGEST)


SCHEMES: dict[Distribution, Scheme] = {
    "keys": _of_tables,
    "hamming": _of_blocks,
    "prefix": _of_prefixes,
    "blocks": _of_features,
}
