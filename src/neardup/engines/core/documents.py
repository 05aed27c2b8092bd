"""Which columns of the input mean what, and a batch of them as the texts that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Hashes, Numbers
from neardup.documents import Batch, Problems, document_texts, plain_column
from neardup.documents.column_text import column_as_text
from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.text.fields import ITEM, SEPARATOR, print_value

if TYPE_CHECKING:
    from neardup.text.article import HtmlText


@dataclass(frozen=True)
class InputColumns:
    """Which columns of the input mean what."""

    text: str | None = None
    id: str | None = None
    html: bool | None = None  # None: a column called html is
    duplicate_ids: str = "error"
    html_text: HtmlText = "article"  # which part of a page is compared

    def is_html(self, text: str) -> bool:
        """Whether the text column of this name holds HTML."""
        return self.html if self.html is not None else text.lower() == "html"


@dataclass
class DocumentTable:
    """What decisions need to know of documents, by number."""

    ids: pa.Array
    id_hashes: Hashes  # an order of the documents that depends on their ids alone
    lengths: Numbers  # characters
    values: pa.Array | None  # the column that the keep policy reads

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class TextColumns:
    """The columns of a batch that texts are made of."""

    text: str
    fields: tuple[str, ...] = ()
    html: bool = False
    html_text: HtmlText = "article"


def reads_markup(plan: Plan) -> bool:
    """Whether the plan's text stage reads HTML itself."""
    return getattr(plan.text, "markup", False)


def plan_fields(plan: Plan) -> tuple[str, ...]:
    """The columns that the plan compares beside the text."""
    return tuple(getattr(plan.text, "fields", ()))


def check_html_text(plan: Plan, html_text: HtmlText) -> None:
    """Refuse a part of a page for a plan that reads whole pages; the default, article, gives way to them."""
    if reads_markup(plan) and html_text not in ("visible", "article"):
        raise ParameterError("html_text", plan.method, "'visible': with tags it reads whole pages", html_text)


def compared_texts(plan: Plan, batch: Batch, columns: TextColumns, problems: Problems) -> pa.Array:
    """The texts of a batch as they are compared: HTML reduced to its text, fields appended."""
    html = columns.html and not reads_markup(plan)
    texts = document_texts(batch, columns.text, problems, html=html, html_text=columns.html_text)
    return with_fields(texts, [plain_column(batch, name) for name in columns.fields])


def with_fields(texts: pa.Array, fields: Sequence[pa.Array]) -> pa.Array:
    """Texts with their fields appended; the texts themselves where a plan has none."""
    if not fields:
        return texts
    printed = (column_as_text(array, print_value, ITEM) for array in fields)
    parts = [texts.cast(pa.large_string()), *printed]
    clean = [pc.replace_substring(part, SEPARATOR, " ") for part in parts]
    return pc.binary_join_element_wise(*clean, pa.scalar(SEPARATOR, pa.large_string()))


def numbered_ids(batch: Batch) -> pa.Array:
    """Numbers from 0, for a single table in memory that has no ids."""
    return pa.array(np.asarray(batch.numbers) - 1)
