"""Progress bars: a line for each stage, on a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from neardup.engines.core.progress import Progress


class BarProgress(Progress):
    """One bar for each stage while the block runs."""

    def __init__(self, show: bool = True) -> None:
        super().__init__()
        self._bars: Any = _bars() if show else None
        self._task: Any = None

    def __enter__(self) -> BarProgress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def begin(self, name: str, total: int | None) -> None:
        """A bar appears."""
        if self._bars is not None:
            self._task = self._bars.add_task(name, total=total or None)

    def advance(self, amount: int) -> None:
        """The bar grows."""
        if self._bars is not None and self._task is not None:
            self._bars.advance(self._task, amount)

    def end(self, name: str) -> None:
        """The bar is full."""
        if self._bars is not None and self._task is not None:
            done = self._bars.tasks[self._task].completed
            self._bars.update(self._task, total=done or 1, completed=done or 1)

    def note(self, message: str) -> None:
        """A line above the bars."""
        if self._bars is not None:
            self._bars.console.print(message, markup=False)


@contextmanager
def shown_progress(progress: Progress | bool | None) -> Iterator[Progress]:
    """What a run reports to: bars if they are wanted, in a notebook also if nothing is said."""
    if isinstance(progress, Progress):
        yield progress
        return
    with BarProgress(in_notebook() if progress is None else progress) as bars:
        yield bars


def in_notebook() -> bool:
    """Whether the code runs in a cell of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ in ("ZMQInteractiveShell", "Shell")


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
