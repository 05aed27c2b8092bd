"""`-o -`: results on standard output, for the next command of a pipe; everything else goes to standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import IO, Any

from neardup.errors import OutputError, ParameterError

STDOUT = "-"


class StandardOutput:
    """Standard output in the place of an `OutputFolder` with one file."""

    def __enter__(self) -> StandardOutput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def file(self, name: str) -> IO[bytes]:
        """The stream of bytes."""
        return standard_output()

    def commit(self) -> None:
        """Everything has been written already."""


def standard_output() -> IO[bytes]:
    """The stream of bytes, behind the text that was printed."""
    sys.stdout.flush()
    return sys.stdout.buffer


def refuse_binary(format: str, compression: str | None) -> None:
    """Refuse bytes that are not text on a terminal."""
    if (format == "parquet" or compression) and sys.stdout.isatty():
        shown = format if compression is None or format == "parquet" else f"{format}, {compression}"
        raise OutputError(
            f"standard output is a terminal, and {shown} is not text: add --output-format jsonl, or send it to a file"
        )


def refuse_folder_options(mode: str, values: dict[str, Any], with_page: bool, on_spark: bool) -> None:
    """Refuse options of dedup that need an output folder."""
    named = {
        "mode": mode if mode == "none" else None,
        "report": with_page,
        "resume": values["resume"],
        "engine": "spark" if on_spark else None,
    }
    for name, value in named.items():
        if value:
            raise ParameterError(name, "dedup", "left out with -o -: it needs an output folder", value)
