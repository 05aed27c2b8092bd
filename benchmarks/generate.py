"""Corpora of any size, drawn from the made-up English of words.py: same seed, same bytes.

    python benchmarks/generate.py --documents 100000 -o corpus.parquet
    python benchmarks/generate.py --kind template --documents 10000 -o pages.jsonl

Kinds: distinct (nothing in common), clusters (20 % of the rows in planted clusters of 2-10, each a document
with 1-15 % of its words edited, sentences cut, headers and footers added), identical (one text, over and
over), near-identical (one text with one to five words changed in each row), template (unrelated pages inside
one shared frame). Rows are written in groups of 10,000, so memory does not grow with the corpus.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from words import (
    COMMA,
    ENDINGS,
    EXCLAMATION,
    FORMS,
    PARAGRAPH,
    PLAIN,
    QUESTION,
    STOP,
    Language,
    make_language,
)

KINDS = ("clusters", "distinct", "identical", "near-identical", "template")
GROUP = 10_000  # rows of a row group
PLANTED = 0.20  # share of the rows inside planted clusters
SMALLEST, LARGEST = 2, 10  # rows of a planted cluster
EDITS = (0.01, 0.15)  # share of the words edited in a copy, drawn log-uniformly
SPREAD = 0.5  # standard deviation of the log of the length
FRAME = 0.6  # share of a page that is the shared template
CAPITAL = len(ENDINGS)
Units = np.ndarray  # of int32


@dataclass(frozen=True)
class Recipe:
    """What to write."""

    documents: int
    kind: str = "clusters"
    mean_length: float = 2_750.0
    seed: int = 1


def ragged(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The indices start, start + 1, ... of every run, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)


def sentence_counts(rng: np.random.Generator, documents: int, mean: float, spread: float) -> np.ndarray:
    """Lognormal numbers of sentences with the given mean, one at least."""
    drawn = rng.lognormal(np.log(mean) - spread**2 / 2, spread, documents)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def draw(rng: np.random.Generator, language: Language, sentences: np.ndarray) -> list[Units]:
    """One fresh document for each number of sentences."""
    total = int(sentences.sum())
    chosen = rng.integers(0, len(language.sizes), total)
    sizes = language.sizes[chosen]
    slots = language.slots[ragged(language.starts[chosen], sizes)]
    base = language.tables[slots >> 1, rng.integers(0, language.tables.shape[1], len(slots))]
    form = np.where(slots & 1, COMMA, PLAIN).astype(np.int32)
    last = np.cumsum(sizes) - 1
    closings = (PARAGRAPH, QUESTION, EXCLAMATION, STOP)
    form[last] = rng.choice(closings, total, p=(0.18, 0.05, 0.03, 0.74))
    form[last - sizes + 1] += CAPITAL
    return np.split(base * FORMS + form, last[np.cumsum(sentences) - 1][:-1] + 1)


def cut_sentences(rng: np.random.Generator, units: Units) -> Units:
    """The document without a run of one to three of its sentences (never the whole of it)."""
    stops = np.flatnonzero(np.isin(units % CAPITAL, (STOP, QUESTION, EXCLAMATION, PARAGRAPH))) + 1
    if len(stops) < 6:
        return units
    first = int(rng.integers(0, len(stops) - 3))
    return np.concatenate([units[: stops[first]], units[stops[first + int(rng.integers(1, 4))] :]])


def edit_words(rng: np.random.Generator, language: Language, units: Units, rate: float) -> Units:
    """The document with that share of its words replaced (3 of 5), left out or doubled by a new one."""
    touched = np.flatnonzero(rng.random(len(units)) < rate)
    kind = rng.random(len(touched))
    classes, quantiles = (rng.integers(0, size, len(touched)) for size in language.tables.shape)
    fresh = language.tables[classes, quantiles] * FORMS
    edited, repeats = units.copy(), np.ones(len(units), dtype=np.int64)
    swapped = kind < 0.6
    edited[touched[swapped]] = fresh[swapped] + units[touched[swapped]] % FORMS
    repeats[touched[(kind >= 0.6) & (kind < 0.8)]] = 0
    doubled = kind >= 0.8
    repeats[touched[doubled]] = 2
    ends = np.cumsum(repeats)
    edited = np.repeat(edited, repeats)
    edited[ends[touched[doubled]] - 2] = fresh[doubled] + PLAIN
    return edited


@dataclass
class Planter:
    """Which rows copy which, with the originals that later rows still need."""

    cluster: np.ndarray  # of every row; -1: alone
    remaining: np.ndarray  # rows of each cluster still to come
    headers: list[Units]
    footers: list[Units]
    originals: dict[int, Units] = field(default_factory=dict)

    def is_copy(self, row: int) -> bool:
        """Whether the row's cluster has shown its original already."""
        return int(self.cluster[row]) in self.originals

    def remember(self, row: int, units: Units) -> None:
        """Keep the original for as long as rows of its cluster are to come."""
        cluster = int(self.cluster[row])
        if cluster < 0:
            return
        self.remaining[cluster] -= 1
        if not self.remaining[cluster]:
            self.originals.pop(cluster, None)
        elif cluster not in self.originals:
            self.originals[cluster] = units.copy()  # a view would keep its whole group in memory

    def copy(self, rng: np.random.Generator, language: Language, row: int) -> Units:
        """An edited copy of the row's original."""
        low, high = np.log(EDITS[0]), np.log(EDITS[1])
        units = self.originals[int(self.cluster[row])]
        if rng.random() < 0.3:
            units = cut_sentences(rng, units)
        parts = [edit_words(rng, language, units, float(np.exp(rng.uniform(low, high))))]
        if rng.random() < 0.3:
            parts.insert(0, self.headers[int(rng.integers(len(self.headers)))])
        if rng.random() < 0.3:
            parts.append(self.footers[int(rng.integers(len(self.footers)))])
        return np.concatenate(parts)


