"""Features per field, and features without stop words, numbers and dates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from neardup.columns import FIELD, Features, Hashes, Numbers, Tokens
from neardup.plan import Feature
from neardup.text.stemmed import stem_of
from neardup.text.stopwords import stop_words
from neardup.text.words import hash_words

DIGIT = 2  # the mark of tokens that begin with a digit
DATES = """january february march april may june july august september october november december jan feb mar apr jun
jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs
fri sat sun am pm gmt utc est edt pst pdt""".split()


@dataclass(frozen=True)
class Fielded:
    """The features of another stage, made field by field: 'paris' in the title is not 'paris' in the text.

    The lowest four bits of a hash are the number of its field (0: the text), so that weights can distinguish
    fields after features were sorted and counted. `single` are fields of values and numbers, which have no order:
    each of their tokens is a feature by itself.
    """

    of: Feature
    single: tuple[int, ...] = ()

    @property
    def details(self) -> bool:
        """Those of the features inside."""
        return self.of.details

    def __call__(self, tokens: Tokens) -> Features:
        if tokens.fields is None:
            found = self.of(tokens)
            return replace(found, hashes=found.hashes & ~FIELD)
        parts, fields, document = field_parts(tokens, self.single)
        found = self.of(parts)
        kind = np.repeat(fields, found.sizes).astype(np.uint64)
        stirred = found.hashes ^ kind * np.uint64(0x9E3779B97F4A7C15)
        stirred = np.where(kind > 0, stirred * np.uint64(0xD6E8FEB86659FD93), found.hashes)
        ends = found.offsets[np.searchsorted(document, np.arange(len(tokens) + 1))]
        return Features(ends, stirred & ~FIELD | kind)


def field_parts(tokens: Tokens, single: tuple[int, ...] = ()) -> tuple[Tokens, Numbers, Numbers]:
    """The same tokens with each field of each document as a document of its own; its field, and its document.

    In single fields each token is a document.
    """
    n = len(tokens.hashes)
    document = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
    fields = np.zeros(n, np.int64) if tokens.fields is None else tokens.fields.astype(np.int64)
    new = np.append(True, (np.diff(document) > 0) | (np.diff(fields) != 0))[:n] | np.isin(fields, single)
    begins = np.flatnonzero(new)
    parts = replace(tokens, offsets=np.append(begins, n), fields=None)
    return parts, fields[begins], document[begins]


@dataclass(frozen=True)
class Cleaned:
    """The features of another stage over fewer tokens: without stop words, numbers or words of dates (4.2, 6.4.2).

    stopwords  a language code, several joined by '+', a tuple of words, or nothing
    numbers    drop what begins with a digit, and names of months, days and zones
    stem       the language by whose rules the words were cut to their stems, if they were
    """

    of: Feature
    stopwords: str | tuple[str, ...] = ()
    numbers: bool = False
    stem: str = ""

    def __post_init__(self) -> None:
        """Refuses an unknown language before any text is read."""
        _dropped(self.stopwords, self.numbers, self.stem)

    @property
    def details(self) -> bool:
        """Numbers are recognised by a mark."""
        return self.numbers or self.of.details

    def __call__(self, tokens: Tokens) -> Features:
        return self.of(keep_tokens(tokens, self.kept(tokens)))

    def kept(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Which tokens stay."""
        chosen = ~np.isin(tokens.hashes, _dropped(self.stopwords, self.numbers, self.stem))
        if self.numbers:
            chosen &= tokens.marks & DIGIT == 0
        return chosen


def keep_tokens(tokens: Tokens, chosen: NDArray[np.bool_]) -> Tokens:
    """Some of the tokens of each document."""
    kept = np.append(0, np.cumsum(chosen)).astype(np.int64)

    def some(values: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
        return values if values is None or len(values) < len(chosen) else values[chosen]

    return Tokens(
        kept[tokens.offsets], tokens.hashes[chosen], some(tokens.positions), some(tokens.marks),  # type: ignore[arg-type]
        some(tokens.fields), some(tokens.tags),  # type: ignore[arg-type]
    )  # fmt: skip


@cache
def _dropped(stopwords: str | tuple[str, ...], numbers: bool, stem: str) -> Hashes:
    words = stop_words(stopwords) if isinstance(stopwords, str) and stopwords else tuple(stopwords or ())
    listed = [*words, *(DATES if numbers else ())]
    return hash_words([stem_of(stem)(word) for word in listed] if stem else listed)[0]
