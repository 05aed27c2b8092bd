"""What an engine says while it works; the command line draws it, the library stays quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Seconds and CPU seconds of each stage; subclasses also show them."""

    seconds: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[None]:
        """Times what runs inside; `total` is in the units that `advance` counts."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.begin(name, total)
        try:
            yield
        finally:
            self.end(name)
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - wall
            self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu

    def begin(self, name: str, total: int | None) -> None:
        """A stage begins."""

    def advance(self, amount: int) -> None:
        """So much of the stage is done."""

    def end(self, name: str) -> None:
        """The stage is over."""

    def note(self, message: str) -> None:
        """Something that the user should know."""


def peak_memory() -> int:
    """The most bytes of memory that this process has had; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
