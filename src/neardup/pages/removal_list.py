"""Removals with their texts beside each other, riskiest first, as many as a page has room for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neardup.explain.passages import Comparison
from neardup.pages.escaping import named, safe, shortened_name
from neardup.pages.parts import note
from neardup.pages.side_by_side import LEGEND, Caption, one_text, side_by_side
from neardup.plurals import counted

__all__ = ["RemovalGroup", "ShownRemoval", "removal_list"]

ROOM = 3_500_000  # bytes for texts; the rest of a page is far below 1 MB
OPEN = 2  # removals whose texts are shown at once
LONGEST_COMMAND = 400  # characters
NO_TEXT = "The text could not be read."
RELATIONS = {
    "copy": "copy of",
    "near-duplicate": "near-duplicate of",
    "contains": "contains",
    "contained": "contained in",
    "shared passage": "shares a passage with",
    "different": "different from",
}
INDIRECT = {"chain": "by a chain of pairs", "cluster": "by the cluster as a whole", "person": "by a person"}


@dataclass(frozen=True)
class ShownRemoval:
    """A removed document beside the one that it duplicates."""

    id: str
    duplicate_of: str
    similarity: float | None
    relation: str | None
    evidence: str
    size: int  # of the cluster; 0: none
    reference: str | None  # which has the other document
    numbers_only: bool
    comparison: Comparison | None  # None: not both texts are known
    text: str | None  # of the removed document, where it is the only one


@dataclass(frozen=True)
class RemovalGroup:
    """Removals that are risky for one reason."""

    heading: str
    words: str
    removals: Sequence[ShownRemoval]


def removal_list(groups: Sequence[RemovalGroup], report: Mapping[str, Any]) -> str:
    """The groups under their headings."""
    parts: list[str] = []
    room, opened, skipped = ROOM, 0, 0
    for group in groups:
        shown: list[str] = []
        for removal in group.removals:
            text = _removal(removal, report, is_open=opened < OPEN)
            room -= len(text.encode())
            if room < 0:
                skipped += 1
                continue
            shown.append(text)
            opened += 1
        if shown:
            parts.append(f"<h3>{safe(group.heading)}</h3>\n{note(group.words)}{''.join(shown)}")
    parts.append(note(LEGEND if parts else "Every removal is an exact copy or an empty text."))
    if skipped:
        words = "would make this page too large: see the table of clusters."
        parts.append(note(f"{counted(skipped, 'more removal')} {words}"))
    return "".join(parts)


def _removal(one: ShownRemoval, report: Mapping[str, Any], is_open: bool) -> str:
    """A pair that opens: its line, both texts, and the command that compares them."""
    similarity = "–" if one.similarity is None else f"{one.similarity:.3f}"
    state = " open" if is_open else ""
    return (
        f'<details class="pair"{state}><summary><strong>{similarity}</strong> {named(one.id)}'
        f'<span class="tags">{safe("; ".join(_tags(one)))}</span></summary>\n'
        f'<div class="inside">{_texts(one)}{_command(one, report)}</div></details>\n'
    )


def _texts(one: ShownRemoval) -> str:
    """Both texts, or what is known of them."""
    left, right = Caption(one.id, "removed"), Caption(one.duplicate_of, "" if one.reference else "kept")
    if one.comparison is not None:
        return side_by_side(one.comparison, (left, right))
    missing = NO_TEXT
    if one.reference:
        missing = f"The reference {shortened_name(one.reference)} has this document, and its text could not be read."
    sides = one_text(left, one.text, NO_TEXT) + one_text(right, None, missing)
    return f'<div class="sides">\n{sides}</div>\n'


def _tags(one: ShownRemoval) -> Iterator[str]:
    yield f"{RELATIONS.get(one.relation or '', 'duplicate of')} {shortened_name(one.duplicate_of, 80)}"
    if one.evidence not in ("direct", "copy", one.relation):
        yield INDIRECT.get(one.evidence, one.evidence)
    if one.numbers_only:
        yield "different in numbers only"
    if one.size > 2:
        yield f"cluster of {one.size:,}"


def _command(one: ShownRemoval, report: Mapping[str, Any]) -> str:
    """The command that compares the two again, if it can be typed."""
    words, names = report.get("compare"), (one.id, one.duplicate_of)
    if not words or one.reference or any(name.startswith("-") or not name.isprintable() for name in names):
        return ""
    command = shlex.join(["neardup", "compare", *names, *map(str, words)])
    return f'<p class="note"><code>{safe(command)}</code></p>' if len(command) < LONGEST_COMMAND else ""
