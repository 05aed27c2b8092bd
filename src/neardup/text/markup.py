"""The blocks of an HTML page and the tree of elements around them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup import kernels
from neardup.columns import Bytes, Numbers
from neardup.text.vocabulary import tag_names, vocabulary


class Page(NamedTuple):
    """The text, blocks and elements of a page; `kernels.markup` names the columns."""

    text: Bytes
    blocks: Numbers
    elements: Numbers

    @property
    def is_full(self) -> bool:
        """Whether the page has more blocks than are kept: the last one has the rest of the text."""
        return len(self.blocks) == kernels.markup.MOST_BLOCKS


def scan_page(data: bytes) -> Page:
    """The blocks and elements of a page in UTF-8."""
    tags = data.count(b"<")
    text = np.empty(len(data) + 1, np.uint8)
    blocks = np.empty((min(tags + 1, kernels.markup.MOST_BLOCKS), 6), np.int64)
    elements = np.empty((min(tags + 2, kernels.markup.MOST_ELEMENTS), 6), np.int64)
    state = np.zeros(kernels.tags.NO_END_TAG + len(tag_names()), np.int64)
    source = np.frombuffer(data, np.uint8)
    found, around = kernels.markup.scan(source, vocabulary(), text, blocks, elements, state)
    return Page(text[: state[kernels.tags.WRITTEN]], blocks[:found], elements[:around])
