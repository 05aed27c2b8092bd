"""Documents as users give them, paths or data in memory, as sources."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from neardup.documents.dialects import Dialect
from neardup.documents.in_kind import taken
from neardup.documents.inputs import Inputs, open_inputs
from neardup.documents.limits import LIMITS, Limits
from neardup.remote import is_address

if TYPE_CHECKING:
    from neardup.text.article import HtmlText


def as_inputs(
    documents: Any,
    format: str | None,
    limits: Limits = LIMITS,
    unescape: bool = False,
    html_text: HtmlText = "article",
    dialect: Dialect | None = None,
) -> tuple[Inputs, Any]:
    """The sources, and the documents themselves if results are returned in their type."""
    how: dict[str, Any] = {"limits": limits, "unescape_formulas": unescape, "html_text": html_text}
    how["dialect"] = dialect
    if isinstance(documents, (str, os.PathLike)):
        return open_inputs([documents], format=format, **how), None
    if (found := taken(documents)) is not None:
        return open_inputs(found.sources, format=format, **how), found
    if isinstance(documents, (pa.Array, pa.ChunkedArray)):
        documents = documents.to_pylist()
    if isinstance(documents, (list, tuple)) and documents and _is_path(documents[0]):
        return open_inputs(list(documents), format=format, **how), None
    if isinstance(documents, (list, tuple, set, frozenset, Iterator)) and not hasattr(
        documents, "__arrow_c_stream__"
    ):
        documents = list(documents)
    return open_inputs([documents], format=format), documents


def _is_path(item: Any) -> bool:
    """Whether the first item of a list names a file or folder; a list that begins otherwise holds documents."""
    if isinstance(item, os.PathLike):
        return True
    short = isinstance(item, str) and len(item) < 1024 and "\n" not in item and "\0" not in item
    if short and is_address(item) and "://" in item and len(item.split()) == 1:
        return True
    return short and os.path.exists(item)  # noqa: PTH110 - Path.exists raises on long names
