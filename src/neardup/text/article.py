"""HTML to the text of its article: what is left when menus, teasers, comments and advertisements are gone.

    article      a linear model over the blocks of a page: the one to take, and needs no package
    segments     maximum subsequence segmentation: no model at all
    resiliparse  its main content
    trafilatura  its extraction
    visible      all that a reader sees, furniture included

docs/article-text.md says how good and how fast each is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html import unescape
from importlib.resources import files
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers
from neardup.errors import MissingExtra, ParameterError
from neardup.text import HtmlText
from neardup.text.encoding import page_bytes
from neardup.text.html import visible_text
from neardup.text.markup import Page, scan_page
from neardup.text.segments import choose_segment
from neardup.text.vocabulary import INSIDE_NAMES, KINDS, masks, tag_bits

__all__ = ["Extracted", "HtmlText", "article_text", "article_texts", "check_html_text", "extract_text"]

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
ENOUGH = 200  # characters: where less is found, the best blocks are taken though they score low …
MARGIN = 1.0  # … as far as this below the best one
PART = 0.1  # less than ENOUGH, and less than this share of the page, is no article


class Extracted(NamedTuple):
    """The text of a page."""

    text: str
    found: bool  # False: nothing looked like an article, and the text is all that is visible


def article_text(html: str | bytes, how: HtmlText = "article") -> str:
    """The article's text, one line a paragraph. Where nothing looks like an article, the visible text."""
    return extract_text(html, how).text


def article_texts(pages: Iterable[str | bytes], how: HtmlText = "article", threads: int = 1) -> list[str]:
    """The article's text of each page. More than half of the work of `article` and `segments` is outside the
    interpreter's lock, so that threads help."""
    if threads < 1:
        raise ParameterError("threads", "article_texts", "at least 1", threads)
    check_html_text(how, "article_texts")
    if threads == 1:
        return [article_text(page, how) for page in pages]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda page: article_text(page, how), pages))


def extract_text(html: str | bytes, how: HtmlText = "article") -> Extracted:
    """The text of a page, and whether it is its article.

    A few words of a long page are no article: pages that share a request to log in would look alike by them.
    """
    check_html_text(how, "extract_text")
    if how == "visible":
        return Extracted(visible_text(html), True)
    text = EXTRACTORS[how](html)
    if len(text) < ENOUGH:
        everything = all_blocks(html)
        if len(text) < PART * len(everything):
            return Extracted(everything, False)
    return Extracted(text, True)


def check_html_text(how: str, owner: str = "neardup") -> None:
    """Refuse a name that stands for no way to read HTML."""
    if how not in get_args(HtmlText):
        raise ParameterError("html_text", owner, f"one of {', '.join(get_args(HtmlText))}", how)


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
    return visible_text(html, main_content=True)


def by_trafilatura(html: str | bytes) -> str:
    """Trafilatura's text without comments."""
    return _trafilatura()(page_bytes(html).decode(), include_comments=False) or ""


EXTRACTORS: dict[str, Callable[[str | bytes], str]] = {
    "article": by_blocks,
    "segments": by_segments,
    "resiliparse": by_resiliparse,
    "trafilatura": by_trafilatura,
}


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

    None of it where there are too many blocks to tell them apart.
    """
    if page.is_full:
        return ""
    columns, text = kernels.markup, page.text.tobytes()
    spans = page.blocks[chosen][:, [columns.START, columns.END]].tolist()
    return _decoded(b"\n".join([text[start:end] for start, end in spans]))


def all_blocks(html: str | bytes) -> str:
    """The text of all blocks of a page."""
    return _decoded(scan_page(page_bytes(html)).text.tobytes())


def _decoded(text: bytes) -> str:
    return unescape(text.decode("utf-8", "replace")).strip()
