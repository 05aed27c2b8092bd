"""The weights of least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.evaluate.labels import Mask
from neardup.evaluate.packages import load
from neardup.learn.training.loss import Floats, Objective, Products
from neardup.learn.training.sample import draw_preferences
from neardup.learn.training.setup import STAY, TrainingSetup

STEPS = 200


@dataclass(frozen=True)
class Fit:
    """Weights, and the loss after each step on the way to them."""

    weights: Floats
    losses: tuple[float, ...]


def fit(
    lesson: TrainingSetup,
    products: Products,
    positive: Mask,
    weight: Floats,
    pull: float,
    rng: np.random.Generator,
) -> Fit:
    """The weights of least loss, by L-BFGS from the start."""
    preferences = draw_preferences(positive, weight, rng)
    if pull == STAY or len(preferences) == 0:
        return Fit(lesson.start, ())
    objective = Objective(products, preferences, lesson.start, lesson.similarity, lesson.scale, pull)
    losses: list[float] = []

    def remember(intermediate_result: Any) -> None:
        losses.append(float(intermediate_result.fun))

    answer = load("scipy.optimize").minimize(
        objective, lesson.start, jac=True, method="L-BFGS-B", callback=remember, options={"maxiter": STEPS}
    )
    return Fit(objective.project(np.asarray(answer.x)), (objective(lesson.start)[0], *losses))
