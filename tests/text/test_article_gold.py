"""On labelled pages the default reaches what is promised; skipped where they are absent."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from neardup.evaluate.extraction import average, precision_and_recall, shingles
from neardup.text.article import article_text

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

from article_gold import read_documents


def test_the_measure_counts_shingles_as_multisets() -> None:
    assert precision_and_recall("a b c d e", "a b c d e") == (1, 1)
    assert precision_and_recall("a b c d e", "x a b c d") == (0.5, 0.5)
    assert precision_and_recall("a a a a", "a a a a a") == (0.5, 1)
    assert precision_and_recall("a b", "a b") == (1, 1)
    assert precision_and_recall("", "") == (1, 1)
    assert precision_and_recall("a", "") == precision_and_recall("", "a") == (0, 0)
    assert shingles("one") == {("one",): 1}
    assert average([(1, 0.5), (0.5, 0.5)]).f1 == pytest.approx(2 * 0.75 * 0.5 / 1.25)


@pytest.mark.slow
def test_the_default_is_as_good_and_as_fast_as_promised() -> None:
    pages = read_documents("article_extraction")
    if pages is None:
        pytest.skip(
            "the labelled pages are absent: set NEARDUP_DATA to the folder that holds article_extraction"
        )
    article_text(pages[0]["html"])
    start = time.process_time()
    texts = [article_text(page["html"]) for page in pages]
    seconds = time.process_time() - start
    scores = [precision_and_recall(page["gold"], text) for page, text in zip(pages, texts, strict=True)]
    assert average(scores).f1 > 0.95
    assert len(pages) / seconds > 200  # 500 and more on a machine that does nothing else
