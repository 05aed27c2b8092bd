"""What an engine reports while it works; the command line draws it, the library stays quiet."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa


@dataclass
class Progress:
    """Seconds, CPU seconds and peak memory of each stage; subclasses also show them."""

    seconds: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)  # the peak of the process when the stage ended
    _inner: list[tuple[float, float]] = field(default_factory=list)  # of stages inside the one that runs

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[None]:
        """Times what runs inside, without the stages inside it; `total` is in the units that `advance` counts."""
        outer, self._inner = self._inner, []
        wall, cpu = time.perf_counter(), time.process_time()
        self.begin(name, total)
        try:
            yield
        finally:
            self.end(name)
            release_memory()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            inside = [sum(times) for times in zip((0.0, 0.0), *self._inner, strict=True)]
            self.seconds[name] = self.seconds.get(name, 0.0) + wall - inside[0]
            self.cpu[name] = self.cpu.get(name, 0.0) + cpu - inside[1]
            self.memory[name] = peak_memory()
            self._inner = [*outer, (wall, cpu)]

    def begin(self, name: str, total: int | None) -> None:
        """A stage begins."""

    def advance(self, amount: int) -> None:
        """So much of the stage is done."""

    def end(self, name: str) -> None:
        """The stage is over."""

    def note(self, message: str) -> None:
        """A message for the user."""


def release_memory() -> None:
    """Return freed memory to the system: allocators keep it, and the next stage needs other sizes."""
    pa.default_memory_pool().release_unused()
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    """The C library's malloc_trim, where it has one."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # not glibc
        return None


def peak_memory() -> int:
    """The most bytes of memory that this process has had; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
