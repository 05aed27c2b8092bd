"""What weight stages share: checks of weights, which must be finite and not below 0, and selections of features."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features
from neardup.errors import PlanError
from neardup.plan import Feature


class PlainWeight:
    """A weight stage that needs neither details of the tokens nor document frequencies."""

    details: ClassVar[bool] = False
    counts: ClassVar[tuple[Feature, ...]] = ()


def check_weights(features: Features) -> None:
    """Refuse weights that are negative or not finite."""
    if features.weights is None:
        return
    bad = np.flatnonzero(~(np.isfinite(features.weights) & (features.weights >= 0)))
    if len(bad):
        document = int(np.searchsorted(features.offsets, bad[0], "right")) - 1
        raise PlanError(
            f"Weights must be finite and not below 0; feature {int(bad[0] - features.offsets[document])} of document "
            f"{document} of the batch has {features.weights[bad[0]]}. Clip or scale the weight stage before it."
        )


def positive(features: Features) -> Features:
    """The features that have a weight above 0."""
    if features.weights is None:
        return features
    return keep_only(features, features.weights > 0)


def keep_only(features: Features, which: NDArray[np.bool_]) -> Features:
    """Some of the features of each document."""
    if which.all():
        return features
    kept = np.concatenate([[0], np.cumsum(which)])
    return replace(
        features,
        offsets=kept[features.offsets].astype(np.int64),
        hashes=features.hashes[which],
        weights=None if features.weights is None else features.weights[which],
        positions=None if features.positions is None else features.positions[which],
    )
