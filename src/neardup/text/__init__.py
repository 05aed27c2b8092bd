"""From HTML and plain text to tokens."""

from typing import Literal

# The part of a page to compare.
HtmlText = Literal["visible", "article", "segments", "resiliparse", "trafilatura"]
