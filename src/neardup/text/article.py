"""The article text of HTML pages, without menus, teasers, comments and advertisements.

    article      two linear models over the blocks of a page: the best, and needs no package
    segments     maximum subsequence segmentation: no model at all
    resiliparse  its main content
    trafilatura  its extraction
    visible      all visible text, boilerplate included

docs/article-text.md compares their quality and speed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.errors import MissingExtra, ParameterError
from neardup.text import HtmlText
from neardup.text.encoding import page_bytes
from neardup.text.html import is_cheap_to_parse, visible_text
from neardup.text.markup import Page, scan_page
from neardup.text.references import decode_references, reference_table
from neardup.text.segments import choose_segment
from neardup.text.vocabulary import INSIDE_NAMES, KINDS, masks, tag_bits, vocabulary

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
# What the second model has besides FEATURES: what the scores so far say about the block and what is around it.
SURROUNDINGS = (
    "likely", "container: likely", "around container: part", "before: likely", "after: likely",
    "part on both sides", "in main element",
)  # fmt: skip
ROOM = 4096  # bytes, for a short article that is compared with all text of its page


class Extracted(NamedTuple):
    """The text of a page."""

    text: str
    found: bool  # False: no article was found, and the text is all visible text


def article_text(html: str | bytes, how: HtmlText = "article") -> str:
    """The article's text, one line a paragraph; the visible text if no article is found."""
    return extract_text(html, how).text


def article_texts(pages: Iterable[str | bytes], how: HtmlText = "article", threads: int = 1) -> list[str]:
    """The article's text of each page.

    More than half of the work of `article` and `segments` runs outside the interpreter's lock, so that threads help.
    """
    if threads < 1:
        raise ParameterError("threads", "article_texts", "at least 1", threads)
    check_html_text(how, "article_texts")
    if threads == 1:
        return [article_text(page, how) for page in pages]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda page: article_text(page, how), pages))


def extract_text(html: str | bytes, how: HtmlText = "article") -> Extracted:
    """The text of a page, and whether it is its article.

    A few words of a long page are no article: pages that share a login prompt would look alike.
    """
    check_html_text(how, "extract_text")
    if how == "visible":
        return Extracted(visible_text(html), True)
    if how == "article":
        texts, found = extract_articles(Texts.from_strings([page_bytes(html)]))
        return Extracted(texts.document(0).decode(), bool(found[0]))
    text = EXTRACTORS[how](html)
    if len(text) < kernels.article.ENOUGH:
        everything = all_blocks(html)
        if len(text) < kernels.article.PART * len(everything):
            return Extracted(everything, False)
    return Extracted(text, True)


def check_html_text(how: str, function: str = "neardup") -> None:
    """Refuse an unknown extractor."""
    if how not in get_args(HtmlText):
        raise ParameterError("html_text", function, f"one of {', '.join(get_args(HtmlText))}", how)


def extract_articles(pages: Texts) -> tuple[Texts, NDArray[np.bool_]]:
    """The text of each page (in UTF-8) by the model, and whether it is its article; all texts share one buffer."""
    count = len(pages)
    offsets, found = np.zeros(count + 1, np.int64), np.zeros(count, np.bool_)
    out = np.empty(
        pages.size // 4 * 5 + ROOM, np.uint8
    )  # no character is a quarter longer than its reference
    model = (tag_bits(), masks(), *weights())
    if count:
        kernels.article.extract(
            pages.data, pages.offsets, vocabulary(), model, reference_table(), out, offsets[1:], found
        )
    return Texts(offsets, out[: offsets[-1]].copy()), found


def by_segments(html: str | bytes) -> str:
    """The text of the run of blocks with the most words for its tags."""
    page = scan_page(page_bytes(html))
    return join_blocks(page, choose_segment(page))


def by_resiliparse(html: str | bytes) -> str:
    """Resiliparse's main content."""
    return visible_text(html, main_content=True)


def by_trafilatura(html: str | bytes) -> str:
    """Trafilatura's text without comments; a page that would take it too long has its visible text."""
    page = page_bytes(html).decode()
    if not is_cheap_to_parse(page):
        return visible_text(page)
    return _trafilatura()(page, include_comments=False) or ""


EXTRACTORS: dict[str, Callable[[str | bytes], str]] = {
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
    """Attributes (columns: `kernels.blocks`) and features (columns: FEATURES) of a page's blocks."""
    blocks, groups = kernels.blocks, masks()
    attributes = np.empty((len(page.blocks), 10), np.float64)
    features = np.empty((len(page.blocks), len(FEATURES)), np.float64)
    blocks.measure(page.text, page.blocks, attributes)
    inside = blocks.inherit(page.elements, attributes, tag_bits(), groups, kernels.article.WRAPPER)
    around = (page.blocks, page.elements, attributes, inside)
    container_text = blocks.weigh_containers(*around, tag_bits(), groups[blocks.EXCLUDED])
    blocks.describe(*around, container_text, tag_bits(), features)
    return attributes, features


class Weights(NamedTuple):
    """The weights of the two models; the constant of each is last."""

    first: NDArray[np.float64]  # of FEATURES
    second: NDArray[np.float64]  # of SURROUNDINGS and FEATURES


@cache
def weights() -> Weights:
    """The weights that `tools/train_article_weights.py` learned."""
    stored = json.loads(files("neardup.text").joinpath("article_weights.json").read_text("utf-8"))
    columns = {"first": FEATURES, "second": SURROUNDINGS + FEATURES}
    return Weights(
        *(
            np.array([stored[model][name] for name in (*names, "constant")], np.float64)
            for model, names in columns.items()
        )
    )


def describe_surroundings(
    page: Page, attributes: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What the scores say around each block (columns: SURROUNDINGS)."""
    found = np.empty((len(scores), len(SURROUNDINGS)), np.float64)
    kernels.surroundings.surround(scores, attributes, page.elements, found)
    return found


def join_blocks(page: Page, chosen: Numbers) -> str:
    """The text of the chosen blocks: character references decoded, a line for each block.

    Empty if the page has more blocks than are scanned.
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
    return decode_references(text.decode("utf-8", "replace")).strip()
