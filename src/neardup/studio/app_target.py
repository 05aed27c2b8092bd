"""What the studio shows: the folder of a finished run, with another one to compare, or an index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neardup.errors import InputError
from neardup.index.references import is_index
from neardup.review.folder import RunFolder, open_folder

__all__ = ["Target", "open_target"]


@dataclass(frozen=True)
class Target:
    """A finished run or an index; exactly one of them is there."""

    folder: Path  # where decisions and labels are stored
    run: RunFolder | None = None
    compared: RunFolder | None = None  # of --compare
    index: str | None = None  # the folder or the address of an index
    by: str | None = None  # the column that says where documents come from
    date: str | None = None  # the column of dates

    @property
    def name(self) -> str:
        """What a title calls it."""
        if self.run is not None:
            return self.run.name
        # The address of a database may have a password before the host, or behind the question mark.
        return (self.index or "").partition("?")[0].rstrip("/").rpartition("/")[2] or "index"


def open_target(
    given: str, *, compare: str | None = None, by: str | None = None, date: str | None = None
) -> Target:
    """The target of this name; an InputError says why it is none."""
    if is_index(given):
        if compare is not None:
            raise InputError(
                "--compare takes two results of neardup dedup: an index has no clusters to compare."
            )
        return Target(Path(given), index=given)
    other = open_folder(compare) if compare is not None else None
    return Target(Path(given), open_folder(given), other, None, by, date)
