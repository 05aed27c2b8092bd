"""Similarities of all pairs under a view, without candidates, as in the papers' figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neardup.candidates.allpairs import Kind, all_pairs
from neardup.columns import Features, Texts, Tokens, make_distinct
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.similarities import Similarities
from neardup.plan import View, stage_json
from neardup.statistics import Statistics, count_features
from neardup.text.words import Words


@dataclass
class ViewScorer:
    """Scores views of the documents of a bench; tokens and frequencies are computed once."""

    bench: Bench
    text: Words = Words()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        texts = Texts.from_arrow(self.bench.documents.texts.combine_chunks())
        self.tokens: Tokens = self.text(texts)
        self._tables: dict[str, Any] = {}

    def statistics(self, view: View) -> Statistics:
        """The document frequencies that a view needs, over the documents themselves."""
        for feature in view.counts:
            name = stage_json(feature)
            if name not in self._tables:
                self._tables[name] = count_features(feature(self.tokens))
        return Statistics(len(self.tokens), stage_json(self.text), dict(self._tables))

    def features(self, view: View) -> Features:
        """The features of every document under a view."""
        found = view.represent(self.tokens, self.statistics(view))
        return found if found.distinct else make_distinct(found)

    def score(self, name: str, view: View, kind: Kind = "jaccard") -> MethodResult:
        """The scores of all pairs, at the best threshold and at any other."""
        return self.score_features(name, self.features(view), kind)

    def score_features(self, name: str, features: Features, kind: Kind = "jaccard") -> MethodResult:
        """The scores of all pairs of given features."""
        pairs = replace(all_pairs(features, kind, self.bench.protocol.threads), kind=kind)
        return self.bench.score(name, None, Similarities(pairs.left, pairs.right, pairs.similarity))


def best(result: MethodResult) -> tuple[float, float, float, float]:
    """Threshold, precision, recall and F1 at the maximum of F1."""
    if result.best is None:
        return float("nan"), float("nan"), float("nan"), 0.0
    counts = result.best.counts
    return result.best.threshold, counts.precision, counts.recall, counts.f1


def at_threshold(result: MethodResult) -> tuple[float, float, float, float]:
    """Threshold, precision, recall and F1 at the method's own threshold."""
    counts = result.counts
    return result.threshold, counts.precision, counts.recall, counts.f1


def megabytes(features: Features, pointer: int, weighted: bool = True) -> float:
    """Memory as the SpotSigs paper accounts for it (5.4.1): 4 bytes a feature, 2 for its count, a pointer."""
    each = 4 + (2 if weighted else 0) + pointer
    return (len(features.hashes) * each + 4 * len(features)) / 2**20


def keys_megabytes(documents: int, keys: int) -> float:
    """Memory of a table of keys: 4 bytes for each, and a pointer of 4."""
    return documents * keys * 8 / 2**20


def distinct_features(features: Features) -> int:
    """The number of distinct features of all documents."""
    return len(np.unique(features.hashes))
