"""Answers of earlier changes by idempotency key, stored in the transaction of the change itself.

A key belongs to one of 1,024 entries of the index's truth by its hash; an entry keeps its newest 16 answers of the last
24 hours. So the store needs no upkeep, stays small, and every process over one index sees the same answers.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from neardup.index.truth import Snapshot, StoreWriter
from neardup.service.problems import Problem

ENTRIES = 1024
NEWEST = 16  # answers of an entry …
LARGEST = 256 << 10  # … and their bytes
AGE = 24 * 3600.0  # seconds


@dataclass(frozen=True)
class ReplayKey:
    """The key of a change, and a digest of what was asked with it."""

    key: str  # a hash of the client's key and its token
    request: str

    @property
    def entry(self) -> str:
        """The entry of the truth that has the key."""
        return f"service/replay/{int(self.key[:8], 16) % ENTRIES:04d}"


def replay_key(given: str, caller: str, request: bytes, part: int = 0) -> ReplayKey:
    """The key of a request, or of a part of a stream."""
    key = hashlib.sha256(json.dumps([caller, given, part]).encode()).hexdigest()
    return ReplayKey(key, hashlib.sha256(request).hexdigest())


class Replays:
    """The stored answers, as a transaction sees them."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock

    def find(self, snapshot: Snapshot, key: ReplayKey) -> list[dict[str, Any]] | None:
        """The answer that was given for the key; None if it is new, or was forgotten."""
        for entry in self._entries(snapshot, key):
            if entry["key"] == key.key:
                if entry["request"] != key.request:
                    raise Problem("key-reused", "The idempotency key belongs to another body: use a new one.")
                answer: list[dict[str, Any]] = entry["answer"]
                return answer
        return None

    def remember(self, writer: StoreWriter, key: ReplayKey, answer: Sequence[dict[str, Any]]) -> None:
        """Store an answer; the oldest of the entry make room."""
        kept = [*self._entries(writer, key)][-(NEWEST - 1) :]
        kept.append({"key": key.key, "request": key.request, "time": self._clock(), "answer": list(answer)})
        data = json.dumps(kept, separators=(",", ":")).encode()
        while len(data) > LARGEST and len(kept) > 1:
            kept = kept[1:]
            data = json.dumps(kept, separators=(",", ":")).encode()
        writer.set_blob(key.entry, data)

    def _entries(self, snapshot: Snapshot, key: ReplayKey) -> list[dict[str, Any]]:
        data = snapshot.blob(key.entry)
        oldest = self._clock() - AGE
        return [] if data is None else [entry for entry in json.loads(data) if entry["time"] >= oldest]
