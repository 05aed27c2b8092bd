"""The peers' indexes: each is built from texts, asked about a text, and forgets a document.

Shapes (slots, bands, rows) are given, so that all find candidates alike. Their answers are not verified, or by
signature; `Verified` adds the exact Jaccard similarity of sets of word 5-grams, computed in Python.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from peers.common import Stages, byte_ngrams, word_ngrams
from settings import NGRAM, SEED, THRESHOLD

BATCH = 2_000


@dataclass(frozen=True)
class Shape:
    """Slots of a signature, in bands of rows."""

    bands: int
    rows: int
    folder: Path  # for what a peer writes

    @property
    def slots(self) -> int:
        """All slots of a signature."""
        return self.bands * self.rows


class PeerIndex(Protocol):
    """What the benchmark does with an index; documents are known by their numbers."""

    def build(self, texts: list[str], stage: Stages) -> None:
        """Sign and insert all texts."""

    def query(self, text: str) -> list[int]:
        """The documents that the index finds for a text."""

    def remove(self, number: int) -> None:
        """Forget a document."""

    def close(self) -> dict[str, Any]:
        """End what was started; what is to be reported beside."""


class Rensa:
    """RMinHash and RMinHashLSH, whose answers are not verified."""

    def __init__(self, shape: Shape) -> None:
        from rensa import RMinHash, RMinHashLSH

        self._signature, self._slots = RMinHash, shape.slots
        self._lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=shape.slots, num_bands=shape.bands)

    def build(self, texts: list[str], stage: Stages) -> None:
        """Sign and insert batch by batch."""
        for start in range(0, len(texts), BATCH):
            with stage("shingle+sign"):
                batch = [word_ngrams(text) for text in texts[start : start + BATCH]]
                signed = self._signature.from_token_sets(batch, num_perm=self._slots, seed=SEED)
            with stage("insert"):
                self._lsh.insert_pairs(list(enumerate(signed, start)))

    def query(self, text: str) -> list[int]:
        """All documents that share a band."""
        (signature,) = self._signature.from_token_sets([word_ngrams(text)], num_perm=self._slots, seed=SEED)
        found: list[int] = self._lsh.query(signature)
        return found

    def remove(self, number: int) -> None:
        """Its remove."""
        self._lsh.remove(number)

    def close(self) -> dict[str, Any]:
        """Nothing to end."""
        return {}


class Gaoya:
    """MinHashStringIndex, which keeps signatures and verifies by them."""

    def __init__(self, shape: Shape) -> None:
        from gaoya.minhash import MinHashStringIndex

        self._index = MinHashStringIndex(
            hash_size=32,
            jaccard_threshold=THRESHOLD,
            num_bands=shape.bands,
            band_size=shape.rows,
            num_hashes=shape.slots,
            analyzer="word",
            lowercase=True,
            ngram_range=(NGRAM, NGRAM),
        )

    def build(self, texts: list[str], stage: Stages) -> None:
        """One call."""
        with stage("shingle+sign+insert"):
            self._index.par_bulk_insert_docs(list(range(len(texts))), texts)

    def query(self, text: str) -> list[int]:
        """Documents whose signatures reach the threshold."""
        found: list[int] = self._index.query(text)
        return found

    def remove(self, number: int) -> None:
        """Its remove."""
        self._index.remove(number)

    def close(self) -> dict[str, Any]:
        """Nothing to end."""
        return {}


class Datasketch:
    """MinHashLSH in memory with xxh32, the fastest documented hash; its answers are not verified."""

    def __init__(self, shape: Shape, **options: Any) -> None:
        import xxhash
        from datasketch import MinHash, MinHashLSH

        self._kind = MinHash
        self._how = {"num_perm": shape.slots, "seed": SEED, "hashfunc": xxhash.xxh32_intdigest}
        params = (shape.bands, shape.rows)
        self._lsh = MinHashLSH(threshold=THRESHOLD, num_perm=shape.slots, params=params, **options)

    def build(self, texts: list[str], stage: Stages) -> None:
        """Sign and insert batch by batch."""
        for start in range(0, len(texts), BATCH):
            with stage("shingle+sign"):
                grams = (byte_ngrams(text) for text in texts[start : start + BATCH])
                signed = list(self._kind.generator(grams, **self._how))
            with stage("insert"), self._lsh.insertion_session() as session:
                for number, signature in enumerate(signed, start):
                    session.insert(number, signature, check_duplication=False)

    def query(self, text: str) -> list[int]:
        """All documents that share a band."""
        (signature,) = self._kind.generator([byte_ngrams(text)], **self._how)
        found: list[int] = self._lsh.query(signature)
        return found

    def remove(self, number: int) -> None:
        """Its remove."""
        self._lsh.remove(number)

    def close(self) -> dict[str, Any]:
        """Nothing to end."""
        return {}


class DatasketchRedis(Datasketch):
    """The same with its tables in a Redis server on this machine, which appends changes to a file every second."""

    def __init__(self, shape: Shape) -> None:
        socket = Path("/tmp") / f"neardup-bench-{time.time_ns()}.sock"  # a socket's path must be short
        given = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "yes"]
        self._server = subprocess.Popen(
            [os.environ["REDIS_SERVER"], *given, "--dir", str(shape.folder)],
            env={**os.environ, "LD_LIBRARY_PATH": os.environ.get("REDIS_LIBRARIES", "")},
            stdout=subprocess.DEVNULL,
        )
        self._socket = socket
        self._await()
        where = {"type": "redis", "basename": b"bench", "redis": {"unix_socket_path": str(socket)}}
        super().__init__(shape, storage_config=where)

    def _await(self) -> None:
        for _ in range(200):
            if self._socket.exists():
                return
            time.sleep(0.05)
        raise RuntimeError("redis-server did not start")

    def close(self) -> dict[str, Any]:
        """End the server; its peak memory and CPU seconds are of the whole run."""
        from peers.timing import memory

        known = {"server": memory(self._server.pid), "server_cpu": self.server_cpu()}
        self._server.terminate()
        self._server.wait(60)
        return known

    def server_cpu(self) -> float:
        """CPU seconds of the server until now."""
        fields = Path(f"/proc/{self._server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Verified:
    """An index whose answers are compared exactly, as a user would in Python; texts are in memory."""

    index: PeerIndex
    texts: list[str]

    def query(self, text: str) -> list[int]:
        """The documents whose sets of word 5-grams reach the threshold."""
        mine = set(word_ngrams(text))
        return [number for number in self.index.query(text) if self._similarity(mine, number) >= THRESHOLD]

    def _similarity(self, mine: set[str], number: int) -> float:
        other = set(word_ngrams(self.texts[number]))
        shared = len(mine & other)
        return shared / (len(mine) + len(other) - shared)


INDEXES: dict[str, Callable[[Shape], PeerIndex]] = {
    "rensa": Rensa,
    "gaoya": Gaoya,
    "datasketch": Datasketch,
    "datasketch-redis": DatasketchRedis,
}
