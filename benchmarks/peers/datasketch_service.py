"""A plain FastAPI wrapper of datasketch: what people write in an afternoon. In memory, unverified, nothing durable.

python benchmarks/peers/datasketch_service.py PORT CORPUS.parquet
"""

from __future__ import annotations

import sys
from pathlib import Path

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


def make_app(path: Path) -> FastAPI:
    """The application, with all documents in memory."""
    lsh = MinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM, params=(BANDS, ROWS))
    with lsh.insertion_session() as session:
        generator = MinHash.generator((byte_ngrams(text) for text in read_texts(path)), **OPTIONS)
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
    uvicorn.run(make_app(Path(sys.argv[2])), port=int(sys.argv[1]), log_level="warning")
