"""Weights of phrases by how common their words are, and how rare they are themselves.

Alonso, Fetterly and Manasse, Duplicate News Story Detection Revisited (MSR-TR-2013-60), sections 4.3 to 4.5: a
function of the document frequency of the phrase's first word, divided by the document frequency of the phrase if
asked, times 1 for a rare phrase and 0 for a common one. Our additions: the frequency may be the mean over the words
around the phrase instead of its first word's, which separates running text from boilerplate better; and a document
of nothing but common text is compared by that text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Tokens, make_distinct
from neardup.errors import ParameterError, PlanError, StatisticsError
from neardup.features.shingles import Shingles
from neardup.plan import CorpusAware, Feature, stage_json
from neardup.statistics import Statistics
from neardup.weights.position import as_bag, over_occurrences

Floats = NDArray[np.float64]
Function = Literal[
    "uniform", "df", "df2", "df3", "df4", "ln_df", "ln_df2", "ln_df3", "ln_df4", "ln_df10", "ln_idf", "idf"
]

# Table 4; df as a share of the documents. The logarithm is of df + 1: a word of one document has weight, too. ln_idf
# is the table's ln(N/df), at least 0; idf is ours, and above 0 for a word of every document, too.
FUNCTIONS: dict[str, Callable[[Floats, int], Floats]] = {
    "uniform": lambda df, n: np.ones(len(df)),
    **{f"df{p if p > 1 else ''}": lambda df, n, p=p: (df / n) ** p for p in (1, 2, 3, 4)},  # type: ignore[misc]
    **{f"ln_df{p if p > 1 else ''}": lambda df, n, p=p: np.log1p(df) ** p for p in (1, 2, 3, 4, 10)},  # type: ignore[misc]
    "ln_idf": lambda df, n: np.maximum(np.log(n / df), 0.0),
    "idf": lambda df, n: np.log1p(n / df),
}
RISING = frozenset(FUNCTIONS) - {
    "ln_idf",
    "idf",
}  # no phrase weighs less where the words around are more frequent
LEAST_COMMON = 42  # section 3: a phrase of more documents is common …
COMMON_ROOTS = 8.0  # … and in a collection of N documents, a phrase of more than 8 √N
COMMON_CLUSTERS = 5  # if a cluster counts once: a phrase of more clusters is common


def _given(statistics: Statistics | None) -> Statistics:
    if statistics is None:
        raise StatisticsError(
            "This plan weighs phrases by their document frequency: count them over a corpus first, or give "
            "statistics (--stats)."
        )
    return statistics


def heaviest(features: Features, values: NDArray[Any]) -> Features:
    """The distinct features of each document, each with its largest value."""
    hashes, largest = np.empty(len(values), np.uint64), np.empty_like(values)
    ends = kernels.phrases.heaviest(features.hashes, values, features.offsets, hashes, largest)
    return Features(ends, hashes[: ends[-1]], largest[: ends[-1]], distinct=True)


@dataclass(frozen=True)
class PhraseWeight(CorpusAware):
    """Distinct phrases, weighted; common ones are left out.

    phrases       the feature stage whose phrases these are
    words         the feature stage that words are counted by
    function      f of table 4, of the frequency of the first word, or of the words around
    around        words averaged before the phrase's beginning, and as many from it on; 0: the first word alone
    inverse       divide by the frequency of the phrase
    inside        divide before the function is applied, as the paper's text has it, not after, as its example does
    rare          the share of the phrases of two documents or more that are rare: the least frequent ones
    common_above  phrases in more documents than this are always common; None: 5 if clusters
                  count once, else 42, or 8 √N if that is more
    alone         a document with less than this share of rare weight is common text only: it keeps all phrases
    """

    phrases: Shingles
    words: Feature
    function: Function = "df2"
    around: int = 20
    inverse: bool = False
    inside: bool = False
    rare: float = 1.0
    common_above: int | None = None
    alone: float = 0.01
    details: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.function not in get_args(Function):
            raise ParameterError("function", "PhraseWeight", "one of " + ", ".join(FUNCTIONS), self.function)
        if self.inside and not self.inverse:
            raise ParameterError("inside", "PhraseWeight", "false without inverse, which it modifies", True)

    @property
    def counts(self) -> tuple[Feature, ...]:
        """Words and phrases are counted."""
        return (self.words, self.phrases)

    @property
    def by_phrase(self) -> bool:
        """Whether a phrase has the same weight at every position."""
        return self.around == 0

    @property
    def first_pass(self) -> PhraseWeight:
        """The same without rarity."""
        return replace(self, rare=1.0, inverse=False, inside=False, common_above=None)

    @property
    def distinguishes_boilerplate(self) -> bool:
        """Words around a phrase distinguish running text from boilerplate."""
        return self.around > 0

    def unique_shares(self, features: Features, statistics: Statistics) -> Floats:
        """The share of each document's weight that is in phrases of no other text."""
        assert features.weights is not None
        alone = statistics.table(stage_json(self.phrases)).of(features.hashes) <= 1
        document = np.repeat(np.arange(len(features)), features.sizes)
        whole = np.bincount(document, features.weights, len(features))
        own = np.bincount(document, features.weights * alone, len(features))
        result: Floats = own / np.maximum(whole, np.finfo(np.float64).tiny)
        return result

    def common_above_limit(self, statistics: Statistics) -> tuple[Feature, int]:
        """Phrases above the limit are common."""
        return self.phrases, self.limit(statistics)

    def __call__(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        known = _given(statistics)
        whole = features.weights is None and not features.distinct and self._is_whole(features, tokens)
        if self.prepared_by is not None and whole:
            return self.finish(self.prepare(features, tokens, known), known)
        if not whole:
            return self._only_rare(self._reweigh(features, tokens, known), known)
        return self._only_rare(heaviest(features, self._word_weights(features, tokens, known)), known)

    @property
    def prepared_by(self) -> tuple[Feature, ...] | None:
        """The words, if a phrase weighs the more the more frequent they are, whatever its own frequency is."""
        return (self.words,) if self.function in RISING and not self.inside else None

    @property
    def preparation(self) -> tuple[Any, ...]:
        """Phrases and the number of words around them."""
        return self.phrases, self.around

    def prepare(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        """Distinct phrases; for a weight, the largest sum of the frequencies of the words around."""
        known = _given(statistics)
        if features.weights is not None or features.distinct or not self._is_whole(features, tokens):
            raise PlanError("PhraseWeight prepares the phrases of its own stage and no others.")
        bag = heaviest(features, self._at_phrases(self._sums(tokens, known), features, tokens))
        assert bag.weights is not None
        small = bag.weights.max(initial=0) <= np.iinfo(np.uint32).max  # nearly always: half the memory
        return replace(bag, weights=bag.weights.astype(np.uint32 if small else np.uint64))

    def finish(self, prepared: Features, statistics: Statistics | None) -> Features:
        """The phrases that are not common, with their weights."""
        known = _given(statistics)
        assert prepared.weights is not None
        df = self._mean(prepared.weights)
        return self._only_rare(replace(prepared, weights=self._function(df, known)), known)

    def _reweigh(self, features: Features, tokens: Tokens, statistics: Statistics) -> Features:
        """The phrases that another stage left, its weights times those of this one."""
        bag = make_distinct(features) if features.weights is None else as_bag(features)
        weights = self._word_weights(self.phrases(tokens), tokens, statistics).astype(np.float64)
        found = over_occurrences(self.phrases, bag, tokens, weights)
        if np.isneginf(found).any():
            raise PlanError(
                "PhraseWeight got features that its phrase stage does not make: give it the stage of these features."
            )
        before = np.float32(1) if bag.weights is None else bag.weights
        return replace(bag, weights=(found * before).astype(np.float32))

    def _is_whole(self, features: Features, tokens: Tokens) -> bool:
        """Whether these are all phrases of the tokens, as many as there are places for one."""
        sizes = np.diff(tokens.offsets)
        return np.array_equal(
            features.sizes, np.maximum(sizes - self.phrases.width + 1, np.minimum(sizes, 1))
        )

    def _word_weights(
        self, features: Features, tokens: Tokens, statistics: Statistics
    ) -> NDArray[np.float32]:
        """f of the frequency of the words of each phrase."""
        df = self._mean(self._at_phrases(self._sums(tokens, statistics), features, tokens))
        if self.inside:
            df = df / np.maximum(statistics.table(stage_json(self.phrases)).of(features.hashes), 1)
        return self._function(df, statistics)

    def _function(self, df: Floats, statistics: Statistics) -> NDArray[np.float32]:
        found: NDArray[np.float32] = FUNCTIONS[self.function](df, max(statistics.documents, 1)).astype(
            np.float32
        )
        return found

    def _mean(self, sums: NDArray[Any]) -> Floats:
        """The mean frequency of the words around, from the sum; or that of the only word."""
        return np.asarray(sums / (2.0 * self.around if self.around else 1.0), np.float64)

    def _sums(self, tokens: Tokens, statistics: Statistics) -> Numbers:
        """The sum of the frequencies of the words around each token, or the frequency of its own word."""
        found = np.maximum(statistics.table(stage_json(self.words)).of(self.words(tokens).hashes), 1)
        if not self.around:
            return found
        sums = np.zeros(len(found), np.int64)
        kernels.phrases.sum_around(found, tokens.offsets, self.around, sums)
        return sums

    @staticmethod
    def _at_phrases(values: Numbers, features: Features, tokens: Tokens) -> Numbers:
        """The value of the token where each phrase begins."""
        places = np.repeat(tokens.offsets[:-1] - features.offsets[:-1], features.sizes)
        places += np.arange(len(features.hashes))
        found: Numbers = values[places]
        return found

    def _only_rare(self, bag: Features, statistics: Statistics) -> Features:
        """The phrases that are not common, or all of a document that has hardly any such."""
        table, limit = statistics.table(stage_json(self.phrases)), self.limit(statistics)
        assert bag.weights is not None
        weights = bag.weights
        if self.inverse and not self.inside:
            df = table.of(bag.hashes)
            weights = (weights / np.maximum(df, 1)).astype(np.float32)
            bag = replace(bag, weights=weights)
            rare = df <= limit
        else:  # common phrases are few, so that their table stays in the processor's caches
            rare = ~table.above(limit).lists(bag.hashes)
        hashes, kept = np.empty_like(bag.hashes), np.empty_like(weights)
        columns = (bag.hashes, weights, rare, bag.offsets)
        ends = kernels.phrases.keep_rare(*columns, self.alone, hashes, kept)
        return replace(bag, offsets=ends, hashes=hashes[: ends[-1]], weights=kept[: ends[-1]], positions=None)

    def limit(self, statistics: Statistics) -> int:
        """The largest document frequency of a rare phrase."""
        most = self.common_above
        if most is None and statistics.df_unit == "clusters":
            most = COMMON_CLUSTERS
        elif most is None:
            most = max(LEAST_COMMON, int(COMMON_ROOTS * sqrt(statistics.documents)))
        if self.rare >= 1.0:
            return most
        return min(most, statistics.table(stage_json(self.phrases)).quantile(self.rare))
