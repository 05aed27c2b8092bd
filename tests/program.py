"""The whole command line in this process: what it prints, and its exit code."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

import neardup.cli


class Program:
    """The whole command line as click's runner wants to see it."""

    name = "neardup"

    @staticmethod
    def main(args: list[str], prog_name: str, **extra: Any) -> None:
        neardup.cli.main(list(args))


def run(*arguments: object) -> Result:
    """The result of a command; an exception that is not its exit is raised."""
    result = CliRunner().invoke(Program, [str(argument) for argument in arguments])  # type: ignore[arg-type]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
