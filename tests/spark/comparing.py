"""Both engines over the same documents, in a form that can be compared."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import neardup
from corpora import rows


def local_result(table: pa.Table, **options: Any) -> dict[str, Any]:
    """What the local engine finds and decides."""
    result = neardup.dedup(table, threads=1, duplicate_ids="error", **options)
    return {
        "pairs": rows(result.pairs),
        "clusters": rows(result.clusters),
        "kept": sorted(result.kept["id"].to_pylist()),
        "removed": sorted(result.removed["id"].to_pylist()),
    }


def spark_result(frame: Any, **options: Any) -> dict[str, Any]:
    """What the Spark engine finds and decides."""
    from neardup import spark

    result = spark.dedup(frame, **options)
    return {
        "pairs": rows(result.pairs.toArrow()),
        "clusters": rows(result.clusters.toArrow()),
        "kept": sorted(result.kept.select("id").toArrow()["id"].to_pylist()),
        "removed": sorted(result.removed.select("id").toArrow()["id"].to_pylist()),
    }
