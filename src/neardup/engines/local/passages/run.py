"""Spooled texts to their repeated passages, in the order of the folder's docstring."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neardup.columns import Numbers
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.passages.positions import TokenBytes
from neardup.engines.local.passages.repeats import Runs, find_repeats, find_runs
from neardup.engines.local.passages.runs import Places, find_places
from neardup.engines.local.passages.verify import verified
from neardup.engines.local.passages.windows import Pieces, find_windows
from neardup.text.words import Words


@dataclass(frozen=True)
class Spans:
    """Stretches of tokens, in order, that do not touch."""

    begin: Numbers  # the position of the first token
    end: Numbers  # behind the last one
    source: Numbers  # where the text of its first token stands for the first time

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(frozen=True)
class Passages:
    """The repeated passages of a corpus, by positions of tokens."""

    width: int
    pieces: Pieces
    runs: Runs
    collisions: int
    bytes: TokenBytes

    @cached_property
    def places(self) -> Places:
        """All occurrences of all passages."""
        return find_places(self.runs)

    @cached_property
    def tokens(self) -> int:
        """All tokens of the corpus."""
        return int(self.pieces.tokens.sum())

    @cached_property
    def copied(self) -> Runs:
        """Stretches that stand earlier, rows of begin, end and source, which may overlap.

        An occurrence that overlaps the first one of its text has only what goes beyond that.
        """
        runs = self.runs[self.runs[:, 0] != self.runs[:, 1]]
        position, first, length, count = runs.T
        begin = np.maximum(position, first + self.width)
        source = first + (begin - position) % np.maximum(length, 1) * (begin > position)
        return np.column_stack([begin, position + length * count + self.width - 1, source])

    @cached_property
    def repeated(self) -> Spans:
        """The stretches of text that occur more than once: all occurrences."""
        position, first, length, count = self.runs.T
        ends = position + length * count + self.width - 1
        return merged(np.column_stack([position, ends, first]))

    @cached_property
    def later(self) -> Spans:
        """The stretches of text that stand earlier in the corpus."""
        return merged(self.copied)


def merged(stretches: Runs) -> Spans:
    """Stretches in order of their beginnings, those that overlap or touch as one."""
    begin, end, source = stretches[np.argsort(stretches[:, 0], kind="stable")].T
    reach = np.maximum.accumulate(end) if len(end) else end
    starts = (
        np.flatnonzero(np.concatenate([[True], begin[1:] > reach[:-1]]))
        if len(end)
        else np.zeros(0, np.int64)
    )
    last = np.append(starts, len(end))[1:] - 1
    return Spans(begin[starts], reach[last], source[starts])


def find_passages(work: Workspace, width: int, text: Words, progress: Progress, threads: int = 1) -> Passages:
    """The repeated passages of at least so many tokens among the spooled texts."""
    windows, pieces = find_windows(work, width, text, progress, threads)
    positions = int((pieces.position + pieces.tokens).max(initial=0))
    repeats = find_repeats(windows, positions, work, progress, threads)
    windows.clear()
    runs = find_runs(repeats, positions, width, progress)
    repeats.clear()
    token_bytes = TokenBytes(work.spool, pieces, text, threads)
    with progress.stage("verify", len(runs)):
        runs, collisions = verified(runs, width, token_bytes)
    return Passages(width, pieces, runs, collisions, token_bytes)
