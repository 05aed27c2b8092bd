"""Learns src/neardup/text/article_weights.json: how much each feature of a text block speaks for the article.

    python tools/train_article_weights.py                 # from all labelled pages; writes the file
    python tools/train_article_weights.py --validate      # unseen sites and unseen kinds of page; prints only

The labelled pages are nearly all news, and weights learned from them alone lose lists, sub-headings and tables of
other sites. So every page is used in up to ten more forms (`article_kinds.py`), each at PART of its weight.
`--validate` judges the pages of two folds of sites by weights from the other fold; a form is judged by weights from
the five forms of the other group, and pages as they are by both.

A block is labelled by whether the gold text holds it: tokens of page and gold are aligned, and more than half of the
block's must be matched in runs of at least four. Both models are logistic regressions, strongly regularised, in which
each page has the same weight and a block the square root of its words. The second learns from scores of the first
that were learned without the page's site. Needs scipy, and the labelled pages in the folder NEARDUP_DATA (or
../shared/data beside the repository).
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tools")]

from article_kinds import KINDS, rewritten  # noqa: E402
from article_pieces import Words  # noqa: E402

from article_gold import read_documents  # noqa: E402
from neardup import kernels  # noqa: E402
from neardup.evaluate.extraction import TOKEN, average, precision_and_recall  # noqa: E402
from neardup.text.article import (  # noqa: E402
    FEATURES,
    SURROUNDINGS,
    Weights,
    describe_page,
    describe_surroundings,
    join_blocks,
)
from neardup.text.encoding import page_bytes  # noqa: E402
from neardup.text.markup import Page, scan_page  # noqa: E402
from neardup.text.vocabulary import HINT_NAMES  # noqa: E402

PENALTY = 0.004  # of squared weights: F1 on unseen sites and kinds is the same from 0.001 on
LEAST_SPREAD = 0.25  # rare features are scaled as if they were less rare: a few pages decide nothing
# What these name is no article, whatever some pages of a small sample say.
NEVER_FOR = {f"named {hint}" for hint in HINT_NAMES if hint not in ("article", "body", "main")}
NEVER_FOR |= {f"in <{tag}>" for tag in ("nav", "aside", "footer", "header", "form")}
LEAST_RUN = 4  # tokens
PART = 0.2  # the weight of a page in another form, of that of the page
INCLINED = 0.5  # added to the second model's constant: a lost paragraph costs more than a teaser
AS_IT_IS = "as it is"
GROUPS = (
    {"guide", "table", "answers", "recipe", "cards"},
    {"listicle", "lines", "manual", "review", "ticker"},
)


class Labelled(NamedTuple):
    """A page with what is learned from it: rows of blocks that have text said there first."""

    kind: str
    site: str
    page: Page
    attributes: np.ndarray
    features: np.ndarray
    use: np.ndarray  # which blocks
    labels: np.ndarray
    importance: np.ndarray


def block_tokens(page: Page) -> list[list[str]]:
    """The tokens of each block."""
    text = page.text.tobytes()
    spans = page.blocks[:, [kernels.markup.START, kernels.markup.END]].tolist()
    return [TOKEN.findall(unescape(text[start:end].decode())) for start, end in spans]


def matched_shares(tokens: list[list[str]], gold: str) -> np.ndarray:
    """The share of each block's tokens that the gold text has in the same order; NaN without tokens."""
    flat = [token for block in tokens for token in block]
    matched = np.zeros(len(flat))
    pairs = SequenceMatcher(None, flat, TOKEN.findall(gold), autojunk=False).get_matching_blocks()
    for at, _, length in pairs:
        if length >= LEAST_RUN or (at > 0 and matched[at - 1]):
            matched[at : at + length] = 1
    ends = np.cumsum([len(block) for block in tokens]).astype(int)
    return np.array(
        [matched[end - len(b) : end].mean() if b else np.nan for b, end in zip(tokens, ends, strict=True)]
    )


def label_page(document: dict[str, Any], kind: str = AS_IT_IS) -> Labelled:
    """Features, labels and weights of a page's blocks; each text counts where it is first said."""
    page = scan_page(page_bytes(document["html"]))
    attributes, features = describe_page(page)
    tokens = block_tokens(page)
    shares = matched_shares(tokens, document["gold"])
    use = ~np.isnan(shares) & (attributes[:, kernels.blocks.FRESH] > 0)
    importance = np.sqrt([len(block) for block in tokens])[use]
    importance *= (1.0 if kind == AS_IT_IS else PART) / importance.sum()
    site = urlparse(document["url"]).netloc
    return Labelled(kind, site, page, attributes, features, use, shares[use] > 0.5, importance)


