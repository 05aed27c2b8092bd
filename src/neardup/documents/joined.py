"""Tables of several files as one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from neardup.errors import InputError


def join_tables(parts: Sequence[tuple[str, pa.Table]]) -> pa.Table:
    """The rows of tables with the names of their files; refused if a column has types that do not go together."""
    try:
        return pa.concat_tables([table for _, table in parts], promote_options="permissive")
    except pa.ArrowException:
        raise InputError(_conflict(parts)) from None


def _conflict(parts: Sequence[tuple[str, pa.Table]]) -> str:
    """Which column of which files cannot be joined, and what to do."""
    first: dict[str, tuple[str, pa.Field]] = {}
    for name, table in parts:
        for field in table.schema:
            other, known = first.setdefault(field.name, (name, field))
            try:
                pa.unify_schemas([pa.schema([known]), pa.schema([field])], promote_options="permissive")
            except pa.ArrowException:
                return (
                    f"The column {field.name!r} is {known.type} in {other} and {field.type} in {name}: "
                    "give the files one at a time, or write the column with one type."
                )
    return "The columns of the files have types that do not go together: give the files one at a time."
