"""Words without their endings: 'running' and 'runs' are 'run'. Needs the package snowballstemmer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from neardup.columns import Texts, Tokens
from neardup.errors import MissingExtra, ParameterError
from neardup.text.fields import FieldedWords
from neardup.text.words import Words

WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Stemmed:
    """The tokens of another text stage over stemmed words."""

    language: str = "english"
    of: Words | FieldedWords = field(default_factory=Words)

    def __post_init__(self) -> None:
        """Refuses an unknown language before any text is read."""
        _stemmer(self.language)

    @property
    def fields(self) -> tuple[str, ...]:
        """Those of the stage inside."""
        return getattr(self.of, "fields", ())

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        stem = stem_of(self.language)
        whole = [texts.document(number).decode("utf-8", "replace") for number in range(len(texts))]
        return self.of(
            Texts.from_strings([WORD.sub(lambda m: stem(m.group().lower()), t) for t in whole]), details
        )


@cache
def _stemmer(language: str) -> Any:
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtra("snowballstemmer", "stem", "Stemming") from None
    if language not in snowballstemmer.algorithms():
        known = ", ".join(snowballstemmer.algorithms())
        raise ParameterError("stem", "text", f"one of {known}", language)
    return snowballstemmer.stemmer(language)


@cache
def stem_of(language: str) -> Any:
    """The function from a word to its stem, with a cache of 65,536 words."""
    return lru_cache(maxsize=1 << 16)(_stemmer(language).stemWord)
