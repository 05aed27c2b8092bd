"""Exceptions of Spark as errors of neardup, with a one-line message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from neardup import errors
from neardup.errors import InputError, NeardupError, OutputError

OURS = re.compile(r"neardup\.errors\.(\w+): (.+)")
UNWRITABLE = re.compile(
    r"(Permission denied|Mkdirs failed|AccessControlException|AccessDenied|No space left|Read-only file system"
    r"|Parent path is not a directory|NotDirectory|No FileSystem for scheme[^\n]*)"
)

CHECKSUM = re.compile(r"ChecksumException|Checksum error")
NO_MEMORY = re.compile(r"java\.lang\.OutOfMemoryError[^\n]*|MemoryError\b|malloc of size \d+ failed")
UNREADABLE = re.compile(r"FAILED_READ_FILE\S*\] Encountered error while reading file (.+?)\.\s")


class UnreadableError(InputError):
    """Spark cannot read a file to its end."""


def first_line(error: Exception) -> str:
    """The first line of a Java or Python exception's message."""
    java = getattr(error, "java_exception", None)
    said = str(java.getMessage() if java is not None else error)
    return next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Re-raises neardup's errors from workers, and storage errors of Spark, as neardup's errors."""
    try:
        yield
    except NeardupError:
        raise
    except Exception as error:
        said = str(error)
        ours = OURS.findall(said)
        if ours:
            kind = getattr(errors, ours[-1][0], NeardupError)
            kind = NeardupError if kind is errors.ParameterError or kind is errors.MissingExtra else kind
            raise kind(ours[-1][1].strip()) from None
        if CHECKSUM.search(said):
            raise OutputError(
                f"{where} is damaged: a file is not what Spark has written. Remove the work folder to start over."
            ) from error
        if full := NO_MEMORY.search(said):
            raise NeardupError(
                f"Spark has too little memory ({full[0]}): give it more with spark.driver.memory, on a cluster "
                "spark.executor.memory, or skip large documents with --max-record."
            ) from error
        if damaged := UNREADABLE.search(said):
            name = re.sub("^file:/+", "/", damaged[1])
            raise UnreadableError(f"{name} cannot be read by Spark: it is damaged or missing.") from error
        stopped = UNWRITABLE.search(said)
        if stopped:
            raise OutputError(f"{where} cannot be written by Spark: {stopped[1]}") from error
        raise
