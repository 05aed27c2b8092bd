"""Folds by time: models learn from earlier documents and are scored on later ones."""

from __future__ import annotations

import numpy as np

from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Floats
from neardup.evaluate.times import BLOCKS, time_blocks
from neardup.learn.training.sample import Fold


def time_folds(truth: Truth, times: Floats) -> list[Fold]:
    """The later half of the clusters in folds, the latest first; each is scored by a model of all that is earlier."""
    units, block = truth.units, time_blocks(truth, times)
    number = np.where(units >= 0, block[units], -1)
    return [Fold(number == k, (number >= 0) & (number < k)) for k in range(BLOCKS - 1, BLOCKS // 2 - 1, -1)]
