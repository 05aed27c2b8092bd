"""Antecedents: the words that begin a spot signature, as named sets or as specifications like `is(3,1)`."""

from __future__ import annotations

import re
from typing import NamedTuple

from neardup.errors import ParameterError

__all__ = ["PRESETS", "STOP_WORDS", "Antecedent", "parse_antecedents"]

STOP_WORDS = "stopwords"  # every stop word of the language: the last bar of figure 6, the last row of table 5

ARTICLES = "a an the"
FORMS = "am are be been being is was were can could will would have had has having do does did doing done"  # be, can …
ROWS = (
    "is|the|is the|is the said|is the said was|is the said was there|is the said was there a|"
    "is the said was there a it|the a can be will have do"
)
PRESETS: dict[str, tuple[str, ...]] = {
    # Theobald et al., SpotSigs (SIGIR 2008), 5.3.2 and figure 6: articles and forms of be, can, will, have, do.
    "paper": (*ARTICLES.split(), *FORMS.split()),
    "example": (*ARTICLES.split(), "is"),  # the example of section 3.2
    # Alonso, Fetterly and Manasse, Duplicate News Story Detection Revisited, table 5, row by row.
    **{row.replace(" ", "_"): tuple(row.split()) for row in ROWS.split("|")},
    STOP_WORDS: (),  # filled in with the list of the language
}


class Antecedent(NamedTuple):
    """A specification a(distance, chain)."""

    word: str
    distance: int
    chain: int


_ITEM = re.compile(r"\s*([^\s(),]+)\s*(?:\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\))?\s*(?:,|$)")


def parse_antecedents(
    given: str | tuple[str, ...], distance: int, chain: int, stop_words: tuple[str, ...]
) -> tuple[Antecedent, ...]:
    """The specifications of a preset's name, of a text like 'is(3,1), that(5,2), the', or of several such texts.

    A word without figures takes `distance` and `chain`. One word alone must be a preset's name; to give a single
    word, put a comma after it.
    """
    _at_least_one("distance", distance)
    _at_least_one("chain", chain)
    if isinstance(given, str) and re.fullmatch(r"\s*[\w+-]+\s*", given):
        name = given.strip()
        if name not in PRESETS:
            constraint = "one of " + ", ".join(map(repr, PRESETS)) + ", or words separated by commas"
            raise ParameterError("antecedents", "spots", constraint, given)
        words = stop_words if name == STOP_WORDS else PRESETS[name]
        found = [Antecedent(word, distance, chain) for word in words]
    else:
        texts = [given] if isinstance(given, str) else given
        found = [item for text in texts for item in _parse(text, distance, chain)]
    if not found:
        raise ParameterError("antecedents", "spots", "at least one word", given)
    return tuple(dict.fromkeys(found))


def _parse(text: str, distance: int, chain: int) -> list[Antecedent]:
    found, place = [], 0
    while place < len(text.rstrip()):
        item = _ITEM.match(text, place)
        if item is None:
            constraint = "words or specifications like 'is(3,1), that(5,2)', separated by commas"
            raise ParameterError("antecedents", "spots", constraint, text)
        word, own_distance, own_chain = item.groups()
        if own_distance is not None:
            numbers = _figure("distance", own_distance), _figure("chain", own_chain)
            found.append(Antecedent(word, *numbers))
        else:
            found.append(Antecedent(word, distance, chain))
        place = item.end()
    return found


def _figure(name: str, text: str) -> int:
    value: object = int(text) if re.fullmatch(r"-?[0-9]+", text) else text
    return _at_least_one(name, value)


def _at_least_one(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65536:
        raise ParameterError(name, "spots", "a whole number from 1 up to 65536", value)
    return value
