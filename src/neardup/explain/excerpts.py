"""Excerpts of documents for display: shortened, without control characters."""

from __future__ import annotations

__all__ = ["printable", "shorten", "visible"]

CHARACTERS_A_WORD = 12  # in scripts without spaces, passages are cut by characters

# C0 controls have pictures; C1 controls and direction marks, which reorder the rest of a line, have none.
_PICTURES = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}
_PICTURES |= dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_IN_LINES = {code: picture for code, picture in _PICTURES.items() if code not in (9, 10)}


def shorten(text: str, context: int) -> str:
    """The first and the last words and the number left out, if that is shorter."""
    return "".join(cut_middle(text, context))


def cut_middle(text: str, context: int, after: int | None = None) -> tuple[str, str, str]:
    """The first words, a note of how many are left out, and the last ones (`after`, or as many)."""
    after = context if after is None else after
    words = text.split(" ")
    hidden = len(words) - context - after
    head, tail = " ".join(words[:context]), " ".join(words[max(len(words) - after, 0) :])
    # A word can be as long as a book: words are counted only where they are of a common length.
    if hidden > 4 and len(head) + len(tail) <= 3 * CHARACTERS_A_WORD * (context + after):
        return f"{head} " * bool(head), f"… {hidden:,} words …", f" {tail}" * bool(tail)
    first, last = context * CHARACTERS_A_WORD, after * CHARACTERS_A_WORD
    hidden = len(text) - first - last
    if hidden > 2 * CHARACTERS_A_WORD:
        return f"{text[:first]} ", f"… {hidden:,} characters …", f" {text[len(text) - last :]}"
    return text, "", ""


def printable(text: str) -> str:
    """The text on one line, control characters as pictures."""
    return " ".join(text.split()).translate(_PICTURES)


def visible(text: str) -> str:
    """The text in its own lines, other controls and direction marks as pictures."""
    return text.replace("\r\n", "\n").translate(_IN_LINES)
