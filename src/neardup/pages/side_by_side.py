"""Two texts beside each other with the passages that they share.

Texts are untrusted: they are escaped, control characters are shown as symbols, and the direction of a text does not
affect the page. However long a text is, what is shown of it is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neardup.explain.excerpts import cut_middle, visible
from neardup.explain.passages import Comparison, Side
from neardup.pages.escaping import named, safe
from neardup.plurals import counted

__all__ = ["Caption", "LEGEND", "one_text", "side_by_side"]

AROUND = 40  # words shown on either side of a shared passage
WITHIN = 30  # words at each end of a long shared passage
MOST_PASSAGES = 200  # of one text
MOST_CHARACTERS = 10_000  # of one text
WHOLE = 100_000  # characters of a text that is shown as a whole
TINTS = 6  # colours of shared passages, repeated
LEGEND = "Coloured passages occur in both texts; equal numbers mark the same passage."


@dataclass(frozen=True)
class Caption:
    """What stands above a text: the document's name, its part in the decision, and words about it."""

    name: str
    role: str = ""  # such as "kept"
    about: str = ""


def side_by_side(compared: Comparison, captions: tuple[Caption, Caption], *, whole: bool = False) -> str:
    """Both texts under their captions: around what they share, or as a whole."""
    left, right = captions
    shown = _figure(left, compared.left, whole) + _figure(right, compared.right, whole)
    return f'<div class="sides">\n{shown}</div>\n'


def one_text(caption: Caption, text: str | None, missing: str) -> str:
    """A text that has no partner to compare it with, or the reason why it is missing."""
    body = (
        f'<span class="gap">{safe(missing)}</span>'
        if text is None
        else _shortened(visible(text), 2 * AROUND, AROUND)
    )
    return _framed(caption, safe(caption.about), body)


def _figure(caption: Caption, side: Side, whole: bool) -> str:
    """One text under its id, in its own direction."""
    features = f"{counted(side.features, 'feature')}, {side.containment:.0%} of them shared"
    about = "; ".join(part for part in (caption.about, features) if part)
    return _framed(caption, safe(about), "".join(_pieces(side, whole)) or '<span class="gap">no text</span>')


def _framed(caption: Caption, about: str, body: str) -> str:
    role = f'<span class="role {safe(caption.role)}">{safe(caption.role)}</span> ' if caption.role else ""
    return (
        f"<figure>\n<figcaption>{role}{named(caption.name)}<small>{about}</small></figcaption>\n"
        f'<div class="text" dir="auto">{body}</div>\n</figure>\n'
    )


def _pieces(side: Side, whole: bool) -> Iterator[str]:
    """The passages of a text in order, the shared ones marked, the long ones shortened."""
    last, room = len(side.passages) - 1, WHOLE if whole else MOST_CHARACTERS
    for place, passage in enumerate(side.passages):
        if place == MOST_PASSAGES * (10 if whole else 1) or room < 0:
            yield f' <span class="gap">… {counted(last + 1 - place, "more passage")}</span>'
            return
        words = visible(side.text[passage.start : passage.end])
        around = (WITHIN, WITHIN) if passage.shared else _context(place, last)
        around = (WHOLE // 20, WHOLE // 20) if whole else around
        inner = _shortened(words, *around)
        room -= min(len(words), 8 * sum(around))
        if passage.shared:
            inner = f'<mark class="t{passage.number % TINTS}" data-n="{passage.number}">{inner}</mark>'
        yield inner


def _context(place: int, last: int) -> tuple[int, int]:
    """The number of words to show at both ends of an unshared passage, next to the shared ones.

    The beginning of a text is always shown.
    """
    if place == last == 0:
        return 2 * AROUND, AROUND
    return AROUND, AROUND if place < last else 0


def _shortened(text: str, first: int, last: int) -> str:
    """The text, escaped and with its middle omitted if it is long."""
    head, omitted, tail = cut_middle(text, first, last)
    gap = f'<span class="gap">{omitted}</span>' if omitted else ""
    return safe(head) + gap + safe(tail)
