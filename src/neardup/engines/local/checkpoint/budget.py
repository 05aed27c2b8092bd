"""How much memory a run may use, and the warning when that is not enough."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from neardup.documents import Limits, size_in_bytes
from neardup.errors import InputError, ParameterError

LEAST = 256 << 20  # Python, numba and Arrow take most of this before the first document
DOCUMENT = 130  # bytes that every document takes as long as a run lasts (docs/scaling.md)
BYTE = 7  # bytes that each byte of the largest document takes while it is read and signed
SORTING = 40  # … and while the keys of a table are sorted
LARGE_TILE_BYTES = 32 << 20  # with little memory, and eight times as much with plenty
WHOLE = 1 << 30  # where the system does not say


def available_memory() -> int:
    """The bytes that this process could use now: what is free, or what its control group leaves."""
    found = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")))
    with suppress(OSError, ValueError):
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        found.append(max(0, limit - int(Path("/sys/fs/cgroup/memory.current").read_text())))
    if not found:
        with suppress(AttributeError, OSError, ValueError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=2 * WHOLE)


def read_memory(text: str | int | None) -> int:
    """A budget from what a user wrote; half of what is available where nothing is."""
    if text is None:
        return max(LEAST, available_memory() // 2)
    size = text if isinstance(text, int) else size_in_bytes(text, "memory")
    if size < LEAST:
        raise ParameterError("memory", "neardup", f"at least {LEAST >> 20}M", text)
    return size


@dataclass(frozen=True)
class MemoryBudget:
    """A budget in bytes, divided among what can be made smaller; nothing of it changes the result."""

    budget: int = field(default_factory=lambda: read_memory(None))

    @property
    def rows(self) -> int:
        """Rows of a stage that wait in memory."""
        return min(64 << 20, self.budget // 16)

    @property
    def counters(self) -> int:
        """Tables of frequencies while they are counted."""
        return self.budget // 4

    @property
    def tile(self) -> int:
        """Hashes of the features of each side of a comparison, within a component that does not fit a tile."""
        return max(LARGE_TILE_BYTES, min(8 * LARGE_TILE_BYTES, self.budget // 16))

    @property
    def sets(self) -> int:
        """The sets of large components, whose documents share most of their features."""
        return self.budget // 5

    def sorters(self, documents: int, threads: int) -> int:
        """How many tables may be sorted at the same time."""
        room = max(0, self.budget - LEAST - DOCUMENT * documents)
        return max(1, min(threads, room // (2 * SORTING * max(1, documents))))

    @property
    def largest_record(self) -> int:
        """The bytes of a record that needs the budget and three times its own size; no larger one is parsed."""
        return max(1, (self.budget - LEAST // 2) // (BYTE - 3))

    def limited(self, limits: Limits) -> Limits:
        """The limits on reading, with that of the budget."""
        return replace(limits, memory=min(limits.memory, self.largest_record))

    def too_large(self, document: int) -> str | None:
        """The warning where a single document needs more; None where it does not."""
        needed = LEAST // 2 + BYTE * document
        if needed <= self.budget:
            return None
        return (
            f"a document of {document >> 20:,} MB needs about {needed >> 20:,} MB while it is read; "
            f"the budget is {self.budget >> 20:,} MB (--memory)"
        )

    def refuse_larger(self, document: int, source: str) -> None:
        """Refuse a document that needs more than the budget and three times its own size."""
        needed = LEAST // 2 + BYTE * document
        if document > self.largest_record:
            raise InputError(
                f"{source} has a document of {document >> 20:,} MB, which needs about {needed >> 20:,} MB of memory; "
                f"the budget is {self.budget >> 20:,} MB: give more with --memory, or skip it with --max-record."
            )

    def too_little(self, documents: int) -> str | None:
        """The warning where documents alone need more; None where they do not."""
        needed = LEAST + (DOCUMENT + SORTING) * documents
        if needed <= self.budget:
            return None
        return (
            f"{documents:,} documents need about {needed >> 20:,} MB whatever the method does; "
            f"the budget is {self.budget >> 20:,} MB (--memory)"
        )
