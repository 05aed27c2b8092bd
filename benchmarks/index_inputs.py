"""What an index is asked about and changed with: queries, today's file, new documents; made from a corpus once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import generate
from corpora import LENGTH, SHORT, Corpus
from settings import WORK

FOLDER = WORK / "index"
QUERIES = 4_000  # half of them near-duplicates of stored documents
WARM = 500  # more queries, asked before the clock starts
TODAY, REPEATED = 10_000, 0.1  # documents of today's file, and the share that near-duplicates stored ones
SMALL = 10_000  # documents of the small index that today's file is checked against
EDITS = (0.002, 0.02)  # the share of words that is replaced: Jaccard 0.8 and above, mostly


def edited(text: str, rng: np.random.Generator) -> str:
    """The text with a few of its words replaced, one at least."""
    words = text.split(" ")
    count = max(1, int(len(words) * rng.uniform(*EDITS)))
    for place in rng.integers(0, len(words), count).tolist():
        words[place] = f"changed{rng.integers(1 << 30)}"
    return " ".join(words)


def chosen_texts(path: Path, rows: np.ndarray) -> list[str]:
    """The texts of these rows, ascending; the corpus is read group by group."""
    found, first = [], 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=generate.GROUP, columns=["text"]):
            inside = rows[(rows >= first) & (rows < first + batch.num_rows)] - first
            found += batch.column(0).take(pa.array(inside)).to_pylist()
            first += batch.num_rows
    return found


def fresh_texts(count: int, seed: int, short: bool = False) -> list[str]:
    """New texts that have nothing in common with a corpus of another seed."""
    recipe = generate.Recipe(count, "distinct", SHORT if short else LENGTH, seed)
    return list(islice((text for group in generate.texts(recipe) for text in group), count))


def mixed(corpus: Corpus, count: int, repeated: int, among: int, seed: int) -> pa.Table:
    """Texts in random order: near-duplicates of some of the first `among` documents (`source`), and new ones (-1)."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(among, repeated, replace=False))
    near = [edited(text, rng) for text in chosen_texts(corpus.path, rows)]
    texts = near + fresh_texts(count - repeated, seed, "short" in corpus.name)
    sources = np.concatenate([rows, np.full(count - repeated, -1)])
    order = rng.permutation(count)
    names = [f"{seed}-{number}" for number in range(count)]
    return pa.table({"id": names, "text": [texts[n] for n in order.tolist()], "source": sources[order]})


def stored(path: Path, table: pa.Table) -> Path:
    """The table as a file; a half-written one never bears its name."""
    partial = path.with_suffix(".partial")
    pq.write_table(table, partial)
    partial.replace(path)
    return path


def queries(corpus: Corpus) -> Path:
    """Texts to look up, half of them near-duplicates of stored documents; the first are for warming up."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{corpus.name}-queries.parquet"
    count = min(QUERIES + WARM, corpus.documents)
    return path if path.exists() else stored(path, mixed(corpus, count, count // 2, corpus.documents, 101))


def today(corpus: Corpus) -> Path:
    """Today's file: a tenth of it near-duplicates documents of the small index, which the large one has too."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{corpus.name}-today.parquet"
    if path.exists():
        return path
    count, among = min(TODAY, corpus.documents), min(SMALL, corpus.documents)
    return stored(path, mixed(corpus, count, int(count * REPEATED), among, 102).drop_columns(["source"]))


def changes(corpus: Corpus) -> Path:
    """New documents, to add and to replace others with."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{corpus.name}-changes.parquet"
    count = min(20_000, corpus.documents)
    return path if path.exists() else stored(path, pa.table({"text": fresh_texts(count, 103)}))


def first_documents(corpus: Corpus) -> Path:
    """The first documents of the corpus, for the small index."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{corpus.name}-first.parquet"
    if path.exists():
        return path
    with pq.ParquetFile(corpus.path) as file:
        first = next(file.iter_batches(batch_size=min(SMALL, corpus.documents)))
    return stored(path, pa.Table.from_batches([first]))


def batches(texts: list[str], size: int) -> Iterator[list[str]]:
    """The texts in batches of that size; what is left over is left out."""
    for start in range(0, len(texts) - size + 1, size):
        yield texts[start : start + size]
