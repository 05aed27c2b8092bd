"""A method's similarities of all labelled pairs, and the recall of its candidates among them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.allpairs import Kind, all_pairs
from neardup.candidates.buckets import Buckets, numbered_rows, unranked_pairs
from neardup.candidates.buckets import all_pairs as all_bucket_pairs
from neardup.columns import Numbers, Pairs
from neardup.engines.core.tables import expanded_pairs
from neardup.engines.local.measure import Measurer, features_of
from neardup.engines.local.read import Corpus
from neardup.engines.local.verify import Matches
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Floats
from neardup.plan import USUAL_RECALL, Plan
from neardup.sorted_sets import run_starts
from neardup.verify.cosine import Cosine
from neardup.verify.jaccard import Jaccard
from neardup.verify.multiset import MultisetJaccard

MOST = 5000  # labelled documents, up to which all pairs are compared
BLOCK = 1 << 20  # pairs that are measured together
BINS = np.linspace(0, 1, 21)


@dataclass(frozen=True)
class Similarities:
    """Scores of pairs; unlisted pairs have the score 0, and scores below `least` are unknown."""

    left: Numbers
    right: Numbers
    score: Floats
    least: float = 0.0

    def take(self, which: NDArray[np.bool_]) -> Similarities:
        """Some of the pairs; the others have the score 0."""
        return replace(self, left=self.left[which], right=self.right[which], score=self.score[which])


def similarities(plan: Plan, corpus: Corpus, matches: Matches, truth: Truth, threads: int) -> Similarities:
    """The similarities of all labelled pairs, or of the candidates among them.

    Judged pairs: exactly these. Up to 5,000 labelled documents: every pair, exactly. More documents: the candidates
    down to the similarity at which they still reach the plan's recall.
    """
    if truth.clusters is None:
        assert truth.left is not None and truth.right is not None
        if plan.check.level == "none":
            return candidate_scores(plan, matches)
        found = Measurer(plan, corpus, threads).measure(truth.left, truth.right)
        return _with_copies(corpus, matches, truth.left, truth.right, _scored(found))
    labelled = np.flatnonzero(truth.clusters >= 0)
    if plan.check.level == "none" or len(labelled) > MOST:
        return candidate_scores(plan, matches)
    if isinstance(plan.check, (Jaccard, MultisetJaccard, Cosine)):
        kind: Kind = "cosine" if isinstance(plan.check, Cosine) else "jaccard"
        pairs = all_pairs(features_of(plan, corpus, labelled, threads), kind, threads)
        scored = _scored(replace(pairs, left=labelled[pairs.left], right=labelled[pairs.right], kind=kind))
    else:
        scored = _block_by_block(plan, corpus, labelled, threads)
    return _with_copies(corpus, matches, *_featureless_copies(corpus, matches, labelled), scored)


def cache_key(plan: Plan, truth: Truth) -> str | None:
    """A key of the stages that similarities depend on; None if they depend on the candidates."""
    labelled = 0 if truth.clusters is None else int((truth.clusters >= 0).sum())
    if plan.check.level == "none" or labelled > MOST:
        return None
    stages: dict[str, Any] = plan.to_dict()
    view = dict(stages["view"])
    if plan.check.level == "features":
        view.pop("signature")
    return json.dumps(
        [stages["text"], view, stages["check"], stages["check_view"], plan.df_unit, plan.statistics],
        sort_keys=True,
    )


def _scored(pairs: Pairs) -> Similarities:
    """The scores of pairs; an unverified candidate has the score 1, because it is reported as it is."""
    score = pairs.similarity
    return Similarities(pairs.left, pairs.right, np.where(np.isnan(score), 1.0, score))


def _block_by_block(plan: Plan, corpus: Corpus, labelled: Numbers, threads: int) -> Similarities:
    """All pairs by the plan's own check; pairs of similarity 0 are removed."""
    n = len(labelled)
    measurer = Measurer(plan, corpus, threads)
    measure = measurer.holding(labelled) if measurer.needs_texts else measurer.measure
    parts = []
    for _, k in numbered_rows(np.array([n * (n - 1) // 2]), BLOCK):
        i, j = unranked_pairs(k)
        pairs = measure(labelled[i], labelled[j])
        parts.append(pairs.take(pairs.similarity > 0))
    return _scored(Pairs.concatenate(parts))


def candidate_scores(plan: Plan, matches: Matches) -> Similarities:
    """The scores of candidates down to the plan's reach, expanded from representatives to all their copies."""
    verified = plan.check.level != "none"
    least = plan.reach if verified else 0.0
    kept = matches.pairs
    if verified:
        kept = kept.take(plan.check.passes(kept, least))
    blocks = list(expanded_pairs(matches.representative, kept.left, kept.right))
    if not blocks:
        return Similarities(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), least)
    left, right, edge = (np.concatenate(column) for column in zip(*blocks, strict=True))
    similar = np.append(_scored(kept).score, 1.0)  # the last entry is for copies, which have no edge
    return Similarities(left, right, similar[edge], least)


def _featureless_copies(corpus: Corpus, matches: Matches, labelled: Numbers) -> tuple[Numbers, Numbers]:
    """Pairs of copies without features, which share no feature but are found by the engine."""
    representative = matches.representative
    some = labelled[~corpus.present[labelled]]
    order = some[np.argsort(representative[some], kind="stable")]
    return pairs_inside(Buckets(order, run_starts(representative[order])))


def pairs_inside(groups: Buckets, most: float = math.inf) -> tuple[Numbers, Numbers]:
    """All pairs of documents of each group; after `most` of them, a few more at the most."""
    blocks, total = [(np.zeros(0, np.int64), np.zeros(0, np.int64))], 0
    for left, right in all_bucket_pairs(groups, BLOCK):
        blocks.append((left, right))
        total += len(left)
        if total >= most:
            break
    left, right = (np.concatenate(side) for side in zip(*blocks, strict=True))
    return left, right


def _with_copies(
    corpus: Corpus, matches: Matches, left: Numbers, right: Numbers, scored: Similarities
) -> Similarities:
    """The scores, with 1 for pairs that are copies without features."""
    copies = (matches.representative[left] == matches.representative[right]) & ~corpus.present[left]
    if not copies.any():
        return scored
    a, b = left[copies], right[copies]
    n = len(corpus)
    listed = np.isin(scored.left * n + scored.right, a * n + b)
    return Similarities(
        np.concatenate([scored.left[~listed], a]),
        np.concatenate([scored.right[~listed], b]),
        np.concatenate([scored.score[~listed], np.ones(len(a))]),
    )


# Candidate recall -------------------------------------------------------------------------------


@dataclass(frozen=True)
class CandidateRecall:
    """The number of pairs that reach the threshold, and of candidates among them; and both by bin of similarity."""

    threshold: float
    pairs: int  # at or above the threshold
    found: int
    edges: Floats
    pairs_in_bin: Numbers
    found_in_bin: Numbers

    @property
    def recall(self) -> float:
        """The share of similar pairs that become candidates."""
        return self.found / self.pairs if self.pairs else float("nan")


def is_candidate(matches: Matches, packed: Numbers, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    """Which pairs are candidates (packed pairs of `find_candidates`) or copies."""
    n, representative = len(matches.representative), matches.representative
    a, b = representative[left], representative[right]
    found: NDArray[np.bool_] = a == b
    requested = np.minimum(a, b) * n + np.maximum(a, b)
    if len(packed):
        place = np.minimum(np.searchsorted(packed, requested), len(packed) - 1)
        found |= packed[place] == requested
    return found


def promises_recall(plan: Plan) -> bool:
    """Whether candidates only save work: they reach the plan's recall at the threshold, and would at any other.

    Otherwise they are part of the method's definition of near-duplicates, as with super-shingles.
    """
    measured = plan.check.level != "none" and plan.check_view is None
    return measured and plan.candidates.probability(plan.threshold) >= (plan.recall or USUAL_RECALL) - 1e-9


def candidate_recall(
    plan: Plan, scored: Similarities, candidates: NDArray[np.bool_]
) -> CandidateRecall | None:
    """The candidate recall of a method whose similarities are known for all pairs; else None."""
    if plan.check.level == "none" or scored.least > 0:
        return None
    reach = scored.score >= plan.threshold
    in_bin = np.clip(np.searchsorted(BINS, scored.score, "right") - 1, 0, len(BINS) - 2)
    return CandidateRecall(
        plan.threshold,
        int(reach.sum()),
        int((candidates & reach).sum()),
        BINS,
        np.bincount(in_bin, minlength=len(BINS) - 1),
        np.bincount(in_bin[candidates], minlength=len(BINS) - 1),
    )
