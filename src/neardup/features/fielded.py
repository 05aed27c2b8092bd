"""Features that know their field, and words without what says little: stop words, numbers, dates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from neardup.columns import FIELD, Features, Hashes, Tokens
from neardup.plan import Feature
from neardup.text.stopwords import stop_words
from neardup.text.words import hash_words

DIGIT = 2  # the mark of tokens that begin with a digit
DATES = """january february march april may june july august september october november december jan feb mar apr jun
jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs
fri sat sun am pm gmt utc est edt pst pdt""".split()


@dataclass(frozen=True)
class Fielded:
    """The features of another stage, made field by field: 'paris' in the title is not 'paris' in the text.

    The lowest four bits of a hash are the number of its field (0: the text), so that weights can tell them apart
    after features were sorted and counted.
    """

    of: Feature

    @property
    def details(self) -> bool:
        """As the features inside."""
        return self.of.details

    def __call__(self, tokens: Tokens) -> Features:
        if tokens.fields is None:
            found = self.of(tokens)
            return replace(found, hashes=found.hashes & ~FIELD)
        fields = tokens.fields.astype(np.int64)
        n = len(tokens.hashes)
        owner = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
        new = np.append(True, (np.diff(owner) > 0) | (np.diff(fields) != 0))[:n]
        begins = np.flatnonzero(new)
        parts = replace(tokens, offsets=np.append(begins, n), fields=None)
        found = self.of(parts)
        kind = np.repeat(fields[begins], found.sizes).astype(np.uint64)
        stirred = found.hashes ^ kind * np.uint64(0x9E3779B97F4A7C15)
        stirred = np.where(kind > 0, stirred * np.uint64(0xD6E8FEB86659FD93), found.hashes)
        ends = found.offsets[np.searchsorted(owner[begins], np.arange(len(tokens) + 1))]
        return Features(ends, stirred & ~FIELD | kind)


@dataclass(frozen=True)
class Cleaned:
    """The features of another stage over fewer tokens: without stop words, numbers or words of dates (4.2, 6.4.2).

    stopwords  a language code, several joined by '+', a tuple of words, or nothing
    numbers    drop what begins with a digit, and names of months, days and zones
    """

    of: Feature
    stopwords: str | tuple[str, ...] = ()
    numbers: bool = False

    def __post_init__(self) -> None:
        """An unknown language is refused before any text is read."""
        _dropped(self.stopwords, self.numbers)

    @property
    def details(self) -> bool:
        """Numbers are known by a mark."""
        return self.numbers or self.of.details

    def __call__(self, tokens: Tokens) -> Features:
        wanted = ~np.isin(tokens.hashes, _dropped(self.stopwords, self.numbers))
        if self.numbers:
            wanted &= tokens.marks & DIGIT == 0
        return self.of(keep_tokens(tokens, wanted))


def keep_tokens(tokens: Tokens, wanted: NDArray[np.bool_]) -> Tokens:
    """Some of the tokens of each document."""
    kept = np.append(0, np.cumsum(wanted)).astype(np.int64)

    def some(values: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
        return values if values is None or len(values) < len(wanted) else values[wanted]

    return Tokens(
        kept[tokens.offsets], tokens.hashes[wanted], some(tokens.positions), some(tokens.marks),  # type: ignore[arg-type]
        some(tokens.fields), some(tokens.tags),  # type: ignore[arg-type]
    )  # fmt: skip


@cache
def _dropped(stopwords: str | tuple[str, ...], numbers: bool) -> Hashes:
    words = stop_words(stopwords) if isinstance(stopwords, str) and stopwords else tuple(stopwords or ())
    return hash_words([*words, *(DATES if numbers else ())])[0]
