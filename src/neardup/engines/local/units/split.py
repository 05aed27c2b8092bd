"""Texts to units: lines, paragraphs, sentences, or so many sentences in a row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.errors import ParameterError

Kind = Literal["line", "paragraph", "sentence"]
KINDS = ("line", "paragraph", "sentence")
SHORTEST = 20  # characters of a unit that is compared
MOST_SENTENCES = 100


@dataclass(frozen=True)
class UnitRule:
    """What a unit is: its kind, how many sentences it has, and the least number of characters that is compared."""

    kind: Kind
    count: int = 1
    shortest: int = SHORTEST

    @staticmethod
    def of(text: str, shortest: int = SHORTEST) -> UnitRule:
        """The rule for 'paragraph', 'line', 'sentence' or 'sentence:N'."""
        found = re.fullmatch(r"(line|paragraph|sentence)(?::([0-9]{1,4}))?", text)
        count = int(found[2] or 1) if found else 0
        sensible = found is not None and (found[2] is None or found[1] == "sentence")
        if not found or not sensible or not 1 <= count <= MOST_SENTENCES:
            needed = f"document, paragraph, line, sentence, or sentence:N with N from 1 to {MOST_SENTENCES}"
            raise ParameterError("unit", "dedup", needed, text)
        kind: Kind = found[1]  # type: ignore[assignment]
        return UnitRule(kind, count, shortest)


@dataclass(frozen=True)
class Units:
    """Units of texts, in order: the document of each, its first byte, the byte behind it, and its number there."""

    document: Numbers
    begin: Numbers
    end: Numbers
    following: Numbers  # the first byte of what follows it: the next sentence, line or paragraph, or the end
    number: Numbers

    def __len__(self) -> int:
        return len(self.document)


def split_units(texts: Texts, rule: UnitRule) -> Units:
    """The units of some texts that are long enough; a document of fewer sentences than N is one unit."""
    kernel = kernels.units
    room = np.empty((texts.size // 2 + len(texts) + 1, 4), np.int64)
    kind = {"line": kernel.LINES, "paragraph": kernel.PARAGRAPHS, "sentence": kernel.SENTENCES}[rule.kind]
    rows = room[: kernel.split(texts.data, texts.offsets, kind, room)].copy()
    document, begin, end, characters = rows.T
    ends = np.searchsorted(document, document, "right")  # where the units of the same document end
    starts = np.searchsorted(document, document, "left")
    place = np.arange(len(document))
    last = np.minimum(place + rule.count, ends) - 1
    used = (place + rule.count <= ends) | (place == starts)
    sizes = np.diff(texts.offsets)
    following = np.where(last + 1 < ends, begin[np.minimum(last + 1, len(begin) - 1)], sizes[document])
    sums = np.concatenate([[0], np.cumsum(characters)])
    used &= sums[last + 1] - sums[place] >= rule.shortest
    return Units(document[used], begin[used], end[last][used], following[used], (place - starts)[used])


def unit_texts(texts: Texts, units: Units) -> Texts:
    """The text of each unit."""
    begins, ends = texts.offsets[units.document] + units.begin, texts.offsets[units.document] + units.end
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    data = np.empty(int(offsets[-1]), np.uint8)
    kernels.digest.gather(texts.data, begins, ends, data, offsets)
    return Texts(offsets, data)
