"""What the terminal shows: progress while it runs, and a summary when it is done."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

import click

from neardup.engines.core.progress import Progress


class TerminalProgress(Progress):
    """One line for each stage on a terminal; silence elsewhere, but for what takes long and notes."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: Any = None
        self._task: Any = None
        self._compiled = 0
        if sys.stderr.isatty():
            self._bars = _bars()
        _on_compilation(self._compiling)

    def __enter__(self) -> TerminalProgress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()
        _on_compilation(None)

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
        else:
            click.echo(f"neardup: {message}", err=True)

    def _compiling(self) -> None:
        self._compiled += 1
        if self._compiled == 1:
            self.note("compiling kernels for this machine; this happens once and takes about half a minute")


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


_listener: Any = None


def _on_compilation(tell: Any) -> None:
    """Has Numba call `tell` each time that it compiles something it did not find in its cache."""
    global _listener
    from importlib import import_module

    event: Any = import_module("numba.core.event")
    if _listener is not None:
        with suppress(ValueError, KeyError):
            event.unregister("numba:compile", _listener)
        _listener = None
    if tell is not None:
        _listener = _Listener(event, tell)
        event.register("numba:compile", _listener)


def _Listener(event: Any, tell: Any) -> Any:
    """A Numba listener, made here because Numba is loaded only now."""

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, happening: Any) -> None:
            tell()

        def on_end(self, happening: Any) -> None:
            pass

    return Listener()


def summary(report: dict[str, Any], folder: str | None, seconds: float) -> str:
    """The closing lines: counts, the largest clusters, problems, and where everything lies."""
    n, removed, pairs = report["documents"], report["removed"], report["pairs"]
    unverified = report["plan"]["check"]["level"] == "none"
    lines = [
        f"{_count(n, 'document')} ({size_in_words(report['text_bytes'])}) in {seconds:.1f} s: "
        f"{report['kept']:,} kept, {removed:,} removed ({removed / n:.1%})",
        f"{_count(report['clusters'], 'cluster')}; {_count(report['exact_copies'], 'exact copy')}; "
        + (
            f"{_count(pairs['verified'], 'pair')}, none of them verified"
            if unverified
            else f"{_count(pairs['verified'], 'verified pair')} from {_count(pairs['candidates'], 'candidate')}"
        ),
        *_recall_lines(report),
    ]
    skipped = report["buckets"]["pairs_skipped"]
    if skipped:
        lines.append(
            f"{_count(report['buckets']['above_limit'], 'bucket')} too large to compare all with all: of "
            f"{_count(skipped, 'pair')} there only those with a few representatives were compared "
            "(--pairs all compares everything)"
        )
    lines += _without_lines(report)
    lines += _cluster_lines(report["largest_clusters"][:5])
    lines += problem_lines(report["problems"])
    if folder is not None:
        lines.append(f"written to {folder}: " + ", ".join(report["files"]))
    return "\n".join(lines)


def _recall_lines(report: dict[str, Any]) -> list[str]:
    """What the bands promise, and a warning where that is less than was asked for."""
    threshold, found = report["plan"]["threshold"], report["recall_at_threshold"]
    if found is None:  # what makes candidates is not what is measured
        return []
    if found == 1 and report["plan"]["recall"] is None:
        return [f"every pair that reaches the threshold of {threshold:g} is found"]
    line = (
        f"a pair at the threshold of {threshold:g} is found with probability {found:.4f}, others more surely"
    )
    wanted = report["plan"]["recall"]
    if wanted is None or found >= wanted:
        return [line]
    return [line, f"  this is less than the recall of {wanted:g} asked for: see neardup tune"]


def _without_lines(report: dict[str, Any]) -> list[str]:
    """Which documents could not be compared, where there are any."""
    lines, method = [], report["plan"]["method"]
    if report["without_tokens"]:
        lines.append(f"{_count(report['without_tokens'], 'document')} without a word: kept, like no other")
    if report["without_features"]:
        lines.append(
            f"{_count(report['without_features'], 'document')} with nothing that {method} compares: "
            "only exact copies of them are found"
        )
    return lines


def _count(number: int, noun: str) -> str:
    """1 cluster, 2 clusters, 3 copies."""
    if number != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun}"


def _cluster_lines(clusters: list[dict[str, Any]]) -> list[str]:
    if not clusters:
        return ["no near-duplicates were found"]
    lines = ["largest clusters:"]
    for cluster in clusters:
        weakest = cluster["weakest_link"]
        link = "unverified" if weakest is None else f"weakest link {weakest:.3f}"
        lines.append(f"  {cluster['size']:>7,} documents like {_short(cluster['leader'])}  ({link})")
    return lines


def problem_lines(problems: dict[str, Any]) -> list[str]:
    """How many problems of which kinds there were, and the first one."""
    if not problems["total"]:
        return []
    kinds = ", ".join(f"{count:,} × {kind}" for kind, count in problems["kinds"].items())
    first = problems["first"][0]
    where = first["file"] + (f", record {first['record']}" if first["record"] is not None else "")
    return [
        f"{_count(problems['total'], 'problem')} in the input: {kinds}",
        f"  the first: {where}: {first['reason']}",
    ]


def _short(name: Any, most: int = 60) -> str:
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def size_in_words(count: float) -> str:
    """Bytes in a unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """So far."""
        return time.perf_counter() - self._start
