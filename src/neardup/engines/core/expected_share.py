"""The share of documents that the user expects a run to remove, by a dry run or by experience."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from neardup.errors import ParameterError

FACTOR = 2  # a single share that is expected may be missed by so much


@dataclass(frozen=True)
class ExpectedShare:
    """The least and the greatest share that is no surprise."""

    low: float
    high: float

    @staticmethod
    def of(value: Any) -> ExpectedShare | None:
        """A share, from half to twice of which is expected, or the least and the greatest one; None: anything is."""
        if value is None:
            return None
        several = isinstance(value, (tuple, list))
        shares = list(value) if several else [value]
        if len(shares) != 1 + several or not all(map(_is_share, shares)) or shares != sorted(shares):
            raise ParameterError(
                "expect_removed", "dedup", "a share from 0 to 1, or the least and the greatest one", value
            )
        return ExpectedShare(*map(float, shares)) if several else ExpectedShare.around(shares[0])

    @staticmethod
    def around(share: float) -> ExpectedShare:
        """A share, give or take a factor of 2; of what is expected to stay, half may go too."""
        return ExpectedShare(share / FACTOR, min(FACTOR * share, ExpectedShare.most(share)))

    @staticmethod
    def most(share: float) -> float:
        """The greatest share that is no surprise, whatever the estimate: otherwise nothing would stop a run."""
        return 1 - (1 - share) / FACTOR

    @property
    def option(self) -> str:
        """The value of --expect-removed: thousandths, rounded away from the middle."""
        return f"{floor(1000 * self.low) / 1000:g}-{min(1.0, ceil(1000 * self.high) / 1000):g}"

    def __str__(self) -> str:
        return f"{self.low:.1%} to {self.high:.1%}"


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
