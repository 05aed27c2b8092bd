"""Texts with fields: title, url, any column, one behind the other in one text, each token knowing its own.

A document with fields is its text, then for each field a separator and the field's text. Whatever handles texts
(digests, the spool, copies) so covers the fields too, and a plan without fields pays nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers, Texts, Tokens
from neardup.errors import ParameterError
from neardup.text.field_kinds import FieldKind, Scale, parse_fields, parse_kind, read_numbers, value_hashes
from neardup.text.words import TokenKind, Words

SEPARATOR = "\x0b"  # white space to every kind of token; in a document's own text it becomes a blank
ITEM = "\x0c"  # between the items of a list; white space too, and a blank inside an item
MOST_FIELDS = 15

__all__ = ["FieldedWords", "join_fields", "parse_fields", "print_value", "split_fields"]


@dataclass(frozen=True)
class FieldedWords:
    """Tokens of texts and their fields; `Tokens.fields` is 0 for the text and counts the fields from 1.

    kinds   for each field what its tokens are: its words, each value as a whole, or the levels of a number;
            words where there is nothing for it
    """

    fields: tuple[str, ...]
    tokens: TokenKind = "words"
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """A field that is named twice, too many of them, or a kind that is not known are refused."""
        if not self.fields or len(set(self.fields)) < len(self.fields) or len(self.fields) > MOST_FIELDS:
            raise ParameterError(
                "fields", "text", f"1 to {MOST_FIELDS} different column names", ",".join(self.fields)
            )
        for kind in self.kinds:
            parse_kind(kind)

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        offsets, owner, place = split_fields(texts)
        place = np.minimum(place, len(self.fields))
        special = [FieldKind("words"), *map(parse_kind, self.kinds)]
        special += [FieldKind("words")] * (len(self.fields) + 1 - len(special))
        if any(kind.name != "words" for kind in special):
            return self._special(texts, (offsets, owner, place), special, details)
        found = Words(self.tokens)(Texts(offsets, texts.data), details)
        fields = np.repeat(place, np.diff(found.offsets)).astype(np.uint8)
        ends = found.offsets[1:][np.searchsorted(owner, np.arange(len(texts)), "right") - 1]
        return Tokens(np.append(0, ends), found.hashes, found.positions, found.marks, fields)

    def _special(
        self, texts: Texts, parts: tuple[Numbers, Numbers, Numbers], kinds: list[FieldKind], details: bool
    ) -> Tokens:
        """The same where some fields are values or numbers: tokens of three makes, in the order of their parts."""
        of = np.array(["words", "value", "number"])
        kind = np.array([list(of).index(one.name) for one in kinds])
        offsets, owner, place = split_items(texts, parts, kind == 1)
        found = Words(self.tokens)(Texts(offsets, texts.data), details)
        mine = kind[place]
        part = np.repeat(np.arange(len(owner)), np.diff(found.offsets))
        words = np.flatnonzero(mine[part] == 0)
        values, hashes = value_hashes(found, np.flatnonzero(mine == 1))
        numbers, levels = self._levels(texts, offsets, place, kinds, np.flatnonzero(mine == 2))
        whose = np.concatenate([part[words], values, numbers])
        order = np.argsort(whose, kind="stable")
        made = np.concatenate([found.hashes[words], hashes, levels])[order]

        def seen(column: NDArray[np.generic]) -> NDArray[np.generic]:
            """Positions and marks are those of words; values and numbers have none."""
            rest = np.zeros(len(values) + len(numbers), column.dtype)
            return np.concatenate([column[words], rest])[order] if details else column

        ends = np.searchsorted(owner[whose[order]], np.arange(len(texts) + 1))
        fields = place[whose[order]].astype(np.uint8)
        return Tokens(ends, made, seen(found.positions), seen(found.marks), fields)  # type: ignore[arg-type]

    def _levels(
        self, texts: Texts, offsets: Numbers, place: Numbers, kinds: list[FieldKind], chosen: Numbers
    ) -> tuple[Numbers, Hashes]:
        """For each level of each number the part that it stands in, and its hash."""
        parts, hashes = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
        for field in np.unique(place[chosen]).tolist():
            some = chosen[place[chosen] == field]
            scale: Scale | None = kinds[field].scale
            assert scale is not None
            which, levels = scale.levels(read_numbers(texts.data, offsets[some] + 1, offsets[some + 1]))
            parts.append(some[which])
            hashes.append(levels)
        return np.concatenate(parts), np.concatenate(hashes)


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


def split_items(
    texts: Texts, parts: tuple[Numbers, Numbers, Numbers], divided: NDArray[np.bool_]
) -> tuple[Numbers, Numbers, Numbers]:
    """The same parts, but the items of fields that are divided are parts of their own."""
    offsets, owner, place = parts
    first, last = int(offsets[0]), int(offsets[-1])
    marks = np.flatnonzero(texts.data[first:last] == ord(ITEM)) + first
    inside = np.searchsorted(offsets, marks, "right") - 1
    marks, inside = (some[divided[place[inside]]] for some in (marks, inside))
    order = np.argsort(np.concatenate([np.arange(len(owner)), inside]), kind="stable")
    begins = np.concatenate([offsets[:-1], marks])[order]
    whose = np.concatenate([np.arange(len(owner)), inside])[order]
    return np.append(begins, last), owner[whose], place[whose]


def join_fields(text: str, fields: Sequence[object]) -> str:
    """One text of a document and its fields; lists are joined by a white space, what is missing is empty."""
    parts = [text, *map(print_value, fields)]
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def print_value(value: object) -> str:
    """A value of a field as text; a list may be written as JSON, which is how readers hand over lists."""
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith("["):
        value = _listed(value)
    if isinstance(value, (list, tuple)):
        return ITEM.join(print_value(part) for part in value)
    return str(value).replace(ITEM, " ")


def _listed(text: str) -> object:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, list) else text
