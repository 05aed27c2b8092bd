"""Learns src/neardup/text/article_weights.json: how much each feature of a text block speaks for the article.

    python tools/train_article_weights.py                 # from all labelled pages; writes the file
    python tools/train_article_weights.py --half          # from the development half; prints only
    python tools/train_article_weights.py --forms         # from all pages, in other forms too; writes the file
    python tools/train_article_weights.py --validate      # four folds of sites, by kind of page; prints only

The labelled pages are nearly all news, and weights learned from them alone lose lists, sub-headings and tables of other
sites. With --forms every page is used in up to five more forms (`article_kinds.py`), each at PART of its weight:
better on guides and lists, and worse on pages whose menus are tables (docs/article-text.md).

A block is labelled by whether the gold text holds it: tokens of page and gold are aligned, and more than half of the
block's must be matched in runs of at least four. The model is a logistic regression, strongly regularised, in which
each page has the same weight and a block the square root of its words. Needs scipy, and the labelled pages in
the folder NEARDUP_DATA (or ../shared/data beside the repository).
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterable
from difflib import SequenceMatcher
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from article_kinds import KINDS, Words, rewritten  # noqa: E402

from article_gold import (  # noqa: E402
    TOKEN,
    average,
    in_development_half,
    precision_and_recall,
    read_documents,
)
from neardup import kernels  # noqa: E402
from neardup.text.article import (  # noqa: E402
    FEATURES,
    choose_blocks,
    describe_page,
    join_blocks,
)
from neardup.text.encoding import page_bytes  # noqa: E402
from neardup.text.markup import Page, scan_page  # noqa: E402
from neardup.text.vocabulary import HINT_NAMES  # noqa: E402

PENALTY = 0.004  # of squared weights: F1 of each half by the other changes by 0.002 from 0.0005 to 0.016
LEAST_SPREAD = 0.25  # rare features are scaled as if they were less rare: a few pages decide nothing
# What these name is no article, whatever some pages of a small sample say.
NEVER_FOR = {f"named {hint}" for hint in HINT_NAMES if hint not in ("article", "body", "main")}
NEVER_FOR |= {f"in <{tag}>" for tag in ("nav", "aside", "footer", "header", "form")}
LEAST_RUN = 4  # tokens
PART = 0.05  # the weight of a page in another form, of that of the page
FOLDS = 4
Labelled = tuple[np.ndarray, np.ndarray, np.ndarray]


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


def label_page(document: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and weights of a page's blocks; each text counts where it is first said."""
    page = scan_page(page_bytes(document["html"]))
    facts, features = describe_page(page)
    tokens = block_tokens(page)
    shares = matched_shares(tokens, document["gold"])
    use = ~np.isnan(shares) & (facts[:, kernels.blocks.FRESH] > 0)
    importance = np.sqrt([len(block) for block in tokens])[use]
    return features[use], shares[use] > 0.5, importance / importance.sum() * 100


def learn(labelled: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> dict[str, float]:
    """The weight of each feature, and the constant."""
    from scipy.optimize import minimize

    features, labels, importance = (np.concatenate(column) for column in zip(*labelled, strict=True))
    sign = np.where(labels, 1.0, -1.0)
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), LEAST_SPREAD)
    rows = np.column_stack(((features - mean) / scale, np.ones(len(features))))
    share = importance / importance.sum()

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (rows @ weights)
        slopes = np.append(weights[:-1], 0.0)  # the constant is free
        pull = -share * sign / (1 + np.exp(margin))
        return share @ np.logaddexp(
            0, -margin
        ) + PENALTY / 2 * slopes @ slopes, rows.T @ pull + PENALTY * slopes

    bounds = [(None, 0.0) if name in NEVER_FOR else (None, None) for name in (*FEATURES, "constant")]
    fit = minimize(
        loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000}
    )
    slopes = fit.x[:-1] / scale
    found = dict(zip(FEATURES, slopes.tolist(), strict=True)) | {"constant": float(fit.x[-1] - slopes @ mean)}
    return {name: round(weight, 3) + 0.0 for name, weight in found.items()}


def in_all_forms(documents: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Every page as it is, and in the forms that it can be rewritten to, with the name of the form."""
    words = Words([page["gold"] for page in documents])
    found = [("as it is", page) for page in documents]
    for page in documents:
        for kind in KINDS:
            made = rewritten(page, kind, words, random.Random(page["id"] + kind))
            found += [] if made is None else [(kind, made)]
    return found


def labelled(pages: Iterable[tuple[str, dict[str, Any]]]) -> list[Labelled]:
    """Features, labels and weights of the blocks of all pages."""
    found = []
    for kind, page in pages:
        features, labels, importance = label_page(page)
        found.append((features, labels, importance * (1.0 if kind == "as it is" else PART)))
    return found


def fold(page: dict[str, Any]) -> int:
    """The fold of a page: that of its site, which is in one fold alone."""
    return hashlib.sha256(urlparse(page["url"]).netloc.encode()).digest()[0] % FOLDS


def validate(pages: list[tuple[str, dict[str, Any]]]) -> None:
    """Print precision, recall and F1 on unseen sites, by kind of page, with the other forms in training and without."""
    rows = labelled(pages)
    for name, forms in (("as they are", ("as it is",)), ("all forms", ("as it is", *KINDS))):
        scores: dict[str, list[tuple[float, float]]] = {}
        for number in range(FOLDS):
            used = [
                row
                for row, (kind, page) in zip(rows, pages, strict=True)
                if fold(page) != number and kind in forms
            ]
            weights = np.array([*learn(used).values()])
            for kind, page in pages:
                if fold(page) == number:
                    scores.setdefault(kind, []).append(
                        precision_and_recall(page["gold"], extract(page, weights))
                    )
        for kind, values in scores.items():
            mean = average(values)
            print(f"learned from pages {name:12} {kind:10} {len(values):4} pages: P {mean.precision:.3f} "
                  f"R {mean.recall:.3f} F1 {mean.f1:.3f}")  # fmt: skip


def extract(page: dict[str, Any], weights: np.ndarray) -> str:
    """The text that these weights choose."""
    scanned = scan_page(page_bytes(page["html"]))
    attributes, features = describe_page(scanned)
    scores = kernels.blocks.weighted_sums(features, weights)
    return join_blocks(scanned, choose_blocks(scores, attributes))


def main() -> None:
    """Learns and writes."""
    documents = read_documents("article_extraction")
    if documents is None:
        sys.exit(
            "The labelled pages are absent: set NEARDUP_DATA to the folder that holds article_extraction."
        )
    half = "--half" in sys.argv[1:]
    chosen = [page for page in documents if not half or in_development_half(page["id"])]
    if "--validate" in sys.argv[1:]:
        validate(in_all_forms(chosen))
        return
    pages = in_all_forms(chosen) if "--forms" in sys.argv[1:] else [("as it is", page) for page in chosen]
    stored = json.dumps(learn(labelled(pages)), indent=1, ensure_ascii=False) + "\n"
    if half:
        print(stored)
    else:
        (ROOT / "src" / "neardup" / "text" / "article_weights.json").write_text(stored, "utf-8")


if __name__ == "__main__":
    main()
