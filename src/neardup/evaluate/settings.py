"""What a method would do at other thresholds and with other clusterings, from its similarities, without another run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neardup.columns import Numbers, Pairs
from neardup.engines.core.decide import Decisions, decide
from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.leaders import packed
from neardup.evaluate.scores import Floats
from neardup.evaluate.similarities import Similarities
from neardup.evaluate.specs import Spec
from neardup.plan import ClusterKind, Plan
from neardup.verify.cosine import Cosine

# Fine where methods that look at rare features work, coarse above.
THRESHOLDS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, *(round(k * 0.05, 2) for k in range(3, 20)))
CLUSTERINGS: tuple[ClusterKind, ...] = ("leaders", "average")  # the ones that tuning tries, simplest first


@dataclass(frozen=True)
class Setting:
    """A method with its options, a threshold and a clustering."""

    spec: Spec
    clusters: ClusterKind

    @property
    def plan(self) -> Plan:
        """The plan that `dedup` runs."""
        plan = self.spec.plan
        return plan.with_(clustering=replace(plan.clustering, kind=self.clusters))

    @property
    def name(self) -> str:
        """The text of all of it."""
        return f"{self.spec.name} --clusters {self.clusters}"


def thresholds(plan: Plan, least: float) -> list[float]:
    """The thresholds to try: the method's own, and all whose similarities are known."""
    return sorted({plan.threshold, *(value for value in THRESHOLDS if value >= max(least, 1e-9))})


@dataclass(frozen=True)
class Replay:
    """Similarities between distinct texts, sorted, from which clusters at any threshold follow."""

    plan: Plan
    documents: DocumentTable
    representative: Numbers  # for each document the one that stands for its copies
    known: Numbers  # packed pairs, sorted
    score: Floats

    @staticmethod
    def of(plan: Plan, documents: DocumentTable, representative: Numbers, scored: Similarities) -> Replay:
        """The replay of a run over these documents."""
        n = len(representative)
        own = (representative[scored.left] == scored.left) & (representative[scored.right] == scored.right)
        own &= scored.left != scored.right
        pairs = packed(scored.left[own], scored.right[own], n)
        order = np.argsort(pairs)
        # Only similarities count from here on, whatever the method measures them by.
        plain = plan.with_(check=Cosine(), check_view=None)
        return Replay(plain, documents, representative, pairs[order], scored.score[own][order])

    def decide(self, threshold: float, clusters: ClusterKind) -> Decisions:
        """The decisions at this threshold, with this clustering."""
        plan = self.plan.with_(
            threshold=threshold, clustering=replace(self.plan.clustering, kind=clusters), pairs="clusters"
        )
        reach = self.score >= threshold
        evidence = self._pairs(self.known[reach], self.score[reach])
        return decide(plan, self.documents, self.representative, evidence, self._measure)

    def _measure(self, left: Numbers, right: Numbers) -> Pairs:
        asked = packed(left, right, len(self.representative))
        score = np.zeros(len(asked))
        if len(self.known):
            place = np.minimum(np.searchsorted(self.known, asked), len(self.known) - 1)
            score = np.where(self.known[place] == asked, self.score[place], 0.0)
        return self._pairs(asked, score)

    def _pairs(self, pairs: Numbers, score: Floats) -> Pairs:
        n, one = len(self.representative), np.ones(len(pairs))
        return Pairs(pairs // n, pairs % n, score.astype(np.float64), one, one, "cosine")
