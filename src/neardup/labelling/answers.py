"""The answers that judges choose from, and the labels that they mean to `evaluate`, `tune` and `learn`."""

from __future__ import annotations

from dataclasses import dataclass

from neardup.errors import InputError
from neardup.evaluate.label_words import document_label, pair_label

__all__ = ["DOCUMENT", "FIVE", "PAIR", "SKIP", "Answer", "answer_of", "answers_of", "shown_answer"]

SKIP = "skip"  # stored like an answer: the judge does not get the item again


@dataclass(frozen=True)
class Answer:
    """One answer: its name as stored, what the page shows, its key, and its label in tables."""

    name: str
    shown: str
    key: str
    label: str
    more: str = ""  # the document of a containment that has more: a or b


DOCUMENT = (
    Answer("yes", "Yes", "y", "yes"),
    Answer("no", "No", "n", "no"),
    Answer("unclear", "I don’t know", "d", "unclear"),
    Answer("other", "Other", "o", "other"),
    Answer("language", "Not my language", "l", "not my language"),
)
PAIR = (
    Answer("duplicate", "Duplicate", "1", "duplicate"),
    Answer("containment a", "A contains B", "2", "containment", "a"),
    Answer("containment b", "B contains A", "3", "containment", "b"),
    Answer("near", "Near, not the same", "4", "near"),
    Answer("different", "Different", "5", "different"),
    Answer("broken", "Broken", "6", "broken"),
)
FIVE = (
    Answer("duplicate", "Duplicate", "1", "duplicate"),
    Answer("containment", "Containment", "2", "containment"),
    Answer("different", "Non-duplicate", "3", "different"),
    Answer("duplicate irrelevant", "Duplicate, irrelevant", "4", "duplicate irrelevant"),
    Answer("different irrelevant", "Non-duplicate, irrelevant", "5", "non-duplicate irrelevant"),
)


def answers_of(kind: str, scheme: str) -> tuple[Answer, ...]:
    """The answers about a document or a pair."""
    if kind == "document":
        return DOCUMENT
    return FIVE if scheme == "five labels" else PAIR


def answer_of(kind: str, scheme: str, label: str, more: str = "") -> str:
    """The name of the answer that a cell of a table means; an InputError if it means none."""
    known = answers_of(kind, scheme)
    word = " ".join(label.lower().replace("_", " ").split())
    side = more.strip().lower()
    for one in known:
        if word in (one.name, one.label) and (not one.more or one.more == side or word == one.name):
            return one.name
    meant = document_label(label) if kind == "document" else pair_label(label)
    if meant == "irrelevant":
        meant = "different irrelevant" if "non" in word or "different" in word else "duplicate irrelevant"
    if meant == "containment" and scheme != "five labels":
        ends = {"a contains b": "a", "b contains a": "b"}
        side = ends.get(word, side if side in ("a", "b") else "a")
        return f"containment {side}"
    if meant in {one.name for one in known}:
        return meant
    choices = ", ".join(dict.fromkeys(one.label for one in known))
    raise InputError(f"a label must be one of {choices}, not {label!r}")


def shown_answer(kind: str, scheme: str, name: str) -> str:
    """An answer as people read it."""
    return next((one.shown for one in answers_of(kind, scheme) if one.name == name), name)
