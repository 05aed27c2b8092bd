"""Columns that stages exchange for a batch of documents: texts, tokens, features, signatures, pairs.

The columns are ragged: document d has the entries offsets[d] … offsets[d + 1] of the flat arrays.
This module is where Arrow meets NumPy: texts are used in place, as read-only views of Arrow's buffers.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels


class _NoPandas:
    """Finds everything but pandas."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse pandas; others are found elsewhere."""
        if name == "pandas":
            raise ModuleNotFoundError(name="pandas")


def _convert_without_pandas() -> None:
    """Let Arrow look for pandas once, without a list: it imports it, in 0.2 s, to see if lists are frames."""
    finder: Any = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _NoParameters:
    """Documentation of options without its parameters."""

    def __init__(self, text: str) -> None:
        self.parameters: list[Any] = []

    def __getitem__(self, name: str) -> list[Any]:
        return self.parameters


def _compute_without_documentation() -> None:
    """Import Arrow's functions without the documentation of their options, which takes longer than all else."""
    name = "pyarrow.vendored.docscrape"
    if "pyarrow.compute" not in sys.modules and name not in sys.modules:
        sys.modules[name] = module = ModuleType(name)
        module.NumpyDocString = _NoParameters  # type: ignore[attr-defined]
        try:
            import pyarrow.vendored

            pyarrow.vendored.docscrape = module
            import pyarrow.compute
        finally:
            del sys.modules[name]


# A command has no frames, but for those that Spark makes, and shows nobody Arrow's documentation.
if kernels.starts_quickly():
    _compute_without_documentation()
    if "pandas" not in sys.modules and "spark" not in sys.argv:
        _convert_without_pandas()

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]


