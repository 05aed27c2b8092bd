"""The words of a command line that repeat a run, without those about its output."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["repeatable_words"]

WITH_VALUE = ("-o", "--output", "--decisions", "--work-dir")
FLAGS = ("--force", "--resume", "--report", "--json", "--add", "--dry-run")


def repeatable_words(words: Sequence[str]) -> list[str]:
    """The words without options about the output, what is done with it, and decisions of people."""
    kept, rest = list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*kept, word, *rest]
        if word in WITH_VALUE:
            del rest[:1]
        elif not (word in FLAGS or word.partition("=")[0] in WITH_VALUE or _is_short_output(word)):
            kept.append(word)
    return kept


def _is_short_output(word: str) -> bool:
    """Whether this is -oDIR."""
    return word.startswith("-o") and not word.startswith("--")
