"""Pairs to look at: of the examples of all blocks of clusters the ones that are shown, with their texts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.core.pair_examples import EXAMPLES, PairExample, shown_text
from neardup.engines.spark.cluster_block import SUMMARY
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS
from neardup.engines.spark.shuffle.side_files import read_side_file, rows_at

Row = list[Any]  # left and right id, similarity, left and right place


def example_pairs(
    result: DataFrame, documents: DataFrame, most: int = EXAMPLES
) -> tuple[list[PairExample], list[PairExample]]:
    """The closest pairs of distinct texts, and of the others those nearest to the threshold, as the local engine."""
    summaries = result.where(f"kind = {SUMMARY}").select("reason").collect()
    rows: list[Row] = [row for summary in summaries for row in json.loads(summary["reason"])["pairs"]]
    closest = sorted(rows, key=lambda row: (-row[2], row[0], row[1]))[:most]
    others = [row for row in rows if row not in closest]
    lowest = sorted(others, key=lambda row: (row[2], row[0], row[1]))[:most][::-1]
    texts = _texts(documents, [*closest, *lowest])
    return [_example(row, texts) for row in closest], [_example(row, texts) for row in lowest]


def _example(row: Row, texts: dict[int, str]) -> PairExample:
    left, right, similarity, *places = row
    return PairExample(left, right, similarity, *(shown_text(texts[place]) for place in places))


def _texts(documents: DataFrame, rows: list[Row]) -> dict[int, str]:
    """The texts of a few documents, by place."""
    places = np.unique(np.array([row[3:] for row in rows], np.int64))
    chunks = np.unique(places >> ROW_BITS).tolist()
    if not chunks:
        return {}
    found: dict[int, str] = {}
    stored = documents.where(f.col("chunk").isin(chunks)).select("chunk", "text").toArrow()
    for chunk, value in zip(stored["chunk"].to_pylist(), stored["text"], strict=True):
        here = places[places >> ROW_BITS == chunk]
        texts = rows_at(read_side_file(value), here)["text"].to_pylist()
        found |= dict(zip(here.tolist(), texts, strict=True))
    return found
