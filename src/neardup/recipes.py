"""The recommended options of `neardup dedup` for each kind of data: docs/thresholds.md has what they do."""

from __future__ import annotations

from collections.abc import Mapping

RECIPES: Mapping[str, str] = {
    "articles": "",
    "rewritten articles, whole web pages": "--method rare_phrases",
    "mail": "--method andd",
    "short notices": "--ngram 2 --numbers separate",
    "source code": "--preset code",
}


def recipe_lines() -> list[str]:
    """A line for each kind of data."""
    width = max(map(len, RECIPES))
    return [f"{kind.ljust(width)}  neardup dedup {options}".rstrip() for kind, options in RECIPES.items()]