def to_utf8(text: str) -> bytes:
    """The text in UTF-8; a lone surrogate becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


@dataclass(frozen=True)
class Texts:
    """UTF-8 texts of a batch: one buffer of bytes, and the offsets of each text."""

    offsets: Offsets
    data: Bytes

    def __post_init__(self) -> None:
        """Makes the bytes read-only: kernels are then compiled for one type of array, not two."""
        if self.data.flags.writeable:
            view = self.data.view()
            view.flags.writeable = False
            object.__setattr__(self, "data", view)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        """The bytes of all texts."""
        return int(self.offsets[-1] - self.offsets[0])

    def slice(self, start: int, stop: int) -> Texts:
        """Documents start … stop, over the same bytes."""
        return Texts(self.offsets[start : stop + 1], self.data)

    def document(self, number: int) -> bytes:
        """One text."""
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes()

    @staticmethod
    def from_arrow(array: pa.Array) -> Texts:
        """A view of an Arrow string array; a null is an empty text."""
        large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
        if not (large or pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
            array, large = array.cast(pa.large_string()), True
        _, offset_buffer, data_buffer = array.buffers()
        if offset_buffer is None or len(array) == 0:
            return Texts(np.zeros(len(array) + 1, np.int64), np.zeros(0, np.uint8))
        stored = np.frombuffer(offset_buffer, np.int64 if large else np.int32)
        offsets: Offsets = stored[array.offset : array.offset + len(array) + 1].astype(np.int64)
        if array.null_count and np.diff(offsets)[array.is_null().to_numpy(zero_copy_only=False)].any():
            return Texts.from_arrow(
                array.fill_null(pa.scalar("", array.type))
            )  # Arrow allows bytes behind a null
        data = np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
        return Texts(offsets, data)

    def to_arrow(self, kind: pa.DataType) -> pa.Array:
        """An Arrow string array over the same bytes."""
        width = np.int64 if pa.types.is_large_string(kind) else np.int32
        buffers = [None, pa.py_buffer(self.offsets.astype(width)), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(kind, len(self), buffers)

    @staticmethod
    def from_strings(strings: list[str] | list[bytes]) -> Texts:
        """Texts of Python strings; lone surrogates become U+FFFD."""
        encoded = [s if isinstance(s, bytes) else to_utf8(s) for s in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return Texts(offsets, np.frombuffer(b"".join(encoded), np.uint8))


@dataclass(frozen=True)
class Tokens:
    """Tokens in reading order, with positions, marks, fields and tags."""

    offsets: Offsets
    hashes: Hashes
    positions: NDArray[np.uint32]  # byte position in the (NFC) text
    marks: NDArray[np.uint8]  # bit 0: capitalised, bit 1: begins with a digit
    fields: NDArray[np.uint8] | None = None  # the column of each token; None: all from the text
    tags: NDArray[np.uint16] | None = None  # the markup around each token; None: no markup was read

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Features:
    """Features of documents: one entry per occurrence, or distinct and sorted by hash."""

    offsets: Offsets
    hashes: Hashes
    weights: NDArray[np.float32] | None = None
    positions: NDArray[np.uint32] | None = None
    distinct: bool = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Numbers:
        """The number of entries of each document."""
        return np.diff(self.offsets)

    def take(self, documents: Numbers) -> Features:
        """The features of some documents, in the order given."""
        begins, ends = self.offsets[documents], self.offsets[documents + 1]
        offsets = np.concatenate([[0], np.cumsum(ends - begins)])
        hashes = np.empty(offsets[-1], np.uint64)
        kernels.digest.gather(self.hashes, begins, ends, hashes, offsets)
        weights = None if self.weights is None else np.empty(offsets[-1], self.weights.dtype)
        if weights is not None:
            kernels.digest.gather(self.weights, begins, ends, weights, offsets)
        return Features(offsets, hashes, weights, distinct=self.distinct)

    def without(self, documents: NDArray[np.bool_]) -> Features:
        """The same, but for the features of some documents, which have none then."""
        kept = ~np.repeat(documents, self.sizes)
        ends = np.concatenate([[0], np.cumsum(kept)])
        weights = None if self.weights is None else self.weights[kept]
        return Features(ends[self.offsets], self.hashes[kept], weights, distinct=self.distinct)

    @staticmethod
    def concatenate(parts: list[Features]) -> Features:
        """The features of several batches, concatenated, with weights if every batch has them."""
        if not parts:
            return Features(np.zeros(1, np.int64), np.zeros(0, np.uint64), distinct=True)
        starts = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
        weights = [part.weights for part in parts if part.weights is not None]
        return Features(
            np.concatenate([[0], *offsets]),
            np.concatenate([part.hashes for part in parts]),
            np.concatenate(weights) if len(weights) == len(parts) else None,
            distinct=all(part.distinct for part in parts),
        )


class GrowingFeatures:
    """Features of documents that come batch by batch: room is doubled, so that each is copied once or twice."""

    def __init__(self) -> None:
        self._offsets, self._columns = [np.zeros(1, np.int64)], dict[str, NDArray[Any]]()
        self._documents, self._size, self._distinct = 0, 0, True

    def __len__(self) -> int:
        return self._documents

    def add(self, features: Features) -> None:
        """More documents; all have weights, or none."""
        size = self._size + len(features.hashes)
        for name in ("hashes", "weights"):
            values = getattr(features, name)
            if values is not None:
                room = self._columns.get(name, values[:0])
                if len(room) < size:
                    room = np.empty(max(size, 2 * len(room)), values.dtype)
                    room[: self._size] = self._columns.get(name, values[:0])[: self._size]
                    self._columns[name] = room
                room[self._size : size] = values
        self._offsets.append(features.offsets[1:] + self._size)
        self._documents += len(features)
        self._size, self._distinct = size, self._distinct and features.distinct

    @property
    def all(self) -> Features:
        """The features of all documents, in the order in which they came."""
        self._offsets = [np.concatenate(self._offsets)]
        hashes = self._columns.get("hashes", np.zeros(0, np.uint64))[: self._size]
        weights = self._columns["weights"][: self._size] if "weights" in self._columns else None
        return Features(self._offsets[0], hashes, weights, distinct=self._distinct)


FIELD = np.uint64(15)  # the lowest bits of a feature's hash are its field, where a plan has fields


def field_of(features: Features) -> Numbers:
    """The number of each feature's field, 0 being the text, for features that were made field by field."""
    return (features.hashes & FIELD).astype(np.int64)


