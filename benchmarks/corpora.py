"""The corpora by name: a size (20k, 100k, 1m), with a kind (200k-identical), short documents (10m-short,
1m-short-distinct), or any parquet file.

`bulk20k` and other names that are neither are looked for as NAME.parquet in the folder that NEARDUP_CORPORA
names. Missing ones of our own making are generated.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import generate
from settings import CORPORA, HERE

OTHERS = Path(os.environ.get("NEARDUP_CORPORA", HERE.parent.parent / "shared" / "bench"))
SIZE = re.compile(r"(\d+)(k|m)?(-short)?(?:-([a-z-]+))?")
LENGTH, SHORT = 2_750.0, 1_000.0  # mean characters


@dataclass(frozen=True)
class Corpus:
    """A file of documents whose ids are their row numbers."""

    name: str
    path: Path
    documents: int
    megabytes: float  # of UTF-8 text, 10^6 bytes


def locate(name: str) -> Path:
    """The corpus's file, generated if it is one of ours and not there yet."""
    given = Path(name)
    if given.suffix == ".parquet":
        return given
    size = SIZE.fullmatch(name)
    if not size:
        return OTHERS / f"{name}.parquet"
    path = CORPORA / f"{name}.parquet"
    if not path.exists():
        count = int(size[1]) * {"k": 1_000, "m": 1_000_000}.get(size[2], 1)
        print(f"generating {path.name}: {count:,} documents", flush=True)
        recipe = generate.Recipe(count, size[4] or "clusters", SHORT if size[3] else LENGTH)
        generate.write(recipe, path)
    return path


def find(name: str) -> Corpus:
    """The corpus of that name, ready to be read."""
    path = locate(name)
    if not path.exists():
        raise SystemExit(
            f"no corpus {name!r}: {path} does not exist (names: 20k, 100k, 200k-identical, a file)"
        )
    with pq.ParquetFile(path) as file:
        rows = file.metadata.num_rows
        batches = file.iter_batches(columns=["text"])
        total = sum(pc.sum(pc.binary_length(batch.column(0))).as_py() or 0 for batch in batches)
    return Corpus(path.stem, path.resolve(), rows, total / 1e6)
