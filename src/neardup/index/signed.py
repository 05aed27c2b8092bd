"""Documents as an index compares them: signed from their texts, or restored from what the index has stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts, make_distinct
from neardup.engines.core.compare import compared_features, compares_kept_signatures
from neardup.engines.core.represent import Representation, representation_of, representation_of_signatures
from neardup.errors import IndexDamaged, PlanError
from neardup.index.truth import StoredRows
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.verify.numbers import SeparateNumbers

Store = Literal["text", "features", "signatures"]
STORES = ("text", "features", "signatures")
SIZE = 4  # bytes of the length before a compressed body
LARGEST_RATIO = 256  # of LZ4: a byte stands for 255 at most


@dataclass(frozen=True)
class SignedDocuments:
    """A batch of documents with everything that is looked up or stored of them."""

    digests: Hashes  # of the texts: documents × 2
    characters: Numbers
    made: Representation
    texts: Texts | None  # None: not stored

    def __len__(self) -> int:
        return len(self.digests)


@dataclass(frozen=True)
class Signer:
    """Signs documents by a plan with frozen statistics, and packs what the index stores of them."""

    plan: Plan
    statistics: Statistics | None = None
    store: Store = "text"

    def sign(self, texts: Texts) -> SignedDocuments:
        """The documents of these texts."""
        digests = np.empty((len(texts), 2), np.uint64)
        kernels.digest.digest(texts.data, texts.offsets, 0, digests)
        characters = np.empty(len(texts), np.int64)
        kernels.digest.count_characters(texts.data, texts.offsets, characters)
        tokens = self.plan.text(texts, details=self.plan.view.details)
        features = self.plan.view.represent(tokens, self.statistics)
        made = representation_of(self.plan, np.diff(tokens.offsets), features)
        return SignedDocuments(digests, characters, made, texts)

    def bodies(self, documents: SignedDocuments) -> list[bytes | None]:
        """What is stored of each document beside its signature."""
        if self.store == "signatures":
            return [None] * len(documents)
        if self.store == "text":
            assert documents.texts is not None
            data, offsets = documents.texts.data.data, documents.texts.offsets.tolist()
            return [_packed(data[begin:end]) for begin, end in pairwise(offsets)]
        sets = _as_distinct(documents.made.features)
        return [_packed(_feature_bytes(sets, n)) for n in range(len(documents))]

    @property
    def keeps_signatures(self) -> bool:
        """Whether the truth has a column of signatures: they are compared, or all that is stored."""
        compared = compares_kept_signatures(self.plan) or self.plan.candidates.distribution == "hamming"
        return self.store == "signatures" or compared

    def signatures(self, documents: SignedDocuments) -> list[bytes | None]:
        """The stored signature of each document; None without features, or if signatures are not stored."""
        made = documents.made.signatures
        if not self.keeps_signatures or made is None:
            return [None] * len(documents)
        return [
            row.astype("<u4").tobytes() if present else None
            for row, present in zip(made.slots, made.present, strict=True)
        ]

    def restore(self, rows: StoredRows) -> SignedDocuments:
        """The documents of stored rows, as they were signed."""
        digests = np.column_stack([rows.low, rows.high])
        if self.store == "text":
            return self.sign(stored_texts(rows))
        if self.store == "features":
            made = representation_of(self.plan, rows.tokens, self._stored_features(rows))
        else:
            nothing = Features(np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.uint64), distinct=True)
            signatures = self.stored_signatures(rows)
            made = representation_of_signatures(self.plan, rows.tokens, nothing, signatures)
        return SignedDocuments(digests, rows.characters, made, None)

    def compared(self, documents: SignedDocuments) -> Features | Signatures | None:
        """What the check compares of documents that are asked about."""
        if compares_kept_signatures(self.plan):
            return documents.made.signatures
        if self.plan.check.level == "none":
            return None
        if self.plan.check_view is None and not isinstance(self.plan.check, SeparateNumbers):
            return _as_distinct(documents.made.features)
        assert documents.texts is not None
        return compared_features(self.plan, documents.texts, self.statistics)

    def compared_rows(self, rows: StoredRows) -> Features | Signatures | None:
        """The same of stored documents."""
        if compares_kept_signatures(self.plan):
            return self.stored_signatures(rows)
        if self.plan.check.level == "none":
            return None
        if self.store == "features":
            return self._stored_features(rows)
        return compared_features(self.plan, stored_texts(rows), self.statistics)

    def stored_signatures(self, rows: StoredRows) -> Signatures:
        """The signatures of stored documents."""
        assert self.plan.view.signature is not None
        slots = np.zeros((len(rows), self.plan.view.signature.slots), np.uint32)
        present = np.zeros(len(rows), np.bool_)
        with _trusted():
            for n, data in enumerate(rows.signatures):
                if data is not None:
                    slots[n], present[n] = np.frombuffer(data, "<u4"), True
        return Signatures(slots, present)

    def _stored_features(self, rows: StoredRows) -> Features:
        with _trusted():
            parts = [_as_features(_unpacked(body)) for body in rows.bodies if body is not None]
        return Features.concatenate(parts) if parts else Features.concatenate([])

    def check_store(self) -> None:
        """Refuse to store less than the plan needs."""
        check = self.plan.check
        if self.store == "signatures" and not (compares_kept_signatures(self.plan) or check.level == "none"):
            raise PlanError(
                f"The method {self.plan.method} compares {check.measures} of features, and an index with "
                "--store signatures has none: store text or features, or choose a method that compares signatures."
            )
        if self.store == "features" and (
            self.plan.check_view is not None or isinstance(check, SeparateNumbers)
        ):
            raise PlanError(
                f"The method {self.plan.method} with these options compares documents in two ways, and an index with "
                "--store features has one of them: store text."
            )


def stored_texts(rows: StoredRows) -> Texts:
    """The texts of stored rows."""
    with _trusted():
        texts = [_unpacked(body) if body is not None else b"" for body in rows.bodies]
        for text in texts:
            if not text.isascii():  # kernels would take other bytes for characters that no table has
                text.decode("utf-8", "surrogatepass")
    return Texts.from_strings(texts)


def stored_text(body: bytes) -> str:
    """The text of one stored body."""
    with _trusted():
        return _unpacked(body).decode("utf-8", "replace")


@cache
def _codec() -> Any:
    return pa.Codec(
        "lz4_raw"
    )  # 3 µs to pack and 1 µs to unpack 2.7 kB; zstd takes 17 and 12 for a third less


def _packed(data: bytes | memoryview) -> bytes:
    return len(data).to_bytes(SIZE, "little") + (_codec().compress(data, asbytes=True) if data else b"")


def _unpacked(body: bytes) -> bytes:
    size = int.from_bytes(body[:SIZE], "little")
    if size > LARGEST_RATIO * len(body):  # which would only take memory
        raise ValueError(f"a body of {len(body)} bytes cannot have {size}")
    found: bytes = _codec().decompress(body[SIZE:], decompressed_size=size, asbytes=True) if size else b""
    return found


@contextmanager
def _trusted() -> Iterator[None]:
    """What cannot be made of stored bytes becomes a sentence."""
    try:
        yield
    except (OSError, ValueError, TypeError, IndexError) as problem:
        raise IndexDamaged(
            "A stored document of the index is damaged. Find out which with: neardup index verify INDEX"
        ) from problem


def _as_distinct(features: Features) -> Features:
    return features if features.distinct else make_distinct(features)


def _feature_bytes(sets: Features, number: int) -> bytes:
    """A byte that says whether there are weights, the hashes, and the weights."""
    part = slice(int(sets.offsets[number]), int(sets.offsets[number + 1]))
    hashes = sets.hashes[part].astype("<u8").tobytes()
    return (
        b"\0" + hashes
        if sets.weights is None
        else b"\1" + hashes + sets.weights[part].astype("<f4").tobytes()
    )


def _as_features(data: bytes) -> Features:
    weighted, width = data[0] == 1, 12 if data[0] == 1 else 8
    count = (len(data) - 1) // width
    hashes = np.frombuffer(data, "<u8", count, 1).astype(np.uint64)
    weights = np.frombuffer(data, "<f4", count, 1 + 8 * count).astype(np.float32) if weighted else None
    return Features(np.array([0, count]), hashes, weights, distinct=True)


def joined(parts: Sequence[Features | Signatures | None]) -> Any:
    """What a check compares, of several batches together."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], Features):
        return Features.concatenate([part for part in parts if isinstance(part, Features)])
    signed = [part for part in parts if isinstance(part, Signatures)]
    return Signatures(
        np.concatenate([one.slots for one in signed]), np.concatenate([one.present for one in signed])
    )
