"""Limits on what one file may expand to, against accidents and decompression bombs."""

from __future__ import annotations

from dataclasses import dataclass, field

from neardup.errors import InputError, ParameterError

ALLOWED = 1 << 30  # a file may expand to this many bytes whatever its ratio
RECORD_ALLOWED = 64 << 20  # … and a record to this many
_UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PIECE = 4 << 20  # files are read in pieces of this size, which are not measured
_OFFSETS = (1 << 31) - 1  # what an Arrow string column can address


@dataclass(frozen=True)
class Limits:
    """Limits on the size of a record and of a decompressed file.

    A longer record is skipped. Reading stops after `decompressed` bytes, or after `expansion` times the size of the
    file if that is more than 1 GB: a corpus of equal documents compresses well, too. A record of more than 64 MB that
    is more than a tenth of `expansion` times its compressed size is skipped. A record of more than `memory` bytes is
    refused before it is parsed: nothing that a run computes depends on this limit, so it does not make limits unequal.
    """

    record: int = 1 << 30
    expansion: float = 1000.0
    decompressed: int = 1 << 40
    memory: int = field(default=_OFFSETS, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _PIECE <= self.record <= _OFFSETS:
            raise ParameterError("max_record", "reading", f"from {_PIECE} to {_OFFSETS} bytes", self.record)
        if not self.expansion >= 1:  # also NaN
            raise ParameterError("max_expansion", "reading", "at least 1", self.expansion)
        if self.decompressed < 1:
            raise ParameterError("max_decompressed", "reading", "at least 1 byte", self.decompressed)

    def longest(self, stored: int) -> int:
        """The most bytes of a record that so many compressed bytes hold."""
        return int(min(self.record, max(RECORD_ALLOWED, self.expansion / 10 * stored)))

    def too_long_for(self, longest: int) -> str:
        """The problem of a record above a limit that may come from its compression."""
        if longest >= self.record:
            return self.too_long
        return (
            f"decompression bomb: a record of more than {longest:,} bytes, over "
            f"{self.expansion / 10:g} times its compressed size (a tenth of --max-expansion)"
        )

    def refuse_larger(self, size: int, source: str) -> None:
        """Refuse a record that does not fit into memory; one above the limit is skipped instead."""
        if self.memory < size <= self.record:
            raise InputError(
                f"{source} has a record of {size >> 20:,} MB; with this budget of memory the largest may have "
                f"{self.memory >> 20:,} MB: give more with --memory, or skip it with --max-record."
            )

    @property
    def too_long(self) -> str:
        """The problem of a record above the limit."""
        return self.too_long_of(self.record)

    def too_long_of(self, most: int) -> str:
        """The same for a format whose limit is a part of it."""
        part = "" if most == self.record else "a quarter of "
        return f"record too long: more than {most:,} bytes ({part}--max-record)"


LIMITS = Limits()


class Meter:
    """Counts the bytes read from a file, and gives the reason to stop when they are too many."""

    def __init__(self, limits: Limits, stored: int, compression: str | None = None) -> None:
        self._limits, self._size, self._compression = limits, max(stored, 1), compression
        self.given = 0  # bytes after decompression
        self.stored = 0  # … that were read from the disk for them

    def add(self, size: int) -> str | None:
        """The reason to stop reading, or None."""
        self.given += size
        if self.given > self._limits.decompressed:
            return f"too much data: more than {self._limits.decompressed:,} bytes (--max-decompressed)"
        if self.given > ALLOWED and self.given > self._limits.expansion * self._size:
            return (
                f"decompression bomb: more than {self._limits.expansion:g} times its size (--max-expansion)"
            )
        return None

    def longest(self, begun: int) -> int:
        """The most bytes of a record that began after so many stored bytes."""
        if self._compression is None:
            return self._limits.record
        return self._limits.longest(self.stored - begun + _PIECE // 4)


def size_in_bytes(text: str, name: str = "size") -> int:
    """A number of bytes from "500M", "2G" or plain digits."""
    unit = text[-1:].upper().replace("K", "k") if text[-1:].isalpha() else ""
    try:
        return int(float(text[: len(text) - len(unit)]) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        raise ParameterError(name, "neardup", "a size such as 500M or 2G", text) from None
