"""Stop words by language, from the package stopwordsiso; and words from a file."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from neardup.errors import InputError, ParameterError

__all__ = ["languages", "read_words", "stop_words"]

ENTRY = re.compile(r"[^\s,()]+(?:\s*\([^()]*\))?|[()]")


@cache
def stop_words(language: str) -> tuple[str, ...]:
    """The stop words of a language by ISO 639-1 code, sorted; several codes may be joined by '+'."""
    known = languages()
    codes = language.split("+")
    if any(code not in known for code in codes):
        raise ParameterError("stopwords", "spots", "a language code of " + ", ".join(known), language)
    import stopwordsiso

    return tuple(sorted(stopwordsiso.stopwords(codes)))


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages that have a list."""
    import stopwordsiso  # 46 ms, and only spots need it

    return tuple(sorted(stopwordsiso.langs()))


def read_words(path: str | Path) -> tuple[str, ...]:
    """The words of a UTF-8 text file, one or more a line; '#' starts a comment.

    Text in brackets belongs to the word before: 'is(3,1)' is one entry, a specification of an antecedent.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The words of {str(path)!r} cannot be read: {error}.") from error
    words = [word for line in lines for word in ENTRY.findall(line.partition("#")[0])]
    if not words:
        raise InputError(f"The file {str(path)!r} has no words: write one a line.")
    return tuple(dict.fromkeys(words))
