"""What the columns of a DataFrame mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neardup.documents import choose_columns
from neardup.engines.populations import population_column
from neardup.engines.reader import Columns
from neardup.errors import InputError
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POSITION = "_neardup_position"  # the place of a document in the input, where there is one
GIVEN_ID = "_neardup_id"  # the id of a document that has none of its own


@dataclass(frozen=True)
class Meaning:
    """Which columns of a DataFrame mean what."""

    text: str
    id: str
    html: bool
    fields: tuple[str, ...]
    value: str | None  # for the keep policy
    group: str | None  # for the population
    position: str | None
    id_type: str  # long or string

    @staticmethod
    def of(plan: Plan, frame: DataFrame, columns: Columns) -> Meaning:
        """The meaning that the plan and the user give them."""
        names = [name for name in frame.columns if name not in (POSITION, GIVEN_ID)]
        text, identity = choose_columns(names, text=columns.text, id=columns.id, source="the DataFrame")
        if GIVEN_ID in frame.columns:
            identity = GIVEN_ID
        if identity is None:
            raise InputError(
                "The DataFrame has no id column (id, doc_id, url, path), and rows of a DataFrame have no "
                "lasting order to number them by: add a column of ids, or name one with id_column."
            )
        html = columns.html if columns.html is not None else text.lower() == "html"
        found = Meaning(
            text,
            identity,
            html,
            tuple(getattr(plan.text, "fields", ())),
            plan.keep.column,
            population_column(plan),
            POSITION if POSITION in frame.columns else None,
            _id_type(dict(frame.dtypes)[identity]),
        )
        for option, name in [
            ("keep", found.value),
            ("stats_group", found.group),
            *(("fields", f) for f in found.fields),
        ]:
            if name is not None and name not in frame.columns:
                raise InputError(f"The DataFrame has no column {name!r}, which {option} asks for.")
        if plan.keep.policy in ("first", "last") and found.position is None:
            raise InputError(
                f"keep={plan.keep.policy} needs the order of documents, which a DataFrame does not have: "
                "use lowest:COLUMN or highest:COLUMN with a column that numbers them."
            )
        return found

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        names = [self.text, self.id, *self.fields, self.value, self.group, self.position]
        return list(dict.fromkeys(name for name in names if name is not None))


def _id_type(found: str) -> str:
    return "long" if found in ("tinyint", "smallint", "int", "bigint") else "string"
