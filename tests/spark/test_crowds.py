"""Very many documents that are equal, or nearly: the work stays linear."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow
MANY = 200_000


def test_two_crowds(spark, tmp_path):
    """200,000 identical documents, and as many that differ from them in one word: one cluster, four pivots."""
    from neardup import spark as engine

    base = " ".join(f"word{k}" for k in range(80))
    texts = [base] * MANY + [base.replace("word40 ", f"u{k} ") for k in range(MANY)]
    pq.write_table(
        pa.table({"id": range(2 * MANY), "text": texts}), tmp_path / "crowds.parquet", row_group_size=50_000
    )
    result = engine.dedup(spark.read.parquet(str(tmp_path / "crowds.parquet")))
    report = result.report
    assert (report["kept"], report["clusters"], report["exact_copies"]) == (1, 1, MANY - 1)
    assert report["buckets"]["largest"] > MANY // 2
    # Linear: a document of a crowd meets its pivots, a few in each of its tables, not all others.
    assert report["pairs"] < 40 * MANY
    assert result.clusters.where("size != 400000").isEmpty()
