"""The weights of least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.evaluate.labels import Mask
from neardup.evaluate.packages import load
from neardup.learn.training.loss import Floats, Objective, Products
from neardup.learn.training.sample import draw_preferences
from neardup.learn.training.setup import NO_TRAINING, TrainingSetup

STEPS = 200


@dataclass(frozen=True)
class Fit:
    """Weights, and the loss after each step of the optimizer."""

    weights: Floats
    losses: tuple[float, ...]


def fit(
    setup: TrainingSetup,
    products: Products,
    positive: Mask,
    weight: Floats,
    regularization: float,
    rng: np.random.Generator,
) -> Fit:
    """The weights of least loss, by L-BFGS from the initial weights."""
    preferences = draw_preferences(positive, weight, rng)
    if regularization == NO_TRAINING or len(preferences) == 0:
        return Fit(setup.initial_weights, ())
    objective = Objective(
        products, preferences, setup.initial_weights, setup.similarity, setup.scale, regularization
    )
    losses: list[float] = []

    def remember(intermediate_result: Any) -> None:
        losses.append(float(intermediate_result.fun))

    result = load("scipy.optimize").minimize(
        objective,
        setup.initial_weights,
        jac=True,
        method="L-BFGS-B",
        callback=remember,
        options={"maxiter": STEPS},
    )
    return Fit(objective.project(np.asarray(result.x)), (objective(setup.initial_weights)[0], *losses))
