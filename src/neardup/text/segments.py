"""The article of a page as one run of its words: maximum subsequence segmentation.

Every word counts for, every tag against; the run of tokens with the largest sum is the article (Pasternack and Roth,
"Extracting article text from the web with maximum subsequence segmentation", WWW 2009, without the learned scores).
The study of rare phrases extracts its news articles in this way. A run begins and ends with a block here: between
the words of one paragraph are too few tags to cut.
"""

from __future__ import annotations

import numpy as np

from neardup import kernels
from neardup.columns import Numbers
from neardup.text.markup import Page

TAG_COST = 3.25  # words that a tag outweighs; not tuned


def choose_segment(page: Page, tag_cost: float = TAG_COST) -> Numbers:
    """The numbers of the blocks in the best run."""
    columns, blocks = kernels.markup, page.blocks
    if len(blocks) == 0:
        return np.zeros(0, np.int64)
    spaces = (page.text == ord(" ")) | (page.text == ord("\n"))  # one between words, and one between blocks
    words = np.add.reduceat(spaces, blocks[:, columns.START], dtype=np.int64)
    words[-1] += 1
    before, until = blocks[:, columns.TAGS_BEFORE], blocks[:, columns.TAGS_UNTIL]
    values = np.empty(2 * len(blocks), np.float64)  # of the tags before each block, and of the block
    values[0::2] = -tag_cost * (before - np.concatenate(([0], until[:-1])))
    values[1::2] = words - tag_cost * (until - before)
    start, stop = kernels.blocks.best_segment(values)
    return np.arange(start // 2, (stop + 1) // 2)
