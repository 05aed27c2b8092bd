"""Which text of a page is its article: every method on labelled pages, its speed, and what it does for news pairs.

    python benchmarks/article_extraction.py                          # one table, in Markdown
    python benchmarks/article_extraction.py --methods article,visible --reps 5

Quality: `neardup.evaluate.extraction` says how it is measured; the halves are fixed by the hash of a page's id.
`article` was developed on the first half, and its weights were learned from both, so its own row is in-sample; a
second row has each half judged by weights learned from the other half alone. Speed: pages a second of CPU time, the
best of some runs over all labelled pages, one thread. News: all pairs of the news pages, same cluster = positive;
the best F1 over all thresholds of the Jaccard similarity of 3-word and of 5-word shingles of the extracted text.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from train_article_weights import extract as extract_with
from train_article_weights import in_all_forms, label_page, labelled, learn

from article_gold import in_development_half, read_clusters, read_documents
from neardup.errors import MissingExtra
from neardup.evaluate.extraction import TOKEN, Quality, average, precision_and_recall
from neardup.text import article

Extract = Callable[[str], str]
Pages = list[dict[str, Any]]
HEADER = "| method | first half P / R / F1 | other half | all | pages/s | news F1, 3 words | 5 words |"


def methods() -> dict[str, Extract]:
    """Every way to get the text, by name."""
    from functools import partial

    found: dict[str, Extract] = {
        how: partial(article.article_text, how=how)  # type: ignore[arg-type]
        for how in ("article", "segments", "resiliparse", "trafilatura", "visible")
    }
    try:
        from trafilatura import extract

        for mode in ("favor_precision", "favor_recall", "fast"):
            found[f"trafilatura, {mode}"] = lambda page, mode=mode: (
                extract(page, include_comments=False, **{mode: True}) or ""
            )
    except ImportError:
        del found["trafilatura"]
        print("trafilatura is left out: it is not installed.", file=sys.stderr)
    return found


def judge(pages: Pages, texts: list[str]) -> list[Quality]:
    """The quality on the first half, the other half, and all pages."""
    scores = [precision_and_recall(page["gold"], text) for page, text in zip(pages, texts, strict=True)]
    first = [in_development_half(page["id"]) for page in pages]
    halves = [
        [score for score, here in zip(scores, first, strict=True) if here == want] for want in (True, False)
    ]
    return [average(half) for half in (*halves, scores)]


def time_pages(extract: Extract, pages: Pages, reps: int) -> tuple[list[str], float]:
    """The texts, and pages a second of CPU time."""
    extract(pages[0]["html"])  # compiled and loaded
    best = np.inf
    for _ in range(reps):
        start = time.process_time()
        texts = [extract(page["html"]) for page in pages]
        best = min(best, time.process_time() - start)
    return texts, len(pages) / best


def judged_by_the_other_half(pages: Pages) -> list[str]:
    """What `article` extracts with weights that were learned without the half a page is in."""
    learned = {
        half: learn(
            labelled(in_all_forms([page for page in pages if in_development_half(page["id"]) != half]))
        )
        for half in (True, False)
    }
    return [extract_with(label_page(page), learned[in_development_half(page["id"])]) for page in pages]


def news_f1(texts: list[str], clusters: list[str], width: int) -> float:
    """The best F1 over all thresholds of the Jaccard similarity of word shingles, all pairs."""
    from scipy.sparse import csr_matrix

    numbers: dict[tuple[str, ...], int] = {}
    rows = []
    for text in texts:
        tokens = TOKEN.findall(text.lower())
        grams = {tuple(tokens[i : i + width]) for i in range(len(tokens) - width + 1)}
        rows.append([numbers.setdefault(gram, len(numbers)) for gram in grams])
    sizes = np.array([len(row) for row in rows])
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    flat = np.array([number for row in rows for number in row], np.int64)
    sets = csr_matrix((np.ones(len(flat), np.int32), flat, offsets), shape=(len(texts), max(1, len(numbers))))
    shared = (sets @ sets.T).toarray()
    left, right = np.triu_indices(len(texts), 1)
    common = shared[left, right]
    similarity = common / np.maximum(1, sizes[left] + sizes[right] - common)
    same = np.unique(clusters, return_inverse=True)[1]
    return best_f1(similarity, same[left] == same[right])


def best_f1(similarity: np.ndarray, positive: np.ndarray) -> float:
    """The largest F1 of the pairs at or above some similarity."""
    order = np.argsort(-similarity, kind="stable")
    ranked = similarity[order]
    found = np.cumsum(positive[order])
    last = np.append(ranked[1:] != ranked[:-1], True) & (ranked > 0)  # equal similarities come together
    scores = 2 * found / (np.arange(1, len(order) + 1) + positive.sum())
    return float(scores[last].max(initial=0.0))


def news_columns(extract: Extract, news: Pages | None) -> str:
    """The last two columns."""
    if news is None:
        return "– | –"
    clusters = read_clusters("spotsigs_gold")
    texts = [extract(page["html"]) for page in news]
    labels = [clusters[page["id"]] for page in news]
    return " | ".join(f"{news_f1(texts, labels, width):.3f}" for width in (3, 5))


def row(name: str, quality: list[Quality], speed: str, news: str) -> str:
    """A line of the table."""
    cells = [f"{each.precision:.3f} / {each.recall:.3f} / {each.f1:.3f}" for each in quality]
    return f"| {name} | {' | '.join(cells)} | {speed} | {news} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", help="names, separated by commas; all if not given")
    parser.add_argument("--reps", type=int, default=3, help="runs over all pages, of which the best counts")
    options = parser.parse_args()
    pages, news = read_documents("article_extraction"), read_documents("spotsigs_gold")
    if pages is None:
        print(
            "Skipped: the labelled pages are absent. Set NEARDUP_DATA to the folder that holds article_extraction."
        )
        return
    print(HEADER + "\n|---|---|---|---|---|---|---|")
    wanted = options.methods.split(",") if options.methods else None
    for name, extract in methods().items():
        if wanted and name not in wanted:
            continue
        try:
            texts, speed = time_pages(extract, pages, options.reps)
        except MissingExtra as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        print(row(name, judge(pages, texts), f"{speed:.0f}", news_columns(extract, news)), flush=True)
        if name == "article":
            texts = judged_by_the_other_half(pages)
            print(row("article, weights from the other half", judge(pages, texts), "–", "– | –"), flush=True)


if __name__ == "__main__":
    main()
