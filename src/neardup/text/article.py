"""HTML to the text of its article: what is left when menus, teasers, comments and advertisements are gone.

    blocks       a linear model over the blocks of a page: the default, and needs no package
    segments     maximum subsequence segmentation: no model at all
    resiliparse  its main content
    trafilatura  its extraction
    none         all that is visible

docs/article-text.md says how good and how fast each is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html import unescape
from importlib.resources import files
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers
from neardup.errors import MissingExtra, ParameterError
from neardup.text.encoding import page_bytes
from neardup.text.html import visible_text
from neardup.text.markup import Page, scan_page
from neardup.text.segments import choose_segment
from neardup.text.vocabulary import INSIDE_NAMES, KINDS, masks, tag_bits

__all__ = ["ArticleMethod", "article_text", "article_texts"]

ArticleMethod = Literal["auto", "blocks", "segments", "resiliparse", "trafilatura", "none"]

LOCAL = "length|long|links|nearly all links|ends a sentence|long, ends a sentence|punctuation|capitals|digits"
CONTEXT = "repeated|text in container|share of container|links in container|share around container"
NEIGHBOURS = "length|links|ends a sentence"
FEATURES = (
    *LOCAL.split("|"),
    *(f"is {kind}" for kind in KINDS),
    *INSIDE_NAMES,
    *CONTEXT.split("|"),
    *(f"before: {name}" for name in NEIGHBOURS.split("|")),
    *(f"after: {name}" for name in NEIGHBOURS.split("|")),
)
WRAPPER = 0.5  # an element with a larger share of the page's text is no part of a page, whatever it is called
ENOUGH = 200  # characters: where less is found, the best blocks are taken though they score low
MARGIN = 1.0  # how far below the best block they may be


def article_text(html: str | bytes, how: ArticleMethod = "auto") -> str:
    """The article's text, one line a paragraph. Where nothing looks like an article, the visible text."""
    return _extractor(how)(html)


def article_texts(pages: Iterable[str | bytes], how: ArticleMethod = "auto", threads: int = 1) -> list[str]:
    """The article's text of each page. More than half of the work of `blocks` and `segments` is outside the
    interpreter's lock, so that threads help."""
    if threads < 1:
        raise ParameterError("threads", "article_texts", "at least 1", threads)
    extract = _extractor(how)
    if threads == 1:
        return [extract(page) for page in pages]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(extract, pages))


def _extractor(how: str) -> Callable[[str | bytes], str]:
    """The function that does it."""
    extractors: dict[str, Callable[[str | bytes], str]] = {
        "auto": by_blocks,
        "blocks": by_blocks,
        "segments": by_segments,
        "resiliparse": by_resiliparse,
        "trafilatura": by_trafilatura,
        "none": visible_text,
    }
    if how not in extractors:
        raise ParameterError("how", "article_text", f"one of {', '.join(get_args(ArticleMethod))}", how)
    return extractors[how]


def by_blocks(html: str | bytes) -> str:
    """The blocks that the model counts to the article."""
    page = scan_page(page_bytes(html))
    facts, features = describe_page(page)
    scores = kernels.blocks.weighted_sums(features, weights())
    return join_blocks(page, choose_blocks(scores, facts))


def by_segments(html: str | bytes) -> str:
    """The run of blocks with the most words for its tags."""
    page = scan_page(page_bytes(html))
    return join_blocks(page, choose_segment(page))


def by_resiliparse(html: str | bytes) -> str:
    """Resiliparse's main content."""
    return visible_text(html, main_content=True) or visible_text(html)


def by_trafilatura(html: str | bytes) -> str:
    """Trafilatura's text without comments."""
    data = page_bytes(html)
    text: str | None = _trafilatura()(data.decode(), include_comments=False)
    return text or join_blocks(page := scan_page(data), np.arange(len(page.blocks)))


@cache
def _trafilatura() -> Callable[..., str | None]:
    try:
        from trafilatura import extract
    except ImportError:
        raise MissingExtra("trafilatura", "trafilatura", "Extracting articles with trafilatura") from None
    found: Callable[..., str | None] = extract
    return found


def describe_page(page: Page) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Facts and features of a page's blocks; `kernels.blocks` names the columns of the one, FEATURES the others."""
    codes, groups = kernels.blocks, masks()
    facts = np.empty((len(page.blocks), 10), np.float64)
    features = np.empty((len(page.blocks), len(FEATURES)), np.float64)
    codes.measure(page.text, page.blocks, facts)
    inside = codes.inherit(page.elements, facts, tag_bits(), groups, WRAPPER)
    around = (page.blocks, page.elements, facts, inside)
    held = codes.weigh_containers(*around, tag_bits(), groups[codes.EXCLUDED])
    codes.describe(*around, held, tag_bits(), features)
    return facts, features


@cache
def weights() -> NDArray[np.float64]:
    """What each feature counts for the article, and last a constant; `tools/train_article_weights.py` learned them."""
    stored = json.loads(files("neardup.text").joinpath("article_weights.json").read_text("utf-8"))
    return np.array([stored[name] for name in (*FEATURES, "constant")], np.float64)


def choose_blocks(scores: NDArray[np.float64], facts: NDArray[np.float64]) -> Numbers:
    """The numbers of the blocks of the article: those with a score above 0, each text once.

    If they are next to nothing, the page is of a kind that the model does not know: what is best on it is taken.
    """
    codes = kernels.blocks
    chars, fresh = facts[:, codes.CHARS], facts[:, codes.FRESH] > 0
    chosen = (scores > 0) & fresh
    plain = chars[fresh] @ (1 - facts[fresh, codes.LINK])
    candidates = fresh & (chars >= codes.SHORT)
    if candidates.any() and chars[chosen].sum() < min(ENOUGH, 0.1 * plain):
        chosen |= fresh & (scores > scores[candidates].max() - MARGIN)
    return np.flatnonzero(chosen)


def join_blocks(page: Page, chosen: Numbers) -> str:
    """The text of the chosen blocks: character references decoded, a line for each block.

    All text if none is chosen, and where there are too many blocks to tell them apart: none is lost.
    """
    columns, text = kernels.markup, page.text.tobytes()
    if len(chosen) and not page.is_full:
        spans = page.blocks[chosen][:, [columns.START, columns.END]].tolist()
        text = b"\n".join([text[start:end] for start, end in spans])
    return unescape(text.decode("utf-8", "replace")).strip()
