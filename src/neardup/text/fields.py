"""Texts with fields, such as title or url, and tokens that know their field.

A document with fields is one text: its own, then for each field a separator and the field's text. So digests, the
spool and exact copies cover the fields too, and a plan without fields costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers, Texts, Tokens
from neardup.errors import ParameterError
from neardup.text.field_types import (
    FieldType,
    Scale,
    parse_field_type,
    parse_fields,
    read_numbers,
    value_hashes,
)
from neardup.text.words import TokenKind, Words

SEPARATOR = "\x0b"  # white space to every tokeniser; in a document's own text it becomes a blank
ITEM = "\x0c"  # between the items of a list; white space too, and a blank inside an item
MOST_FIELDS = 15

__all__ = ["FieldedWords", "join_fields", "parse_fields", "print_value", "split_fields"]


@dataclass(frozen=True)
class FieldedWords:
    """Tokens of texts and their fields; `Tokens.fields` is 0 for the text and counts the fields from 1.

    types   of each field: words, value or number (see field_types); words for fields without an entry
    """

    fields: tuple[str, ...]
    tokens: TokenKind = "words"
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses repeated fields, too many fields, and unknown types."""
        if not self.fields or len(set(self.fields)) < len(self.fields) or len(self.fields) > MOST_FIELDS:
            raise ParameterError(
                "fields", "text", f"1 to {MOST_FIELDS} different column names", ",".join(self.fields)
            )
        for kind in self.types:
            parse_field_type(kind)

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        offsets, document, place = split_fields(texts)
        place = np.minimum(place, len(self.fields))
        special = [FieldType("words"), *map(parse_field_type, self.types)]
        special += [FieldType("words")] * (len(self.fields) + 1 - len(special))
        if any(kind.name != "words" for kind in special):
            return self._special(texts, (offsets, document, place), special, details)
        found = Words(self.tokens)(Texts(offsets, texts.data), details)
        fields = np.repeat(place, np.diff(found.offsets)).astype(np.uint8)
        ends = found.offsets[1:][np.searchsorted(document, np.arange(len(texts)), "right") - 1]
        return Tokens(np.append(0, ends), found.hashes, found.positions, found.marks, fields)

    def _special(
        self, texts: Texts, parts: tuple[Numbers, Numbers, Numbers], types: list[FieldType], details: bool
    ) -> Tokens:
        """Tokens if some fields are values or numbers, in the order of the parts."""
        of = np.array(["words", "value", "number"])
        kind = np.array([list(of).index(one.name) for one in types])
        offsets, document, place = split_items(texts, parts, kind == 1)
        found = Words(self.tokens)(Texts(offsets, texts.data), details)
        type_of = kind[place]
        part = np.repeat(np.arange(len(document)), np.diff(found.offsets))
        words = np.flatnonzero(type_of[part] == 0)
        values, hashes = value_hashes(found, np.flatnonzero(type_of == 1))
        numbers, levels = self._levels(texts, offsets, place, types, np.flatnonzero(type_of == 2))
        part_of = np.concatenate([part[words], values, numbers])
        order = np.argsort(part_of, kind="stable")
        made = np.concatenate([found.hashes[words], hashes, levels])[order]

        def extended(column: NDArray[np.generic]) -> NDArray[np.generic]:
            """Positions or marks of words, and zeros for values and numbers."""
            rest = np.zeros(len(values) + len(numbers), column.dtype)
            return np.concatenate([column[words], rest])[order] if details else column

        ends = np.searchsorted(document[part_of[order]], np.arange(len(texts) + 1))
        fields = place[part_of[order]].astype(np.uint8)
        return Tokens(ends, made, extended(found.positions), extended(found.marks), fields)  # type: ignore[arg-type]

    def _levels(
        self, texts: Texts, offsets: Numbers, place: Numbers, types: list[FieldType], chosen: Numbers
    ) -> tuple[Numbers, Hashes]:
        """For each level of each number its part and its hash."""
        parts, hashes = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
        for field in np.unique(place[chosen]).tolist():
            some = chosen[place[chosen] == field]
            scale: Scale | None = types[field].scale
            assert scale is not None
            which, levels = scale.levels(read_numbers(texts.data, offsets[some] + 1, offsets[some + 1]))
            parts.append(some[which])
            hashes.append(levels)
        return np.concatenate(parts), np.concatenate(hashes)


def split_fields(texts: Texts) -> tuple[Numbers, Numbers, Numbers]:
    """The beginning of each part (and the end of the last), its document, and its field: 0 is the text."""
    first, last = int(texts.offsets[0]), int(texts.offsets[-1])
    marks = np.flatnonzero(texts.data[first:last] == ord(SEPARATOR)) + first
    document = np.concatenate([np.arange(len(texts)), np.searchsorted(texts.offsets, marks, "right") - 1])
    begins = np.concatenate([texts.offsets[:-1], marks])
    kind = np.concatenate([np.zeros(len(texts), np.int64), np.ones(len(marks), np.int64)])
    order = np.lexsort((kind, begins, document))
    document, begins = document[order], begins[order]
    firsts = np.searchsorted(document, np.arange(len(texts)))
    return np.append(begins, last), document, np.arange(len(document)) - firsts[document]


def split_items(
    texts: Texts, parts: tuple[Numbers, Numbers, Numbers], divided: NDArray[np.bool_]
) -> tuple[Numbers, Numbers, Numbers]:
    """The same parts, but each item of a divided field is a part of its own."""
    offsets, document, place = parts
    first, last = int(offsets[0]), int(offsets[-1])
    marks = np.flatnonzero(texts.data[first:last] == ord(ITEM)) + first
    inside = np.searchsorted(offsets, marks, "right") - 1
    marks, inside = (some[divided[place[inside]]] for some in (marks, inside))
    order = np.argsort(np.concatenate([np.arange(len(document)), inside]), kind="stable")
    begins = np.concatenate([offsets[:-1], marks])[order]
    part_of = np.concatenate([np.arange(len(document)), inside])[order]
    return np.append(begins, last), document[part_of], place[part_of]


def join_fields(text: str, fields: Sequence[object]) -> str:
    """One text of a document and its fields; the items of lists are separated, a missing value is empty."""
    parts = [text, *map(print_value, fields)]
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def print_value(value: object) -> str:
    """A value of a field as text; a list may come as JSON, as readers pass it."""
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
