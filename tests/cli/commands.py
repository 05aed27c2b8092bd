"""Commands in this process: what they print, how they end, and the words of a small corpus."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from program import Program

FOX = "the quick brown fox jumps over the lazy dog and runs away"
OFF = "the quick brown fox jumps over the lazy dog and runs off"
ELSE = "something else entirely, different from all of the others here"


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def run(*arguments, stdin: str | bytes | None = None) -> Outcome:
    """What the command prints and how it ends; an exception that is not caught fails the test."""
    result = CliRunner().invoke(Program, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    err = re.sub(r"^neardup: compiling kernels .*\n", "", result.stderr, flags=re.MULTILINE)  # the first run
    return Outcome(result.exit_code, result.stdout, err)


def refused(*arguments, stdin: str | bytes | None = None) -> str:
    """The one line with which the command refuses: exit code 2, nothing on standard output."""
    outcome = run(*arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("neardup: ") and outcome.err.count("\n") == 1
    return outcome.err


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def shown(value) -> str:
    """The name of a test: the words that are given on the command line."""
    return " ".join(value) if isinstance(value, list) else ""
