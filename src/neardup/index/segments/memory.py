"""Postings in memory, of documents that no segment has yet."""

from __future__ import annotations

from threading import Lock

import numpy as np

from neardup import kernels
from neardup.columns import Hashes, Numbers
from neardup.index.segments.segment import read_only


class MemorySegment:
    """The newest documents' postings, not yet in a file. Threads may share it."""

    def __init__(self) -> None:
        self._lock, self._documents, self._used = Lock(), set[int](), 0
        self._keys, self._seqs, self._before = (
            np.zeros(0, np.uint64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
        )
        self._slots = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, seqs: Numbers, keys: Hashes) -> None:
        """Add postings, in any order."""
        if len(seqs) != len(keys):
            raise ValueError(
                f"a posting is a seq and a key: {len(seqs)} seqs and {len(keys)} keys were given"
            )
        with self._lock:
            self._make_room(self._used + len(keys))
            new = slice(self._used, self._used + len(keys))
            self._keys[new], self._seqs[new] = keys, seqs
            kernels.postings.link(self._keys, self._before, self._slots, new.start, new.stop)
            self._used = new.stop
            self._documents.update(np.unique(seqs).tolist())

    def _make_room(self, count: int) -> None:
        """Double the arrays until so many postings fit; slots are at most half full."""
        if count <= len(self._keys):
            return
        size = 1 << max(count - 1, 255).bit_length()
        for name in ("_keys", "_seqs", "_before"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros(size - len(old), old.dtype)]))
        self._slots = np.full(2 * size, -1, np.int64)
        kernels.postings.link(self._keys, self._before, self._slots, 0, self._used)

    def look_up(self, keys: Hashes) -> tuple[Numbers, Numbers]:
        """Every posting with one of the keys, by place in `keys`, then by seq: (place in keys, seq)."""
        with self._lock:
            arrays = (self._keys, self._seqs, self._before, self._slots)
            found: tuple[Numbers, Numbers] = kernels.postings.look_up_linked(arrays, read_only(keys))
        return found

    def count(self, keys: Hashes) -> Numbers:
        """The number of postings with each key."""
        return np.bincount(self.look_up(keys)[0], minlength=len(keys))

    def postings(self) -> tuple[Numbers, Hashes]:
        """The seq and the key of every posting, in the order in which they were added."""
        with self._lock:
            return self._seqs[: self._used].copy(), self._keys[: self._used].copy()
