"""How to learn: what documents are seen as, what is learned, and what it should be good for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from neardup.evaluate.goals import Goal
from neardup.features.shingles import Shingles
from neardup.learn.model.file import text_stage
from neardup.learn.model.weight import STARTS, Learned, default_features
from neardup.learn.training.loss import Floats, Similarity
from neardup.plan import Text
from neardup.text.words import TokenKind

PULLS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # from learning freely to staying near the start
USUAL = 0.3  # what other pulls must be clearly better than …
FEW = 60  # … documents, for which the usual pull is 1
STAY = float("inf")  # not learning at all, which held-out labels may say is best


def usual_pull(documents: int) -> float:
    """How strongly weights are held where labels do not clearly say otherwise: the more, the fewer documents speak."""
    return max(USUAL, FEW / max(documents, 1))


@dataclass(frozen=True)
class TrainingSetup:
    """Everything that learning is told."""

    ngram: int = 1
    tokens: TokenKind = "words"
    fields: tuple[str, ...] = ()  # columns that stand behind the texts
    markup: bool = False  # texts are HTML pages
    queries: str = ""  # how often people search for k-grams (weights/queries.py)
    similarity: Similarity = "cosine"
    features: tuple[str, ...] | None = None
    begin: str = "auto"  # the weights to start from: one of STARTS, or whichever serves the labels best
    negative: Literal["auto", "keep", "clip"] = "auto"
    aim: Literal["vectors", "signatures"] = (
        "vectors"  # what pulls are judged by: scores as they are, or as bits see them
    )
    bits: int = 384  # of those signatures
    goal: Goal = field(default_factory=Goal)
    pulls: tuple[float, ...] = PULLS
    scale: float = 10.0
    hard: float = 0.5  # the share of negative instances that are taken from the most similar ones
    seed: int = 1
    threads: int = 1

    def usual(self, documents: int) -> float:
        """The pull that others must be clearly better than; the last one, where pulls were chosen by hand."""
        return usual_pull(documents) if self.pulls == PULLS else self.pulls[-1]

    @property
    def text(self) -> Text:
        """How texts become tokens."""
        return text_stage(self.tokens, self.fields, self.markup)

    @property
    def names(self) -> tuple[str, ...]:
        """The features to learn weights of; those of every start are always among them."""
        known = (bool(self.fields), self.markup, bool(self.queries))
        chosen = self.features or default_features(self.ngram, *known)
        begins = STARTS.values() if self.begin == "auto" else (STARTS[self.begin],)
        missing = dict.fromkeys(name for start in begins for name in start if name not in chosen)
        return (*missing, *chosen)

    @property
    def start(self) -> Floats:
        """The weights that are good without labels."""
        first = STARTS[next(iter(STARTS)) if self.begin == "auto" else self.begin]
        return np.array([first.get(name, 0.0) for name in self.names])

    @property
    def starts(self) -> dict[str, Floats]:
        """The weights that may be started from, in the order of `names`."""
        if self.begin != "auto":
            return {self.begin: self.start}
        return {name: np.array([start.get(one, 0.0) for one in self.names]) for name, start in STARTS.items()}

    @property
    def weight(self) -> Learned:
        """The weight stage to begin with."""
        weights = tuple(self.start.tolist())
        return Learned(Shingles(self.ngram), self.names, weights, fields=self.fields, queries=self.queries)

    def beginning(self, name: str) -> TrainingSetup:
        """The same lesson with its start decided; features keep their order."""
        return replace(self, begin=name, features=self.names)
