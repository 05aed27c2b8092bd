"""Requests that failed for a reason that may pass are tried again, with growing pauses."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
ATTEMPTS = 5
FIRST_PAUSE = (
    0.5  # seconds; doubled each time, with a random part so that many readers do not come back at once
)
FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


class Final(OSError):
    """A failure that no further attempt would mend."""


def retried(request: Callable[[], Answer]) -> Answer:
    """The answer of the first attempt that succeeds; the failure of the last one."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return request()
        except (*FINAL, Final):
            raise
        except (OSError, EOFError) as error:
            if attempt == ATTEMPTS:
                raise OSError(f"{one_line(error)} ({ATTEMPTS} attempts)") from None
            time.sleep(FIRST_PAUSE * 2 ** (attempt - 1) * (1 + random.random() / 2))
    raise AssertionError("no attempt was made")


def one_line(error: BaseException) -> str:
    """The first line of a message, at most 200 characters of it."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")[:200]