def make_planter(rng: np.random.Generator, language: Language, recipe: Recipe) -> Planter:
    """Clusters scattered over all rows (over none, for distinct), and the sites' headers and footers."""
    share = PLANTED if recipe.kind == "clusters" else 0.0
    rows = rng.permutation(recipe.documents)[: int(share * recipe.documents)]
    sizes = rng.integers(SMALLEST, LARGEST + 1, len(rows) // SMALLEST)
    number = np.repeat(np.arange(len(sizes)), sizes)[: len(rows)]
    cluster = np.full(recipe.documents, -1, dtype=np.int64)
    cluster[rows] = number
    sites = 20 + recipe.documents // 200  # real boilerplate is shared by many pages, but not by all
    headers = draw(rng, language, rng.integers(1, 3, sites))
    footers = draw(rng, language, rng.integers(1, 4, sites))
    return Planter(cluster, np.bincount(number, minlength=1), headers, footers)


def clustered_rows(language: Language, recipe: Recipe, planter: Planter) -> Iterator[list[Units]]:
    """Groups of documents, fresh ones and copies as the planter says."""
    mean = recipe.mean_length / language.mean_sentence
    for group, first in enumerate(range(0, recipe.documents, GROUP)):
        rng = np.random.default_rng([recipe.seed, 2, group])
        rows = range(first, min(first + GROUP, recipe.documents))
        fresh = draw(rng, language, sentence_counts(rng, len(rows), mean, SPREAD))
        documents = []
        for row, units in zip(rows, fresh, strict=True):
            written = planter.copy(rng, language, row) if planter.is_copy(row) else units
            planter.remember(row, written)
            documents.append(written)
        yield documents


def repeated_rows(language: Language, recipe: Recipe) -> Iterator[list[Units]]:
    """Groups of one text, repeated (identical) or with one to five of its words changed (near-identical)."""
    rng = np.random.default_rng([recipe.seed, 3])
    base = draw(rng, language, sentence_counts(rng, 1, recipe.mean_length / language.mean_sentence, 0.0))[0]
    for first in range(0, recipe.documents, GROUP):
        documents = [base] * min(GROUP, recipe.documents - first)
        if recipe.kind == "near-identical":
            documents = [change_few(rng, language, base) for _ in documents]
        yield documents


def change_few(rng: np.random.Generator, language: Language, units: Units) -> Units:
    """The document with one to five words replaced."""
    edited = units.copy()
    where = rng.integers(0, len(units), int(rng.integers(1, 6)))
    classes, quantiles = (rng.integers(0, size, len(where)) for size in language.tables.shape)
    edited[where] = language.tables[classes, quantiles] * FORMS + units[where] % FORMS
    return edited


def framed_rows(language: Language, recipe: Recipe) -> Iterator[list[Units]]:
    """Groups of pages: a body of their own inside the frame that all of them share (Jaccard about 0.45)."""
    rng = np.random.default_rng([recipe.seed, 4])
    mean = recipe.mean_length / language.mean_sentence
    top, bottom = draw(rng, language, sentence_counts(rng, 2, FRAME / 2 * mean, 0.0))
    for first in range(0, recipe.documents, GROUP):
        bodies = sentence_counts(rng, min(GROUP, recipe.documents - first), (1 - FRAME) * mean, 0.25)
        shortest = int(np.ceil(0.6 * (1 - FRAME) * mean))  # or the frame alone would make near-duplicates
        pages = draw(rng, language, np.maximum(shortest, bodies))
        yield [np.concatenate([top, page, bottom]) for page in pages]


def texts(recipe: Recipe) -> Iterator[list[str]]:
    """Groups of at most 10,000 texts."""
    language = make_language(recipe.seed)
    if recipe.kind in ("identical", "near-identical"):
        groups = repeated_rows(language, recipe)
    elif recipe.kind == "template":
        groups = framed_rows(language, recipe)
    else:
        planter = make_planter(np.random.default_rng([recipe.seed, 1]), language, recipe)
        groups = clustered_rows(language, recipe, planter)
    for documents in groups:
        yield ["".join(language.forms[units].tolist()).rstrip() for units in documents]


def write(recipe: Recipe, path: Path) -> None:
    """Write the corpus as parquet or jsonl, by the path's ending; a half-written one never bears its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    (write_parquet if path.suffix == ".parquet" else write_jsonl)(recipe, partial)
    partial.replace(path)


def write_parquet(recipe: Recipe, path: Path) -> None:
    """Columns id (int64) and text, snappy, row groups of 10,000."""
    schema, first = pa.schema([("id", pa.int64()), ("text", pa.string())]), 0
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for group in texts(recipe):
            ids = pa.array(np.arange(first, first + len(group)))
            writer.write_table(
                pa.table([ids, pa.array(group, pa.string())], schema=schema), row_group_size=GROUP
            )
            first += len(group)


def write_jsonl(recipe: Recipe, path: Path) -> None:
    """One object with id and text a line."""
    first = 0
    with path.open("w", encoding="utf-8") as out:
        for group in texts(recipe):
            rows = ({"id": first + k, "text": text} for k, text in enumerate(group))
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            first += len(group)


def main() -> None:
    """Write one corpus as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True, help="a .parquet or .jsonl file")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--kind", choices=KINDS, default="clusters")
    parser.add_argument("--mean-length", type=float, default=2_750, help="mean characters of a document")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.output.suffix not in (".parquet", ".jsonl"):
        parser.error(f"--output must end in .parquet or .jsonl, not {given.output.name}")
    write(Recipe(given.documents, given.kind, given.mean_length, given.seed), given.output)


if __name__ == "__main__":
    main()
