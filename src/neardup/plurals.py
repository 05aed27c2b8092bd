"""Counts with their nouns, as every message and summary writes them."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count and its noun: "1 document", "2,000 documents"; `plural` where an s is not enough."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
