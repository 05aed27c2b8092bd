"""Log lines as JSON on standard error: ids and timings, never texts. Control characters are escaped by JSON itself.

A thread writes them, so that a terminal or pipe that nobody reads never stops the server; lines are lost instead, and
counted.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections import deque
from datetime import UTC, datetime
from typing import Any, TextIO

MOST_LINES = 10_000  # that wait
PAUSE = 0.1  # seconds between two writes


class Log:
    """Writes lines in a thread of its own, a few times a second: no request wakes it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lines: deque[tuple[float, str, str, dict[str, Any]]] = deque()
        self.lost = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="neardup-log", daemon=True)
        self._thread.start()

    def line(self, event: str, level: str = "info", **values: Any) -> None:
        """Write a line; values are plain ones. The thread spells them, while the request goes on."""
        if len(self._lines) >= MOST_LINES:
            self.lost += 1
            return
        self._lines.append((time.time(), level, event, values))

    def error(self, event: str, error: BaseException, **values: Any) -> None:
        """Write where an error happened; its message could quote a text, and is left out."""
        frames = [
            f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)[-12:]
        ]
        self.line(event, "error", error=type(error).__name__, frames=frames, **values)

    def _run(self) -> None:
        while not self._ended.wait(PAUSE):
            self._write()
        self._write()

    def _write(self) -> None:
        lines = [_as_json(*self._lines.popleft()) for _ in range(len(self._lines))]
        if lines:
            try:
                self._stream.write("\n".join(lines) + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                self.lost += len(lines)

    def close(self) -> None:
        """Write what waits, unless nobody reads it."""
        self._ended.set()
        self._thread.join(2)


def _as_json(seconds: float, level: str, event: str, values: dict[str, Any]) -> str:
    now = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "level": level, "event": event, **values})


class ServerLog(logging.Handler):
    """Takes the lines of uvicorn."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; of an exception only where it happened."""
        if record.exc_info and record.exc_info[1] is not None:
            self._log.error("server", record.exc_info[1])
        else:
            self._log.line("server", record.levelname.lower(), message=record.getMessage()[:500])
