"""HTML to the text that a reader sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.errors import MissingExtra

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["html_column_to_text", "visible_text"]


def visible_text(html: str | bytes) -> str:
    """The visible text of a page: block elements on lines of their own, entities decoded.

    Scripts, styles, comments and the head are left out. Bytes are decoded by what the page declares.
    """
    tree = _parser()
    plain = _plain_text()
    if isinstance(html, bytes):
        html = _decoded(html)
    # Neither NUL nor a lone surrogate can pass through the parser, which takes UTF-8.
    page = html.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    body = tree.parse(page).body
    if body is None:
        return ""
    text: str = plain(body, preserve_formatting=True, main_content=False, list_bullets=False, links=False)
    return text.strip()
