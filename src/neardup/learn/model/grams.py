"""Distinct k-grams of documents with their counts, positions, marks and rarity, from which features are computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Offsets, Tokens
from neardup.errors import PlanError, StatisticsError
from neardup.features.shingles import Shingles
from neardup.plan import stage_json
from neardup.statistics import Statistics
from neardup.weights.frequency import normalised_idf

Floats = NDArray[np.float64]
FeatureColumns = NDArray[np.uint32]
Mask = NDArray[np.bool_]
TITLES = ("title", "subject", "headline", "heading")  # names of title columns
URLS = ("url", "uri", "link", "href", "address")
HALF_FRONT = 256.0  # tokens from the beginning at which `front` is one half
MOST_REPEATS = 32  # more occurrences count as 32
TAG_BITS = 16  # the first bit of tags, after those of fields


@dataclass(frozen=True)
class Context:
    """The context of k-grams: width, document frequencies, columns, query frequencies."""

    width: int
    statistics: Statistics
    fields: tuple[str, ...] = ()
    queries: tuple[Hashes, Floats] | None = None  # k-grams by hash, and the frequency of each from 0 to 1

    def field_bits(self, names: tuple[str, ...]) -> int:
        """The bits of the columns with one of these names."""
        return sum(1 << number for number, name in enumerate(self.fields, 1) if name.lower() in names)


@dataclass(frozen=True)
class GramTable:
    """The distinct k-grams of a batch, by document and sorted by hash, with their counts."""

    offsets: Offsets
    hashes: Hashes
    counts: FeatureColumns
    firsts: FeatureColumns  # tokens before the first occurrence
    capitals: FeatureColumns  # occurrences whose first token is capitalised
    digits: FeatureColumns  # … begins with a digit
    places: FeatureColumns  # bit f: it occurs in field f (0: the text); bit 16 + t: inside tag t of text/tagged.py
    tokens: Tokens
    context: Context

    @cached_property
    def lengths(self) -> Numbers:
        """The length in tokens of the document of each k-gram."""
        return self.spread(np.diff(self.tokens.offsets))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value of each document, repeated for each of its k-grams."""
        return np.repeat(values, np.diff(self.offsets))

    @cached_property
    def rarity(self) -> Floats:
        """log(N / df) / log N: 0 for a k-gram of every document, 1 for one of a single document."""
        return self._rarity(Shingles(self.context.width), self.hashes)

    @cached_property
    def terms(self) -> Floats:
        """The rarities of the words of each k-gram, at its first occurrence: k-grams × width."""
        width = self.context.width
        if len(self.hashes) == 0:
            return np.zeros((0, width))
        words = self._rarity(Shingles(1), Shingles(1)(self.tokens).hashes)
        last = self.spread(self.tokens.offsets[1:] - 1)
        first = self.spread(self.tokens.offsets[:-1]) + self.firsts
        places = np.minimum(first[:, None] + np.arange(width), last[:, None])
        return words[places]

    @cached_property
    def repeats(self) -> Floats:
        """log₂ of the number of occurrences, by fifths up to 1: 0 for one, 1 for 32 and more."""
        table = np.log2(np.maximum(np.arange(MOST_REPEATS + 1), 1)) / np.log2(MOST_REPEATS)
        return table[np.minimum(self.counts, MOST_REPEATS)]

    @cached_property
    def depth(self) -> Floats:
        """Tokens before the first occurrence; 0 in a title, wherever the column is."""
        titles = self.context.field_bits(TITLES)
        depth = self.firsts.astype(np.float64)
        return np.where(self.places & np.uint32(titles), 0.0, depth) if titles else depth

    @cached_property
    def front(self) -> Floats:
        """1 at the beginning of the text, ½ after 256 tokens, falling towards 0."""
        return HALF_FRONT / (HALF_FRONT + self.depth)

    def within(self, bits: int) -> Floats:
        """1 for k-grams that occur in one of these fields or tags, and 0 for others."""
        return (self.places & np.uint32(bits) != 0).astype(np.float64)

    def share(self, part: FeatureColumns) -> Floats:
        """The share of occurrences counted in `part`."""
        shares: Floats = part / np.maximum(self.counts, 1)
        return shares

    def _rarity(self, stage: Shingles, hashes: Hashes) -> Floats:
        statistics = self.context.statistics
        counts = statistics.table(stage_json(stage)).of(hashes)
        known = normalised_idf(np.maximum(np.arange(counts.max(initial=0) + 1), 1), statistics.documents)
        return known[counts] if len(known) <= 4 * len(counts) else known_rarity(counts, statistics.documents)


def known_rarity(counts: Numbers, documents: int) -> Floats:
    """The rarity of document frequencies; an unseen k-gram counts as seen once."""
    return normalised_idf(np.maximum(counts, 1), documents)


def find_grams(features: Features, tokens: Tokens, context: Context | None) -> GramTable:
    """The distinct k-grams of a batch whose occurrences `Shingles(width)` has listed.

    K-grams that occur in the URL alone are excluded: a URL locates a document and is not part of its text.
    """
    if context is None:
        raise StatisticsError("Learned weights need document frequencies: count the features first.")
    if features.distinct or len(tokens.marks) != len(tokens.hashes):
        raise PlanError("Learned weights need every occurrence of a k-gram, and the marks of its tokens.")
    module = kernels.grams
    places = token_places(tokens)
    source = module.Occurrences(features.hashes, features.offsets, tokens.offsets, tokens.marks, places)
    size = len(features.hashes)
    out = module.GramColumns(np.empty(size, np.uint64), *(np.empty(size, np.uint32) for _ in range(5)))
    ends = module.tabulate(source, out)
    columns: list[Any] = [column[: ends[-1]] for column in out]
    if urls := context.field_bits(URLS):
        elsewhere = columns[-1] & np.uint32(0xFFFF & ~urls) != 0
        columns = [column[elsewhere] for column in columns]
        ends = np.append(0, np.cumsum(elsewhere))[ends].astype(np.int64)
    hashes, counts, firsts, capitals, digits, inside = columns
    return GramTable(ends, hashes, counts, firsts, capitals, digits, inside, tokens, context)


def token_places(tokens: Tokens) -> FeatureColumns:
    """The field and the tags of each token as bits; empty without fields and tags."""
    if tokens.fields is None and tokens.tags is None:
        return np.zeros(0, np.uint32)
    one = np.uint32(1)
    fields = np.zeros(len(tokens.hashes), np.uint32) if tokens.fields is None else tokens.fields
    places = one << fields.astype(np.uint32)
    if tokens.tags is not None:
        places |= tokens.tags.astype(np.uint32) << np.uint32(TAG_BITS)
    return places
