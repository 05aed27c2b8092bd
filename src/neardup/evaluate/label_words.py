"""The words of labels: which say that two documents are near-duplicates, which leave a pair or a document out.

The labels are those of Alonso, Fetterly and Manasse (MSR-TR-2013-60, sections 4.1 and 4.2), and usual other names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from neardup.errors import ParameterError

__all__ = [
    "DOCUMENT_LABELS",
    "DUPLICATES",
    "LEFT_OUT",
    "PAIR_LABELS",
    "checked_duplicates",
    "document_label",
    "label_counts",
    "pair_label",
]

UNCLEAR = "unclear"
PAIR_WORDS = {
    "duplicate": "duplicate, duplicates, near duplicate, same, positive, yes, true, y, t, 1",
    "containment": "containment, contains, contained, a contains b, b contains a, subset, superset",
    "near": "near, near but not the same, similar, related",
    "different": "different, non duplicate, not duplicate, nonduplicate, distinct, negative, no, false, n, f, 0",
    "irrelevant": "irrelevant, duplicate irrelevant, non duplicate irrelevant",
    "broken": "broken, one or both broken, other, error",
    "language": "not my language, other language, language, non english",
    UNCLEAR: "unclear, ?, unknown, maybe, unsure, don't know, i don't know, dont know, skip",
}
DOCUMENT_WORDS = {
    "yes": "yes, true, y, t, relevant",
    "no": "no, false, n, f, irrelevant, not relevant",
    UNCLEAR: PAIR_WORDS[UNCLEAR],
    "other": "other, broken, error",
    "language": PAIR_WORDS["language"],
}
DUPLICATES = ("duplicate", "containment")
DIFFERENT = ("different", "near")
LEFT_OUT = ("irrelevant", "broken", "language")
PAIR_LABELS = (*PAIR_WORDS,)
DOCUMENT_LABELS = (*DOCUMENT_WORDS,)


def _by_word(words: dict[str, str]) -> dict[str, str]:
    return {"": UNCLEAR} | {word: label for label, text in words.items() for word in text.split(", ")}


PAIRS, DOCUMENTS = _by_word(PAIR_WORDS), _by_word(DOCUMENT_WORDS)


def pair_label(cell: str) -> str | None:
    """The label of a pair that a cell names, of PAIR_LABELS; None if it names none."""
    return PAIRS.get(_plain(cell))


def document_label(cell: str) -> str | None:
    """The label of a document that a cell names, of DOCUMENT_LABELS; None if it names none."""
    return DOCUMENTS.get(_plain(cell))


def _plain(cell: str) -> str:
    """The words of a cell: small letters, one space between words, no punctuation at the end."""
    return " ".join(re.sub(r"[\s_\-–/,;:()]+", " ", cell.lower().replace("’", "'")).split()).rstrip(".!")


def checked_duplicates(labels: str | Iterable[str]) -> tuple[str, ...]:
    """The labels that count as near-duplicates; labels that say something else are refused."""
    given = labels.split(",") if isinstance(labels, str) else labels
    names = tuple(dict.fromkeys(name.strip().lower() for name in given if name.strip()))
    known = (*DUPLICATES, *DIFFERENT)
    if not names or not set(names) <= set(known) or "different" in names:
        raise ParameterError(
            "duplicates", "evaluate", "some of " + ", ".join(n for n in known if n != "different"), labels
        )
    return names


def label_counts(counts: Counter[str], duplicates: Iterable[str], unit: str = "") -> str:
    """One sentence: how many labels count as near-duplicates, as different, and not at all."""
    positive = set(duplicates)
    groups = {
        "near-duplicates": [name for name in PAIR_LABELS if name in positive],
        "different": [name for name in (*DUPLICATES, *DIFFERENT) if name not in positive],
        "left out": [*LEFT_OUT, UNCLEAR],
    }
    parts = []
    for group, names in groups.items():
        some = [f"{counts[name]:,} {name}" for name in names if counts[name]]
        if some:
            parts.append(f"{', '.join(some)} {'' if group == 'left out' else 'count as '}{group}")
    return f"{unit}{'; '.join(parts)}"
