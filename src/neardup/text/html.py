"""HTML to the text that a reader sees."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from neardup.errors import MissingExtra

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["html_column_to_text", "visible_text"]

_UNFIT = re.compile("[\0\ud800-\udfff]")  # what cannot pass through a parser that takes UTF-8 in C strings


def visible_text(html: str | bytes) -> str:
    """The visible text of a page: block elements on lines of their own, entities decoded.

    Scripts, styles, comments and the head are left out. Bytes are decoded as the page declares.
    """
    parse, decode, extract = _tools()
    page = _UNFIT.sub("\ufffd", decode(html) if isinstance(html, bytes) else html)
    text: str = extract(parse(page), preserve_formatting=True, list_bullets=False, links=False)
    return _UNFIT.sub("\ufffd", text).strip()


def html_column_to_text(column: pa.Array[Any]) -> pa.Array[Any]:
    """The visible text of every page of a string column; nulls stay null."""
    import pyarrow as pa

    pages = column.to_pylist()
    texts = [None if page is None else visible_text(page) for page in pages]
    return pa.array(texts, pa.large_string() if pa.types.is_large_string(column.type) else pa.string())


@cache
def _tools() -> tuple[Callable[[str], Any], Callable[[bytes], str], Callable[..., str]]:
    """The parser, the decoder and the extractor of resiliparse, which is optional."""
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.encoding import bytes_to_str, detect_encoding
        from resiliparse.parse.html import HTMLTree
    except ImportError:
        raise MissingExtra("resiliparse", "html", "Reading HTML") from None

    def decode(data: bytes) -> str:
        text: str = bytes_to_str(data, detect_encoding(data, from_html_meta=True))
        return text

    return HTMLTree.parse, decode, extract_plain_text
