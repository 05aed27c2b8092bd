"""Query frequencies of k-grams, from a table of queries."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from neardup.columns import Hashes, Numbers, Texts
from neardup.documents import Problems, open_inputs
from neardup.errors import InputError
from neardup.features.shingles import Shingles
from neardup.learn.model.queries import pack_queries
from neardup.text.words import TokenKind, Words

TEXTS = ("query", "text", "term", "phrase")
COUNTS = ("count", "frequency", "n")


def read_queries(path: str | os.PathLike[str], ngram: int = 1, tokens: TokenKind = "words") -> str:
    """The packed k-gram frequencies of a table (csv, tsv, jsonl or parquet) of queries and counts."""
    if not Path(path).is_file():
        raise InputError(
            f"{path} does not exist; it must be a table with a column 'query' and optionally 'count'"
        )
    queries: list[str] = []
    counts: list[float] = []
    for source in open_inputs([path]):
        names = source.names()
        text = next((name for name in TEXTS if name in names), None)
        if text is None:
            raise InputError(
                f"{path} has no query column ({', '.join(TEXTS)}); its columns are {', '.join(names)}"
            )
        number = next((name for name in COUNTS if name in names), None)
        for batch in source.read([name for name in (text, number) if name], Problems(strict=True)):
            queries += ["" if one is None else str(one) for one in batch.columns.column(text).to_pylist()]
            values = batch.columns.column(number).to_pylist() if number else [1] * len(batch)
            counts += [_count(path, value) for value in values]
    packed = pack_texts(queries, np.array(counts, np.float64), ngram, tokens)
    if not packed:
        raise InputError(f"{path} has no query of {ngram} or more tokens with a count above 0")
    return packed


def pack_texts(queries: list[str], counts: np.ndarray, ngram: int = 1, tokens: TokenKind = "words") -> str:
    """The packed k-gram frequencies of queries; empty if none has `ngram` tokens and a count above 0."""
    return pack_queries(*_add_up(queries, counts, ngram, tokens))


def _count(path: str | os.PathLike[str], value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < 2**53:
        raise InputError(f"{path} has the frequency {value!r}, which must be a number from 0 upwards")
    return number


def _add_up(queries: list[str], counts: np.ndarray, ngram: int, tokens: TokenKind) -> tuple[Hashes, Numbers]:
    """The k-grams of all queries of `ngram` tokens or more, and their frequencies."""
    found = Words(tokens)(Texts.from_strings(queries))
    grams = Shingles(ngram)(found)
    times = np.repeat(np.where(np.diff(found.offsets) >= ngram, counts, 0.0), grams.sizes)
    hashes, places = np.unique(grams.hashes, return_inverse=True)
    totals = np.rint(np.bincount(places, times, len(hashes))).astype(np.int64)
    return hashes[totals > 0], totals[totals > 0]