def regress(rows: list[np.ndarray], pages: Sequence[Labelled], names: Sequence[str]) -> np.ndarray:
    """The weight of each feature, and the constant: a logistic regression of the blocks in use."""
    from scipy.optimize import minimize

    features = np.concatenate([row[page.use] for row, page in zip(rows, pages, strict=True)])
    sign = np.where(np.concatenate([page.labels for page in pages]), 1.0, -1.0)
    share = np.concatenate([page.importance for page in pages])
    share /= share.sum()
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), LEAST_SPREAD)
    scaled = np.column_stack(((features - mean) / scale, np.ones(len(features))))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (scaled @ weights)
        slopes = np.append(weights[:-1], 0.0)  # the constant is free
        pull = -share * sign / (1 + np.exp(np.minimum(margin, 500)))
        value = share @ np.logaddexp(0, -margin) + PENALTY / 2 * slopes @ slopes
        return value, pull @ scaled + PENALTY * slopes

    bounds = [(None, 0.0) if name in NEVER_FOR else (None, None) for name in (*names, "constant")]
    start = np.zeros(scaled.shape[1])
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300})
    slopes = fit.x[:-1] / scale
    return np.append(slopes, fit.x[-1] - slopes @ mean).round(3) + 0.0


def learn_first(pages: Sequence[Labelled]) -> np.ndarray:
    """The weights of the first model."""
    return regress([page.features for page in pages], pages, FEATURES)


def learn(pages: Sequence[Labelled]) -> Weights:
    """The weights of both models."""
    without = [learn_first([page for page in pages if fold(page.site, "second") != k]) for k in range(2)]
    rows = []
    for page in pages:
        scores = kernels.blocks.weighted_sums(page.features, without[fold(page.site, "second")])
        rows.append(np.hstack((describe_surroundings(page.page, page.attributes, scores), page.features)))
    second = regress(rows, pages, SURROUNDINGS + FEATURES)
    second[-1] += INCLINED
    return Weights(learn_first(pages), second)


def in_all_forms(documents: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Every page as it is, and in the forms that it can be rewritten to, with the name of the form."""
    words = Words([page["gold"] for page in documents])
    found = [(AS_IT_IS, page) for page in documents]
    for page in documents:
        for kind in KINDS:
            made = rewritten(page, kind, words, random.Random(page["id"] + kind))
            found += [] if made is None else [(kind, made)]
    return found


def labelled(documents: Iterable[tuple[str, dict[str, Any]]]) -> list[Labelled]:
    """What is learned from all pages."""
    return [label_page(page, kind) for kind, page in documents]


def fold(site: str, salt: str = "") -> int:
    """The fold of a site's pages, 0 or 1."""
    return hashlib.sha256((salt + site).encode()).digest()[0] % 2


def extract(page: Labelled, learned: Weights) -> str:
    """The text that these weights choose."""
    found = kernels.article
    scores = found.score(page.features, page.attributes, page.page.elements, *learned)
    return join_blocks(page.page, np.flatnonzero(found.choose(scores, page.attributes)))


def validate(documents: list[tuple[str, dict[str, Any]]]) -> None:
    """Print precision, recall and F1 on unseen sites, by kind of page, learned with other kinds or without."""
    pages = labelled(documents)
    for name, groups in (("as they are", (set[str](), set[str]())), ("and other kinds", GROUPS)):
        scores: dict[str, list[tuple[float, float]]] = {}
        for number in range(2):
            for used, judged in (groups, groups[::-1]):
                kinds = {AS_IT_IS, *used}
                learned = learn([p for p in pages if fold(p.site) != number and p.kind in kinds])
                for page, (kind, document) in zip(pages, documents, strict=True):
                    unseen = kind == AS_IT_IS or (kind in judged if judged else kind in KINDS)
                    if fold(page.site) == number and unseen:
                        found = precision_and_recall(document["gold"], extract(page, learned))
                        scores.setdefault(kind, []).append(found)
        everything = [score for kind in KINDS for score in scores[kind]]
        for kind, values in (*scores.items(), ("all unseen kinds", everything)):
            mean = average(values)
            print(f"learned from pages {name:16} {kind:16} P {mean.precision:.3f} R {mean.recall:.3f} "
                  f"F1 {mean.f1:.3f}", flush=True)  # fmt: skip


def as_json(learned: Weights) -> str:
    """The weights by name."""
    names = {"first": FEATURES, "second": SURROUNDINGS + FEATURES}
    stored = {
        model: dict(zip((*columns, "constant"), getattr(learned, model).tolist(), strict=True))
        for model, columns in names.items()
    }
    return json.dumps(stored, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Learns and writes."""
    documents = read_documents("article_extraction")
    if documents is None:
        sys.exit(
            "The labelled pages are absent: set NEARDUP_DATA to the folder that holds article_extraction."
        )
    pages = in_all_forms(documents)
    if "--validate" in sys.argv[1:]:
        validate(pages)
        return
    path = ROOT / "src" / "neardup" / "text" / "article_weights.json"
    path.write_text(as_json(learn(labelled(pages))), "utf-8")


if __name__ == "__main__":
    main()
