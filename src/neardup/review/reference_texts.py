"""Texts of documents of references, from the indexes and corpora of `--against` that can still be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from neardup.errors import InputError, NeardupError
from neardup.index.index import Index
from neardup.index.opened import POSTGRES
from neardup.index.references import is_index
from neardup.output import one_line
from neardup.review.evidence import Removed
from neardup.review.finished import Finished
from neardup.review.texts import changed_inputs, given_place, texts_in

__all__ = ["InReference", "reference_texts"]

InReference = tuple[str, str]  # the name of a reference, and the id of a document in it


def reference_texts(
    finished: Finished, rows: Iterable[Removed]
) -> tuple[Mapping[InReference, str], list[str]]:
    """The texts of the documents that removals duplicate in references, and a sentence for each that has none."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for one in rows:
        if one.reference is not None:
            wanted[one.reference].add(one.duplicate_of)
    found: dict[InReference, str] = {}
    notes: list[str] = []
    for name, ids in sorted(wanted.items()):
        try:
            texts = _in_index(name, ids) if is_index(name) else _in_corpus(finished, name, ids, notes)
        except (NeardupError, OSError) as error:
            notes.append(f"The reference {name} cannot be read any more: {one_line(error)}.")
            continue
        if len(texts) < len(ids):
            notes.append(f"The reference {name} does not have all texts of the documents that are shown.")
        found.update(((name, id), text) for id, text in texts.items())
    return found, notes


def _in_index(name: str, ids: set[str]) -> dict[str, str]:
    """The texts that an index stores; its ids may be numbers."""
    if name.startswith(POSTGRES):
        raise InputError("it is in a database, which a report does not ask")
    with Index(name) as index:
        texts = {}
        for id in sorted(ids):
            stored = index.get(id)
            if stored is None and id.isdecimal() and len(id) < 19:
                stored = index.get(int(id))
            if (text := getattr(stored, "text", None)) is not None:
                texts[id] = str(text)
        return texts


def _in_corpus(finished: Finished, name: str, ids: set[str], notes: list[str]) -> dict[str, str]:
    """The texts of files, read with the columns of the run."""
    if name == "-":
        raise InputError("it was standard input")
    place = given_place(finished.report, (name,))
    sources = place.open()
    notes += changed_inputs(sources, finished.finished_at, f"reference {name}")
    return texts_in(place, ids, finished.plan, sources)
