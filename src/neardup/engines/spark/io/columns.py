"""The columns of a DataFrame that a plan reads: text, id, fields, and the values of decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.documents import choose_columns
from neardup.engines.core.documents import InputColumns
from neardup.errors import InputError
from neardup.plan import Plan

POSITION = "_neardup_position"  # the position of a document in the input files
GIVEN_ID = "_neardup_id"  # ids that neardup assigns: file and number for documents without an id
KEY = "key"  # the id, as an integer or a string


@dataclass(frozen=True)
class DocumentColumns:
    """The columns that a plan reads, under numbered names, so that any name in the input works."""

    text: str
    html: bool
    html_text: Any
    fields: tuple[str, ...]
    value: str | None  # that the keep policy compares
    group: str | None  # that names the unit of document frequency
    position: str | None
    id_type: str  # of KEY: long or string

    @property
    def selected(self) -> list[str]:
        """The columns to read."""
        names = [self.text, KEY, *self.fields, self.value, self.group, self.position]
        return list(dict.fromkeys(name for name in names if name is not None))


def numbered(names: list[str]) -> list[str]:
    """The numbered names of columns."""
    return [f"c{number}" for number in range(len(names))]


def resolve_columns(plan: Plan, frame: DataFrame, columns: InputColumns) -> tuple[DataFrame, DocumentColumns]:
    """The frame with numbered columns and KEY, and the columns that the plan reads."""
    names = [name for name in frame.columns if name not in (POSITION, GIVEN_ID)]
    text, identity = choose_columns(names, text=columns.text, id=columns.id, source="the DataFrame")
    identity = GIVEN_ID if GIVEN_ID in frame.columns else identity
    if identity is None:
        raise InputError(
            "The DataFrame has no id column (id, doc_id, url, path), and its rows have no stable order to number "
            "them by: add a column of ids, or name one with id_column."
        )
    position = POSITION if POSITION in frame.columns else None
    if plan.keep.policy in ("first", "last") and position is None:
        raise InputError(
            f"keep={plan.keep.policy} needs the order of documents, and a DataFrame has none: "
            "use lowest:COLUMN or highest:COLUMN with a column that numbers them."
        )
    fields = tuple(getattr(plan.text, "fields", ()))
    find = partial(_find, frame.columns)
    table = frame.toDF(*numbered(frame.columns))
    own = find(identity, "id_column") or ""
    key, id_type = _key(table[own], dict(table.dtypes)[own], identity)
    document_columns = DocumentColumns(
        text=find(text, "text_column") or "",
        html=columns.is_html(text),
        html_text=columns.html_text,
        fields=tuple(find(name, "fields") or "" for name in fields),
        value=find(plan.keep.column, "keep"),
        group=find(plan.df_column, "df_unit"),
        position=find(position, "position"),
        id_type=id_type,
    )
    return table.withColumn(KEY, key), document_columns


def _find(names: list[str], name: str | None, option: str) -> str | None:
    """The numbered name of a column."""
    if name is None:
        return None
    if name not in names:
        raise InputError(f"The DataFrame has no column {name!r}, which {option} asks for.")
    if names.count(name) > 1:
        raise InputError(f"The DataFrame has several columns {name!r}, which {option} asks for: rename one.")
    return f"c{names.index(name)}"


def _key(column: Column, kind: str, name: str) -> tuple[Column, str]:
    """The id column as integers or strings, and which of the two."""
    if kind in ("tinyint", "smallint", "int", "bigint"):
        return column.cast("bigint"), "long"
    if kind.startswith("string collate"):
        return f.collate(column, "UTF8_BINARY"), "string"
    if kind == "string" or re.fullmatch(r"(var)?char\(\d+\)|decimal\(\d+,0\)", kind):
        return column.cast("string"), "string"
    raise InputError(
        f"The id column {name!r} has the type {kind}; ids are integers or strings: add a column with the ids as "
        "strings."
    )
