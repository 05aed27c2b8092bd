"""What the columns of a DataFrame mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neardup.documents import choose_columns
from neardup.engines.core.documents import InputColumns
from neardup.errors import InputError
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POSITION = "_neardup_position"  # the place of a document in the input, where there is one
GIVEN_ID = "_neardup_id"  # the id of a document that has none of its own
KEY = "key"  # the id, as an integer or a string


@dataclass(frozen=True)
class DocumentColumns:
    """Which columns of a DataFrame mean what; columns are called by their number, so that any names will do."""

    text: str
    html: bool
    html_text: Any
    fields: tuple[str, ...]
    value: str | None  # for the keep policy
    group: str | None  # for the population
    position: str | None
    id_type: str  # of KEY: long or string

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        names = [self.text, KEY, *self.fields, self.value, self.group, self.position]
        return list(dict.fromkeys(name for name in names if name is not None))


def numbered(names: list[str]) -> list[str]:
    """What the columns are called."""
    return [f"c{number}" for number in range(len(names))]


def understand(plan: Plan, frame: DataFrame, columns: InputColumns) -> tuple[DataFrame, DocumentColumns]:
    """The frame with numbered columns and KEY, and the meaning that the plan and the user give them."""
    names = [name for name in frame.columns if name not in (POSITION, GIVEN_ID)]
    text, identity = choose_columns(names, text=columns.text, id=columns.id, source="the DataFrame")
    identity = GIVEN_ID if GIVEN_ID in frame.columns else identity
    if identity is None:
        raise InputError(
            "The DataFrame has no id column (id, doc_id, url, path), and rows of a DataFrame have no "
            "lasting order to number them by: add a column of ids, or name one with id_column."
        )
    position = POSITION if POSITION in frame.columns else None
    if plan.keep.policy in ("first", "last") and position is None:
        raise InputError(
            f"keep={plan.keep.policy} needs the order of documents, which a DataFrame does not have: "
            "use lowest:COLUMN or highest:COLUMN with a column that numbers them."
        )
    fields = tuple(getattr(plan.text, "fields", ()))
    find = _Finder(frame.columns)
    table = frame.toDF(*numbered(frame.columns))
    own = find(identity, "id_column") or ""
    key, id_type = _key(table[own], dict(table.dtypes)[own], identity)
    meaning = DocumentColumns(
        text=find(text, "text_column") or "",
        html=columns.is_html(text),
        html_text=columns.html_text,
        fields=tuple(find(name, "fields") or "" for name in fields),
        value=find(plan.keep.column, "keep"),
        group=find(plan.df_column, "df_unit"),
        position=find(position, "position"),
        id_type=id_type,
    )
    return table.withColumn(KEY, key), meaning


@dataclass(frozen=True)
class _Finder:
    """Columns by name."""

    names: list[str]

    def __call__(self, name: str | None, option: str) -> str | None:
        if name is None:
            return None
        if name not in self.names:
            raise InputError(f"The DataFrame has no column {name!r}, which {option} asks for.")
        if self.names.count(name) > 1:
            raise InputError(
                f"The DataFrame has several columns {name!r}, which {option} asks for: rename one."
            )
        return f"c{self.names.index(name)}"


def _key(column: Column, kind: str, name: str) -> tuple[Column, str]:
    """Ids as they are compared, and their type."""
    from pyspark.sql import functions as f

    if kind in ("tinyint", "smallint", "int", "bigint"):
        return column.cast("bigint"), "long"
    if kind.startswith("string collate"):
        return f.collate(column, "UTF8_BINARY"), "string"
    if kind == "string" or re.fullmatch(r"(var)?char\(\d+\)|decimal\(\d+,0\)", kind):
        return column.cast("string"), "string"
    raise InputError(
        f"The id column {name!r} is of type {kind}, and ids are integers or strings: add a column with the ids as "
        "strings."
    )
