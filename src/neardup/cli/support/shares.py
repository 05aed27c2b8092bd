"""Shares as values of options: one, or the least and the greatest."""

from __future__ import annotations

import click


def share_or_range(
    context: click.Context, option: click.Parameter, value: str | None
) -> float | tuple[float, ...] | None:
    """0.1 as a number, 0.05-0.3 as two; both between 0 and 1."""
    if value is None:
        return None
    try:
        shares = [float(part) for part in value.split("-")]
    except ValueError:
        shares = []
    if len(shares) not in (1, 2) or not all(0 <= share <= 1 for share in shares) or shares != sorted(shares):
        raise click.BadParameter(
            f"{value!r} is not a share from 0 to 1 such as 0.1, or two such as 0.05-0.3.", context, option
        )
    return shares[0] if len(shares) == 1 else tuple(shares)
