"""A plain FastAPI wrapper of datasketch: what people write in an afternoon. Its answers are not verified.

python benchmarks/peers/datasketch_service.py PORT CORPUS.parquet [--documents N] [--redis SOCKET]

In memory nothing is durable; in Redis, changes are on the disk after a second.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # this folder has a datasketch.py of its own

import uvicorn
import xxhash
from datasketch import MinHash, MinHashLSH
from fastapi import FastAPI
from pydantic import BaseModel

from peers.common import byte_ngrams, read_texts
from settings import BANDS, NUM_PERM, ROWS, SEED, THRESHOLD

OPTIONS = {"num_perm": NUM_PERM, "seed": SEED, "hashfunc": xxhash.xxh32_intdigest}


class Document(BaseModel):
    """A document of a request."""

    id: str | None = None
    text: str


def signature(text: str) -> MinHash:
    """The min-hash of a text."""
    made = MinHash(**OPTIONS)
    made.update_batch(byte_ngrams(text))
    return made


def make_lsh(redis: str | None) -> MinHashLSH:
    """An empty index in memory, or in Redis."""
    how: dict[str, Any] = {"threshold": THRESHOLD, "num_perm": NUM_PERM, "params": (BANDS, ROWS)}
    if redis is not None:
        how["storage_config"] = {"type": "redis", "basename": b"bench", "redis": {"unix_socket_path": redis}}
    return MinHashLSH(**how)


def make_app(path: Path, documents: int | None, redis: str | None) -> FastAPI:
    """The application, with the first documents of the corpus."""
    lsh = make_lsh(redis)
    texts = itertools.islice(read_texts(path), documents)
    with lsh.insertion_session() as session:
        generator = MinHash.generator((byte_ngrams(text) for text in texts), **OPTIONS)
        for number, made in enumerate(generator):
            session.insert(number, made, check_duplication=False)
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> dict[str, str]:
        return {"status": "ready"}

    @app.post("/v1/query")
    def query(document: Document) -> dict[str, list[str]]:
        return {"matches": list(map(str, lsh.query(signature(document.text))))}

    @app.post("/v1/documents")
    def add(document: Document) -> dict[str, str]:
        lsh.insert(document.id, signature(document.text), check_duplication=False)
        return {"status": "new"}

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--redis")
    given = parser.parse_args()
    uvicorn.run(make_app(given.corpus, given.documents, given.redis), port=given.port, log_level="warning")
