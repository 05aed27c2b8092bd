"""Pages are cut into the blocks and elements of the twin, and described as it describes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_html
from neardup.kernels import blocks, markup, surroundings
from neardup.kernels.article import WRAPPER
from neardup.text import article
from neardup.text.markup import Page, scan_page
from neardup.text.vocabulary import HINT_NAMES, tag_names

MOST_BLOCKS = markup.MOST_BLOCKS

NAMES = "div p li ul tr td table a br b hr h2 article nav script style body span blockquote td DIV Script x-y".split()
VALUES = [
    "x",
    "articleBody",
    "story-text sidebar",
    "comments",
    "FOOTER",
    "display: none; a:b",
    "overflow:hidden",
    "",
]
attributes = st.builds(
    lambda name, value, quote: f" {name}={quote}{value}{quote}",
    st.sampled_from("class id style href CLASS role title".split()),
    st.sampled_from(VALUES),
    st.sampled_from("\"' "),
)
start_tags = st.builds(
    lambda name, found, end: f"<{name}{''.join(found)}{end}",
    st.sampled_from(NAMES),
    st.lists(attributes, max_size=2),
    st.sampled_from([">", ">", ">", "/>", " hidden>", ""]),
)
end_tags = st.sampled_from(NAMES).map(lambda name: f"</{name}>")
texts = st.sampled_from([
    " ", "\n", "word", "Two words.", "&nbsp;", "&#160;", "&amp;", "&", "\u00a0", "Â", "é", "中文。", "“So.”", "\0",
    "<", "</", "<!", "<!--", "-->", "<!-- x -->", "<?", ">", '"', "'", "=", "</ x>", "<!-->", "A, b; c! 12",
    "A sentence that is long enough to count, and says it twice.", "x" * 90 + ".",
])  # fmt: skip
pages = st.lists(st.one_of(start_tags, end_tags, texts), max_size=40).map("".join)


def as_tuples(page: Page) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Blocks and elements in the form of the twin."""
    text, names = page.text.tobytes().decode("latin-1"), tag_names()
    found = [(text[b[0] : b[1]], *b[2:]) for b in page.blocks.tolist()]
    elements = [
        (e[0], names[e[1] & 255], frozenset(h for i, h in enumerate(HINT_NAMES) if e[2] >> i & 1), e[3], e[4])
        for e in page.elements.tolist()
    ]
    return found, elements


def twin_tuples(found: naive_html.Scan) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    twins = [(b.text, b.owner, b.linked, b.before, b.until) for b in found.blocks]
    return twins, [(e.parent, e.tag, e.hints, e.first, e.last) for e in found.elements]


@given(pages)
def test_blocks_and_elements_are_those_of_the_twin(page: str) -> None:
    data = page.encode()
    assert as_tuples(scan_page(data)) == twin_tuples(
        naive_html.scan(data.decode("latin-1"), MOST_BLOCKS, MOST_BLOCKS)
    )


@given(pages, st.integers(1, 5), st.integers(2, 6))
def test_without_room_all_text_is_kept(page: str, most_blocks: int, most_elements: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("neardup.kernels.markup.MOST_BLOCKS", most_blocks)
        patch.setattr("neardup.kernels.markup.MOST_ELEMENTS", most_elements)
        small = scan_page(page.encode())
    twin = naive_html.scan(page.encode().decode("latin-1"), most_blocks, most_elements)
    if len(small.blocks) == most_blocks or len(small.elements) == most_elements:
        assert as_tuples(small) == twin_tuples(twin)
    assert small.text.tobytes().split() == scan_page(page.encode()).text.tobytes().split()


@given(pages)
def test_features_are_those_of_the_twin(page: str) -> None:
    data = page.encode()
    _, features = article.describe_page(scan_page(data))
    twin = naive_html.scan(data.decode("latin-1"), MOST_BLOCKS, MOST_BLOCKS)
    expected = [[row.get(name, 0) for name in article.FEATURES] for row in naive_html.describe(twin, WRAPPER)]
    np.testing.assert_allclose(features, np.array(expected, float).reshape(features.shape), atol=1e-9)


@given(pages, st.randoms(use_true_random=False))
def test_surroundings_are_those_of_the_twin(page: str, random: object) -> None:
    data = page.encode()
    scanned = scan_page(data)
    attributes, _ = article.describe_page(scanned)
    scores = [random.choice((-40.0, -2.0, 0.0, 1.0, 50.0)) for _ in attributes]  # type: ignore[attr-defined]
    twin = naive_html.scan(data.decode("latin-1"), MOST_BLOCKS, MOST_BLOCKS)
    expected = naive_html.surround(twin, WRAPPER, scores)
    found = article.describe_surroundings(scanned, attributes, np.array(scores, np.float64))
    np.testing.assert_allclose(found, np.array(expected, float).reshape(found.shape), atol=1e-9)


@given(st.lists(st.integers(-5, 5), max_size=30))
def test_the_best_segment_is_that_of_the_twin(values: list[int]) -> None:
    found = blocks.best_segment(np.array(values, np.float64))
    assert sum(values[slice(*found)]) == sum(values[slice(*naive_html.best_segment(values))])
    assert tuple(found) == naive_html.best_segment(values)


@given(st.integers(0, 4), st.integers(1, 5), st.randoms(use_true_random=False))
def test_scores_are_sums_of_products(rows: int, columns: int, random: object) -> None:
    features = np.array([[random.random() for _ in range(columns)] for _ in range(rows)]).reshape(
        rows, columns
    )  # type: ignore[attr-defined]
    weights = np.array([random.random() for _ in range(columns + 1)])  # type: ignore[attr-defined]
    expected = features @ weights[:-1] + weights[-1]
    np.testing.assert_allclose(blocks.weighted_sums(features, weights), expected, atol=1e-12)


def test_the_feature_names_are_as_many_as_the_kernel_fills() -> None:
    bits = len(article.INSIDE_NAMES)
    assert len(article.FEATURES) == blocks.LOCAL + blocks.KINDS + bits + blocks.CONTEXT + blocks.NEIGHBOURS
    assert len(article.FEATURES) == len(set(article.FEATURES))
    assert len(article.SURROUNDINGS) == surroundings.FEATURES
    assert len(tag_names()) - 1 <= markup.NUMBER
