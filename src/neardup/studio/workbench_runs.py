"""The run again at another threshold, as a process of its own, into a folder beside the index of the review."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from neardup.errors import InputError
from neardup.review.folder import RunFolder, open_folder
from neardup.review.repeat import repeatable_words
from neardup.studio.review_build import FOLDER

__all__ = ["BackgroundRun", "RunTable", "repeated", "threshold_folder"]

LONGEST = 20_000  # characters of the command's output


@dataclass
class BackgroundRun:
    """A command of neardup that runs beside the studio."""

    words: list[str]
    output: str = ""
    code: int | None = None  # None: under way

    def run(self) -> None:
        """Runs to the end."""
        command = [sys.executable, "-m", "neardup", *self.words]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        self.output = (done.stdout + done.stderr)[-LONGEST:]
        self.code = done.returncode


@dataclass
class RunTable:
    """The commands that a studio has started, one at a time, by the name of what they make."""

    known: dict[str, BackgroundRun] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, name: str, words: list[str]) -> None:
        """Starts a command, unless one is under way."""
        with self.lock:
            if any(one.code is None for one in self.known.values()):
                raise InputError("A run is under way: start another one when it has ended.")
            made = self.known[name] = BackgroundRun(words)
        threading.Thread(target=made.run, daemon=True).start()


def repeated(run: RunFolder, what: str) -> list[str]:
    """The words that repeat a run; an InputError says why it cannot be repeated, for this purpose."""
    words = run.report.get("command")
    if run.report["engine"] != "local":
        raise InputError(
            f"The result is of the engine {run.report['engine']}, whose runs the studio does not repeat: {what}."
        )
    if words is None:
        raise InputError(
            f"The report does not say how to repeat the run (it was made in Python, or from standard input): {what}."
        )
    return ["dedup", *repeatable_words(words)]


def threshold_folder(run: RunFolder, threshold: float) -> Path:
    """Where the run at another threshold goes."""
    return run.path / FOLDER / f"threshold-{threshold:g}"


def at_threshold(run: RunFolder, threshold: float) -> list[str]:
    """The words that run at another threshold."""
    other = f"neardup dedup … --threshold {threshold:g} makes a result to open with --compare"
    words, kept = repeated(run, other)[1:], list[str]()
    while words:
        word = words.pop(0)
        if word == "--threshold":
            del words[:1]
        elif not word.startswith("--threshold="):
            kept.append(word)
    own = [
        "-o",
        str(threshold_folder(run, threshold)),
        "--force",
        "--mode",
        "none",
        "--threshold",
        f"{threshold:g}",
    ]
    return ["dedup", *own, *_without_mode(kept)]


def _without_mode(words: list[str]) -> list[str]:
    """The words without --mode: documents need not be written to be compared."""
    kept, rest = list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word == "--mode":
            del rest[:1]
        elif not word.startswith("--mode="):
            kept.append(word)
    return kept


def finished_at(run: RunFolder, threshold: float) -> RunFolder | None:
    """The run at another threshold, if it is there."""
    folder = threshold_folder(run, threshold)
    return open_folder(folder) if (folder / "report.json").exists() else None
