"""The training setup: representation of documents, features, similarity, goal, regularization."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from neardup.evaluate.goals import Goal
from neardup.features.shingles import Shingles
from neardup.learn.model.file import text_stage
from neardup.learn.model.weight import INITIAL_CHOICES, LearnedWeight, default_features
from neardup.learn.training.loss import Floats, Similarity
from neardup.plan import Text
from neardup.text.words import TokenKind

REGULARIZATIONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # strengths to choose from
DEFAULT_REGULARIZATION = 0.3  # for 200 documents or more; another strength must be clearly better
FEW = 60  # documents for which the default is 1
RANDOM = "random"  # initial weights drawn by the seed
NO_TRAINING = float("inf")  # keeps the initial weights, which may be best on held-out labels


def default_regularization(documents: int) -> float:
    """The default strength: the fewer labelled documents, the stronger."""
    return max(DEFAULT_REGULARIZATION, FEW / max(documents, 1))


@dataclass(frozen=True)
class TrainingSetup:
    """All options of training."""

    ngram: int = 1
    tokens: TokenKind = "words"
    fields: tuple[str, ...] = ()  # columns appended to the texts
    markup: bool = False  # texts are HTML pages
    queries: str = ""  # packed query frequencies (learn/model/queries.py)
    similarity: Similarity = "cosine"
    features: tuple[str, ...] | None = None
    initial: str = "auto"  # initial weights: one of INITIAL_CHOICES, or auto: the best on the labels
    negative: Literal["auto", "keep", "clip"] = "auto"
    aim: Literal["vectors", "signatures"] = "vectors"  # validation uses exact scores, or estimates by bits
    bits: int = 384  # of a signature
    goal: Goal = field(default_factory=Goal)
    regularizations: tuple[float, ...] = REGULARIZATIONS
    highest: bool = False  # the regularization of the highest held-out F1, without a bar
    scale: float = 10.0
    hard: float = 0.5  # the share of hard negatives: the most similar pairs that are no near-duplicates
    seed: int = 1
    threads: int = 1

    def default_regularization(self, documents: int) -> float:
        """The default strength; the last one, if the strengths are given."""
        return (
            default_regularization(documents)
            if self.regularizations == REGULARIZATIONS
            else self.regularizations[-1]
        )

    @property
    def text(self) -> Text:
        """How texts become tokens."""
        return text_stage(self.tokens, self.fields, self.markup)

    @property
    def takes_highest(self) -> bool:
        """Whether the regularization of the highest held-out F1 is taken, though the lead may be chance.

        For signatures the best is far from the default, and random weights are no default to stay at.
        """
        return self.highest or self.aim == "signatures" or self.initial == RANDOM

    @property
    def names(self) -> tuple[str, ...]:
        """The features to learn weights for, with those of all initial weights among them."""
        known = (bool(self.fields), self.markup, bool(self.queries))
        chosen = self.features or default_features(self.ngram, *known)
        if self.initial == RANDOM:
            return tuple(chosen)
        initial = INITIAL_CHOICES.values() if self.initial == "auto" else (INITIAL_CHOICES[self.initial],)
        missing = dict.fromkeys(name for weights in initial for name in weights if name not in chosen)
        return (*missing, *chosen)

    @property
    def initial_weights(self) -> Floats:
        """The initial weights, in the order of `names`; of auto the first choice."""
        if self.initial == RANDOM:
            return np.random.default_rng(self.seed).random(len(self.names)) / len(self.names)
        first = INITIAL_CHOICES[next(iter(INITIAL_CHOICES)) if self.initial == "auto" else self.initial]
        return np.array([first.get(name, 0.0) for name in self.names])

    @property
    def initial_choices(self) -> dict[str, Floats]:
        """The initial weights to choose from, in the order of `names`."""
        if self.initial != "auto":
            return {self.initial: self.initial_weights}
        return {
            name: np.array([weights.get(one, 0.0) for one in self.names])
            for name, weights in INITIAL_CHOICES.items()
        }

    @property
    def weight(self) -> LearnedWeight:
        """The weight stage with the initial weights."""
        weights = tuple(self.initial_weights.tolist())
        return LearnedWeight(
            Shingles(self.ngram), self.names, weights, fields=self.fields, queries=self.queries
        )

    def with_initial(self, name: str) -> TrainingSetup:
        """The setup with these initial weights; features keep their order."""
        return replace(self, initial=name, features=self.names)
