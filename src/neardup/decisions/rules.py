"""Actions of people on a cluster: which documents stay after them, and what the others duplicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, get_args

from neardup.errors import InputError

__all__ = ["ACTIONS", "Action", "DocumentState", "after", "text_digest"]

Action = Literal["confirm", "keep", "restore", "separate", "split", "skip"]
ACTIONS: tuple[Action, ...] = get_args(Action)


@dataclass(frozen=True)
class DocumentState:
    """A document of a cluster: whether it stays, and what it duplicates if not."""

    id: str
    digest: bytes  # of its text
    keep: bool
    duplicate_of: str | None = None
    group: str | None = None  # None: the cluster that the machine made; else one that a person made


def text_digest(text: str) -> bytes:
    """A digest of a text as it was compared: a decision holds as long as the text is the same."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def after(action: Action, members: Sequence[DocumentState], chosen: Sequence[str]) -> list[DocumentState]:
    """The states that an action gives to documents of a cluster, whose members come best first.

    confirm   the cluster is right as it stands
    keep      the chosen document stays, in place of the one that it duplicates
    restore   the chosen documents stay too
    separate  the chosen documents are not the same as the others, nor as each other: they leave, and stay
    split     the chosen documents leave together: the best of them stays
    skip      nothing
    """
    known = {one.id: one for one in members}
    if missing := [name for name in chosen if name not in known]:
        raise InputError(f"{missing[0]} is no document of this cluster any more: load the page again.")
    if action not in ("confirm", "skip") and not chosen:
        raise InputError("No document is chosen: mark the ones that this is about.")
    picked = [one for one in members if one.id in set(chosen)]
    if action == "confirm":
        return list(members)
    if action == "keep":
        return _kept_instead(members, picked)
    if action == "restore":
        return [replace(one, keep=True, duplicate_of=None) for one in picked]
    if action == "separate":
        alone = [replace(one, keep=True, duplicate_of=None, group=one.id) for one in picked]
        return alone + _left_behind(members, picked)
    if action == "split":
        best = next((one for one in picked if one.keep), picked[0])
        others = [one for one in picked if one is not best]
        return [
            replace(best, keep=True, duplicate_of=None, group=best.id),
            *(replace(one, keep=False, duplicate_of=best.id, group=best.id) for one in others),
            *_left_behind(members, picked),
        ]
    return []


def _kept_instead(members: Sequence[DocumentState], picked: Sequence[DocumentState]) -> list[DocumentState]:
    """The chosen document takes the place of the one that it duplicates."""
    if len(picked) != 1:
        raise InputError("One document takes the place of the kept one: mark no others.")
    one = picked[0]
    if one.keep:
        return [one]
    old = next((other for other in members if other.id == one.duplicate_of), None)
    if old is None:
        raise InputError(f"{one.id} duplicates a document outside this cluster: restore it instead.")
    followers = [other for other in members if other.duplicate_of == old.id and other is not one]
    moved = [replace(other, keep=False, duplicate_of=one.id, group=old.group) for other in (old, *followers)]
    return [replace(one, keep=True, duplicate_of=None, group=old.group), *moved]


def _left_behind(members: Sequence[DocumentState], leaving: Sequence[DocumentState]) -> list[DocumentState]:
    """New states of documents whose kept one leaves: the best of them stays, the others duplicate it."""
    gone = {one.id for one in leaving}
    changed = []
    for head in leaving:
        followers = [one for one in members if one.duplicate_of == head.id and one.id not in gone]
        for number, one in enumerate(followers):
            # A group is named by its head: the name must not stay with one that has left.
            group = one.group if one.group != head.id else followers[0].id
            other = None if number == 0 else followers[0].id
            changed.append(replace(one, keep=number == 0, duplicate_of=other, group=group))
    renamed = {one.id for one in changed}
    for one in members:  # kept members of a group whose name leaves
        if one.group in gone and one.id not in gone | renamed:
            heir = next((other.group for other in changed if other.group is not None), one.id)
            changed.append(replace(one, group=heir))
    return changed
