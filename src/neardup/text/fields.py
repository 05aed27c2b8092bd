"""Texts with fields: title, url, any column, one behind the other in one text, each token knowing its own.

A document with fields is its text, then for each field a separator and the field's text. Whatever handles texts
(digests, the spool, copies) so covers the fields too, and a plan without fields pays nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.columns import Numbers, Texts, Tokens
from neardup.errors import ParameterError
from neardup.text.words import TokenKind, Words

SEPARATOR = "\x0b"  # white space to every kind of token; in a document's own text it becomes a blank
MOST_FIELDS = 15


@dataclass(frozen=True)
class FieldedWords:
    """Tokens of texts and their fields; `Tokens.fields` is 0 for the text and counts the fields from 1."""

    fields: tuple[str, ...]
    tokens: TokenKind = "words"

    def __post_init__(self) -> None:
        """A field that is named twice, or too many of them, are refused."""
        if not self.fields or len(set(self.fields)) < len(self.fields) or len(self.fields) > MOST_FIELDS:
            raise ParameterError(
                "fields", "text", f"1 to {MOST_FIELDS} different column names", ",".join(self.fields)
            )

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        offsets, owner, place = split_fields(texts)
        found = Words(self.tokens)(Texts(offsets, texts.data), details)
        sizes = np.diff(found.offsets)
        fields = np.repeat(np.minimum(place, len(self.fields)), sizes).astype(np.uint8)
        ends = found.offsets[1:][np.searchsorted(owner, np.arange(len(texts)), "right") - 1]
        return Tokens(np.append(0, ends), found.hashes, found.positions, found.marks, fields)


def split_fields(texts: Texts) -> tuple[Numbers, Numbers, Numbers]:
    """Where each part of each text begins (and the last ends), whose part it is, and which one: 0 is the text."""
    first, last = int(texts.offsets[0]), int(texts.offsets[-1])
    marks = np.flatnonzero(texts.data[first:last] == ord(SEPARATOR)) + first
    owner = np.concatenate([np.arange(len(texts)), np.searchsorted(texts.offsets, marks, "right") - 1])
    begins = np.concatenate([texts.offsets[:-1], marks])
    kind = np.concatenate([np.zeros(len(texts), np.int64), np.ones(len(marks), np.int64)])
    order = np.lexsort((kind, begins, owner))
    owner, begins = owner[order], begins[order]
    firsts = np.searchsorted(owner, np.arange(len(texts)))
    return np.append(begins, last), owner, np.arange(len(owner)) - firsts[owner]


def join_fields(text: str, fields: Sequence[object]) -> str:
    """One text of a document and its fields; lists are joined by blanks, what is missing is empty."""
    parts = [text, *map(_printed, fields)]
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def _printed(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join(_printed(part) for part in value)
    return str(value)
