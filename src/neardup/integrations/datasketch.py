"""MinHash, MinHashLSH and MinHashLSHForest as datasketch has them, over neardup's kernels.

    from neardup.integrations.datasketch import MinHash, MinHashLSH      # instead of: from datasketch import …

Names, arguments and results follow datasketch's documentation; hash values are ours, so sketches of the two cannot be
mixed. datasketch need not be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.integrations.datasketch_forest import MinHashLSHForest
from neardup.integrations.datasketch_lsh import MinHashLSH
from neardup.signatures.minhash import permutations

__all__ = ["MinHash", "MinHashLSH", "MinHashLSHForest"]

_LARGEST = np.uint32(0xFFFFFFFF)
_WAITING = 1 << 12  # elements that are hashed into the slots at once


def _hash64(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


class MinHash:
    """The least values of `num_perm` permutations over a set of byte strings."""

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        hashfunc: Callable[[bytes], int] | None = None,
        hashvalues: Any = None,
    ) -> None:
        if hashvalues is not None:
            num_perm = len(hashvalues)
        if num_perm < 1:
            raise ValueError("num_perm must be at least 1")
        self.num_perm, self.seed, self.hashfunc = num_perm, seed, hashfunc
        self._slots: NDArray[np.uint32] = np.full(num_perm, _LARGEST)
        if hashvalues is not None:
            self._slots[:] = hashvalues
        self._waiting: list[int] = []

    def update(self, b: bytes) -> None:
        """Adds an element."""
        self._waiting.append(_hash64(b) if self.hashfunc is None else self._mixed(b))
        if len(self._waiting) >= _WAITING:
            self._flush()

    def update_batch(self, b: Iterable[bytes]) -> None:
        """Adds elements."""
        for one in b:
            self.update(one)

    def _mixed(self, element: bytes) -> int:
        """The hash of a given function, spread over 64 bits."""
        assert self.hashfunc is not None
        return _hash64(int(self.hashfunc(element)).to_bytes(16, "little", signed=True))

    def _flush(self) -> None:
        if not self._waiting:
            return
        mix, places = permutations(self.num_perm, self.seed)
        slots = np.empty((1, len(places)), np.uint32)
        hashes = np.array(self._waiting, np.uint64)
        kernels.minhash.minhash(hashes, np.array([0, len(hashes)]), mix, places, slots)
        np.minimum(self._slots, slots[0, : self.num_perm], out=self._slots)
        self._waiting = []

    @property
    def hashvalues(self) -> NDArray[np.uint32]:
        """The slots."""
        self._flush()
        return self._slots

    def _check(self, other: MinHash) -> None:
        if other.seed != self.seed:
            raise ValueError("MinHashes with different seeds cannot be compared")
        if len(other) != len(self):
            raise ValueError("MinHashes with different num_perm cannot be compared")

    def jaccard(self, other: MinHash) -> float:
        """The share of equal slots, an estimate of the Jaccard similarity."""
        self._check(other)
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / len(self)

    def count(self) -> float:
        """An estimate of the number of different elements."""
        return float(len(self)) / float(np.sum(self.hashvalues / float(_LARGEST))) - 1.0

    def merge(self, other: MinHash) -> None:
        """Makes this the sketch of the union."""
        self._check(other)
        np.minimum(self.hashvalues, other.hashvalues, out=self._slots)

    def digest(self) -> NDArray[np.uint32]:
        """A copy of the slots."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return bool(np.all(self.hashvalues == _LARGEST))

    def clear(self) -> None:
        """Takes everything out."""
        self._waiting = []
        self._slots[:] = _LARGEST

    def copy(self) -> MinHash:
        """Another sketch of the same set."""
        return MinHash(seed=self.seed, hashfunc=self.hashfunc, hashvalues=self.digest())

    def __len__(self) -> int:
        return self.num_perm

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MinHash)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return self.__dict__

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The sketch of the union of two or more sets."""
        if len(mhs) < 2:
            raise ValueError("a union needs at least two MinHashes")
        found = mhs[0].copy()
        for other in mhs[1:]:
            found.merge(other)
        return found

    @classmethod
    def bulk(cls, b: Iterable[Iterable[bytes]], **minhash_kwargs: Any) -> list[MinHash]:
        """A sketch for each set."""
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls, b: Iterable[Iterable[bytes]], **minhash_kwargs: Any) -> Iterator[MinHash]:
        """A sketch for each set, one at a time."""
        for elements in b:
            found = cls(**minhash_kwargs)
            found.update_batch(elements)
            yield found