def make_distinct(features: Features) -> Features:
    """The features of each document as a sorted set."""
    if features.distinct:
        return features
    hashes = np.empty(len(features.hashes), np.uint64)
    ends = kernels.sets.distinct(features.hashes, features.offsets, hashes)
    return Features(ends, hashes[: ends[-1]], distinct=True)


@dataclass(frozen=True)
class Signatures:
    """k slots a document. A document that is not present has no features and agrees with nothing."""

    slots: NDArray[np.uint32]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True)
class Pairs:
    """Compared documents, by number, left < right, with the counts that every score derives from."""

    left: Numbers
    right: Numbers
    shared: NDArray[np.float64]
    left_size: NDArray[np.float64]
    right_size: NDArray[np.float64]
    kind: str = "jaccard"  # the similarity that the counts give

    def __len__(self) -> int:
        return len(self.left)

    @property
    def similarity(self) -> NDArray[np.float64]:
        """shared / (left + right − shared), shared / √(left · right) for the cosine, or the containment."""
        if self.kind == "containment":
            return self.containment
        if self.kind == "cosine":
            whole = np.sqrt(self.left_size * self.right_size)
        else:
            whole = self.left_size + self.right_size - self.shared
        return np.divide(self.shared, whole, out=np.zeros(len(self)), where=whole != 0)

    @property
    def containment(self) -> NDArray[np.float64]:
        """The shared part of the smaller document: 1 if one contains the other.

        A dot product of vectors exceeds the smaller square norm if the larger document weighs the shared features more.
        """
        smaller = np.minimum(self.left_size, self.right_size)
        share = np.divide(self.shared, smaller, out=np.zeros(len(self)), where=smaller != 0)
        return np.clip(share, 0.0, 1.0)

    def take(self, which: NDArray[np.bool_] | Numbers) -> Pairs:
        """Some of the pairs, by mask or by number."""
        return Pairs(
            self.left[which],
            self.right[which],
            self.shared[which],
            self.left_size[which],
            self.right_size[which],
            self.kind,
        )

    @staticmethod
    def concatenate(parts: list[Pairs]) -> Pairs:
        """All pairs of several groups."""
        if not parts:
            nothing, no_score = np.zeros(0, np.int64), np.zeros(0, np.float64)
            return Pairs(nothing, nothing, no_score, no_score, no_score)
        return Pairs(
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.shared for part in parts]),
            np.concatenate([part.left_size for part in parts]),
            np.concatenate([part.right_size for part in parts]),
            next((part.kind for part in parts if len(part)), parts[0].kind),
        )


def between(left: Numbers, right: Numbers, first: int) -> NDArray[np.bool_]:
    """Which pairs have exactly one of the first so many documents; all pairs if `first` is 0."""
    return (left < first) != (right < first) if first else np.ones(len(left), np.bool_)


def arrow_array(values: NDArray[Any]) -> pa.Array:
    """Numbers or truth values as an Arrow column over the same memory, if that has no gaps.

    `pa.array` looks for what pandas and Python have in the values, which takes longer than all else with a chunk.
    """
    bits = (
        np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    )
    return pa.Array.from_buffers(_arrow_type(values.dtype), len(values), [None, pa.py_buffer(bits)])


@cache
def _arrow_type(dtype: np.dtype[Any]) -> pa.DataType:
    return pa.from_numpy_dtype(dtype)


def fixed_lists(values: NDArray[Any]) -> pa.Array:
    """A matrix as an Arrow column, one row for each document."""
    return pa.FixedSizeListArray.from_arrays(arrow_array(values.ravel()), values.shape[1])


def matrix(column: pa.ChunkedArray) -> NDArray[Any]:
    """The matrix that such a column holds."""
    parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(parts).reshape(-1, column.type.list_size)


def ragged(offsets: Offsets, values: NDArray[Any]) -> pa.Array:
    """Lists of any length as an Arrow column."""
    return pa.LargeListArray.from_arrays(
        arrow_array(offsets - offsets[0]), arrow_array(values[offsets[0] : offsets[-1]])
    )
