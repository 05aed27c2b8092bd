"""Results on standard output: as JSON for programs, or as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

from neardup.escapes import escape_controls, escape_json


def emit(
    as_json: bool, value: Any, lines: Iterable[str], indent: int | None = None, *, err: bool = False
) -> None:
    """Prints the value as JSON, or these lines; `err` is for commands that write data to standard output."""
    if as_json:
        lines = [escape_json(json.dumps(value, ensure_ascii=False, indent=indent))]
    for line in lines:  # whoever makes a line escapes the names in it; this is the net below
        click.echo(escape_controls(line, keep="\n"), err=err)
