"""Articles by maximum subsequence segmentation with learned scores, as in the study of rare phrases, section 4.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlparse

import pyarrow as pa

from neardup import kernels
from neardup.documents import Problems, open_inputs
from neardup.errors import MissingExtra
from neardup.evaluate.corpus import Documents
from neardup.evaluate.extraction import average, precision_and_recall
from neardup.evaluate.run import Bench
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.mss_model import (
    COUNTED,
    LOCAL,
    Labelled,
    Learned,
    RunScore,
    Tokens,
    ends,
    fold,
    label_tokens,
    learn_scores,
    read_tokens,
)
from neardup.evaluate.studies.rare_phrases import DEFAULT, PAPER, Scorer
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.spotsigs import BETTER, GOLD, HALF, shingles, spots
from neardup.evaluate.studies.views import best
from neardup.text import HtmlText
from neardup.text.article import article_text

PAGES = "article_extraction"
OURS: dict[str, HtmlText] = {
    "all visible text": "visible",
    "`segments`: the run of blocks by words and tags": "segments",
    "`article`, shipped weights (learned from these pages, too)": "article",
    "resiliparse": "resiliparse",
    "trafilatura": "trafilatura",
}
RUNS: dict[str, RunScore | None] = {
    "MSS, nothing learned: a tag outweighs 3.25 words": COUNTED,
    "MSS, learned local scores: probability less 1/2": LOCAL,
    "MSS, learned local and global scores": None,
}


class Page(NamedTuple):
    """A page with the text of its article."""

    site: str
    html: str
    gold: str
    labelled: Labelled

    @property
    def tokens(self) -> Tokens:
        """The words and tags of the page."""
        return self.labelled[0]


@study("Duplicate News Story Detection Revisited, section 4.1", PAGES, GOLD)
def mss(data: DataFolder) -> Iterator[StudyTable]:
    """Articles as the best run of a page's tokens, with learned scores: quality on unseen sites, and F1 of pairs."""
    pages = labelled_pages(data)
    yield extraction_table(pages)
    yield pairs_table(data, learn_scores([page.labelled for page in pages], [page.site for page in pages]))


def labelled_pages(data: DataFolder) -> list[Page]:
    """The labelled pages; one without an address is a site of its own."""
    rows = read_columns(data, PAGES, ["id", "url", "html", "gold"])
    pages = []
    for name, url, html, gold in zip(*rows, strict=True):
        tokens = read_tokens(html)
        pages.append(
            Page(urlparse(url or "").netloc or name, html, gold, (tokens, label_tokens(tokens, gold)))
        )
    return pages


def read_columns(data: DataFolder, collection: str, names: list[str]) -> list[list[str]]:
    """Columns of a collection as they are."""
    source = open_inputs([data.require(collection) / "documents.jsonl.gz"])
    table = pa.Table.from_batches([batch.columns for one in source for batch in one.read(names, Problems())])
    return [table.column(name).to_pylist() for name in names]


def extraction_table(pages: Sequence[Page]) -> StudyTable:
    """Precision, recall and F1 of each extractor, ours on sites that it did not learn from."""
    folds = [fold(page.site) for page in pages]
    texts: dict[str, list[str]] = {}
    for name, how in OURS.items():
        try:
            texts[name] = [article_text(page.html, how) for page in pages]
        except MissingExtra:
            continue
    texts |= {name: [""] * len(pages) for name in RUNS}
    learned = []
    for number in range(2):
        some = [page for page, own in zip(pages, folds, strict=True) if own != number]
        learned.append(learn_scores([page.labelled for page in some], [page.site for page in some]))
    for name, run in RUNS.items():
        texts[name] = [learned[own].text(page.tokens, run) for page, own in zip(pages, folds, strict=True)]
    texts["the best run there is (by the labels)"] = [
        page.tokens.text(*ends(page.labelled[1])) for page in pages
    ]
    rows: list[list[Cell]] = []
    for name, found in texts.items():
        quality = average(
            [precision_and_recall(page.gold, text) for page, text in zip(pages, found, strict=True)]
        )
        rows.append([name, quality.precision, quality.recall, quality.f1])
    weights = "; ".join(
        f"word {w:.2f}, tag {t:.2f}, probability {p:.2f}" for w, t, p in (one.run for one in learned)
    )
    notes = [
        f"{len(pages)} pages of {len({page.site for page in pages})} sites in two folds of sites: what is learned is "
        "learned from the other fold",
        f"learned global scores: {weights}",
        "`article` with weights from other sites: `python tools/train_article_weights.py --validate` (0.960)",
        "measure: 4-token shingles, precision and recall averaged over pages",
    ]
    return StudyTable(
        "Text of the article, by extractor", ["extractor", "precision", "recall", "F1"], rows, notes
    )


def pairs_table(data: DataFolder, learned: Learned) -> StudyTable:
    """Max F1 of all pairs of news pages, by the extractor and the method."""
    (html,) = read_columns(data, GOLD, ["html"])
    documents = data.documents(GOLD, "html", "article")
    truth = data.clusters(GOLD, documents)
    ways: dict[str, Callable[[str], str]] = {
        name: using(how) for name, how in OURS.items() if how != "trafilatura"
    }
    ways |= {name: using_run(learned, run) for name, run in RUNS.items()}
    rows: list[list[Cell]] = []
    for name, extract in ways.items():
        try:
            texts = [extract(page) for page in html]
        except MissingExtra:
            continue
        rows.append([name, *figures(data.bench_of(with_texts(documents, texts), truth))])
    columns = ["extractor", "1-shingles", "3-shingles", "SpotSigs, its best", "rare phrases", "`news-2013`"]
    notes = [HALF, "max F1 over all pairs; scores learned from the labelled pages of other sites and years"]
    return StudyTable("Near-duplicate news, by extractor", columns, rows, notes)


def using(how: HtmlText) -> Callable[[str], str]:
    """An extractor of ours."""
    return lambda html: article_text(html, how)


def using_run(learned: Learned, run: RunScore | None) -> Callable[[str], str]:
    """The best run, or all text where that is next to nothing, as `article_text` has it."""

    def extract(html: str) -> str:
        tokens = read_tokens(html)
        text, everything = learned.text(tokens, run), tokens.text(0, len(tokens))
        return (
            everything
            if len(text) < min(kernels.article.ENOUGH, kernels.article.PART * len(everything))
            else text
        )

    return extract


def with_texts(documents: Documents, texts: Sequence[str]) -> Documents:
    """The same documents with other texts."""
    return replace(documents, texts=pa.chunked_array([pa.array(texts, documents.texts.type)]))


def figures(bench: Bench) -> list[float]:
    """Max F1 of some methods."""
    scorer = Scorer(bench)
    views = (shingles(1), shingles(3), spots(0.2, 0.85, **BETTER))
    found = [best(scorer.view_scorer.score("", view))[3] for view in views]
    return [*found, *(best(scorer.score(weight))[3] for weight in (DEFAULT, PAPER))]
