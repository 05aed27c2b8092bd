"""The options of `neardup compare` that show two documents as a run compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.cli.support.method_options import ChosenMethod

NAMES = ("text_column", "id_column", "format", "stats", "df_unit")
DEFAULTS = {
    "html_text": "article",
    "decide": "similarity",
    "numbers": "words",
    "normalize": None,
}  # which need not be shown


def compare_words(
    inputs: Sequence[str], chosen: ChosenMethod, values: Mapping[str, Any]
) -> tuple[str, ...] | None:
    """The options; None for standard input, which cannot be read again."""
    if "-" in inputs:
        return None
    shown = {name: values[name] for name in NAMES if values[name] is not None}
    shown |= {name: values[name] for name, usual in DEFAULTS.items() if values[name] != usual}
    words = [word for name, value in shown.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    html = {True: ["--html"], False: ["--no-html"], None: []}[values["html"]]
    return (*chosen.words, *words, *html, *(word for one in inputs for word in ("--in", one)))
