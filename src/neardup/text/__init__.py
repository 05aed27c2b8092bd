"""From HTML and plain text to tokens."""

from typing import Literal

HtmlText = Literal[
    "visible", "article", "segments", "resiliparse", "trafilatura"
]  # the part of a page to compare
