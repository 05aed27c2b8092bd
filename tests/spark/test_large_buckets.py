"""Very many equal or nearly equal documents: the work stays linear."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup

pytestmark = pytest.mark.slow
MANY = 200_000


def test_two_hot_buckets(spark, tmp_path):
    """200,000 identical documents, and as many that differ from them in one word: one cluster, four pivots."""
    from neardup import spark as engine

    base = " ".join(f"word{k}" for k in range(80))
    texts = [base] * MANY + [base.replace("word40 ", f"u{k} ") for k in range(MANY)]
    pq.write_table(
        pa.table({"id": range(2 * MANY), "text": texts}), tmp_path / "corpus.parquet", row_group_size=50_000
    )
    result = engine.dedup(spark.read.parquet(str(tmp_path / "corpus.parquet")))
    expected, report = neardup.dedup(tmp_path / "corpus.parquet").report, result.report
    for name in ("documents", "kept", "clusters", "exact_copies"):
        assert report[name] == expected[name], name
    for name in ("count", "largest", "above_limit", "pairs_skipped"):
        assert report["buckets"][name] == expected["buckets"][name], name
    assert report["pairs"]["verified"] == expected["pairs"]["verified"]
    assert report["buckets"]["largest"] > MANY // 2 and report["clusters"] == 1
    # Linear: a document of a hot bucket is compared with a few pivots in each table.
    assert report["pairs"]["candidates"] < 40 * MANY
