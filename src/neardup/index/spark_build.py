"""Documents signed on Spark for an index: workers read and sign files, this process stores their documents.

A file is one task, and its documents arrive in the order of a build on one machine: the index is the same. Rows pass
through a folder that workers and this process see, so that no machine holds more than a few megabytes of them.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents import Problem, Problems, Source
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import InputError, ParameterError
from neardup.index.bulk import PreparedChunk, prepared
from neardup.index.inputs import AttributeColumns, input_chunks
from neardup.index.postings import Postings
from neardup.index.signed import Signer
from neardup.index.truth import Attributes, NewRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from neardup.engines.spark.shuffle.arrow import Batches

CHUNK = "rows binary, postings binary, problems string"  # the last one of a file has its problems
MOST_TASKS = 10_000  # more files share tasks


@dataclass(frozen=True)
class _FileSigner:
    """Signs the documents of files, by number."""

    sources: Sequence[Source]
    columns: InputColumns
    attributes: AttributeColumns
    signer: Signer
    strict: bool

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from self._chunks([self.sources[number]])

    def _chunks(self, one: Sequence[Source]) -> Batches:
        problems = Problems(strict=self.strict)
        for chunk in input_chunks(self.signer.plan, one, self.columns, self.attributes, problems):
            made = prepared(self.signer, chunk)
            yield _row(_packed_rows(made.rows), _packed_postings(made.postings), None)
        if problems.total:
            found = {"counts": problems.counts, "first": [asdict(problem) for problem in problems.first]}
            yield _row(None, None, json.dumps(found))


def signed_on_spark(
    spark: SparkSession,
    signer: Signer,
    sources: Sequence[Source],
    columns: InputColumns,
    attributes: AttributeColumns,
    problems: Problems,
    work_dir: str | os.PathLike[str] | None,
    progress: Progress,
) -> Iterator[PreparedChunk]:
    """The documents of all sources, signed by Spark's workers, in order; their problems are added to `problems`."""
    from neardup.engines.spark.session.failures import translated
    from neardup.engines.spark.shuffle.arrow import in_arrow

    if any(source.format == "memory" or source.name == "stdin" for source in sources):
        raise InputError("Spark's workers read files: write standard input or data in memory to files first.")
    master = str(spark.sparkContext.master)
    if work_dir is None and not master.startswith("local"):
        expected = f"a folder that this machine and all workers of {master} see"
        raise ParameterError("work_dir", "the Spark engine", expected, None)
    folder = Path(tempfile.mkdtemp(prefix=".neardup-signed-", dir=work_dir))
    try:
        numbers = spark.range(0, len(sources), 1, min(len(sources), MOST_TASKS))
        work = _FileSigner(list(sources), columns, attributes, signer, problems.strict)
        with progress.stage("sign on Spark"), translated(str(folder)):
            in_arrow(numbers, work, CHUNK).write.mode("overwrite").parquet(f"file://{folder.absolute()}/rows")
        for path in sorted((folder / "rows").glob("part-*.parquet")):
            yield from _stored_chunks(path, problems)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stored_chunks(path: Path, problems: Problems) -> Iterator[PreparedChunk]:
    """The chunks of a file that a task has written."""
    from neardup.engines.spark.shuffle.packed_blocks import unpack

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1):
            rows, postings, found = (column[0] for column in batch.columns)
            if found.is_valid:
                _add_problems(problems, json.loads(found.as_py()))
            else:
                yield PreparedChunk(_unpacked_rows(unpack(rows)), _unpacked_postings(unpack(postings)))


def _add_problems(problems: Problems, found: dict[str, Any]) -> None:
    """Take over the problems of a file: the first in full, the others as counts."""
    for kind, count in found["counts"].items():
        problems.counts[kind] = problems.counts.get(kind, 0) + count
    first = [Problem(**problem) for problem in found["first"]]
    problems.first += first[: KEPT_PROBLEMS - len(problems.first)]


def _row(rows: bytes | None, postings: bytes | None, problems: str | None) -> pa.RecordBatch:
    columns = [pa.array([rows], pa.binary()), pa.array([postings], pa.binary()), pa.array([problems])]
    return pa.RecordBatch.from_arrays(
        [*columns[:2], columns[2].cast(pa.string())], ["rows", "postings", "problems"]
    )


def _packed_rows(rows: NewRows) -> bytes:
    from neardup.engines.spark.shuffle.packed_blocks import pack

    attributes = [None if one is None else json.dumps(asdict(one)) for one in rows.attributes]
    return pack(
        {
            "id": pa.array([str(name) for name in rows.ids], pa.large_string()),
            "number": pa.array([isinstance(name, int) for name in rows.ids]),
            "low": rows.low,
            "high": rows.high,
            "characters": rows.characters,
            "tokens": rows.tokens,
            "body": pa.array(rows.bodies, pa.large_binary()),
            "signature": pa.array(rows.signatures, pa.large_binary()),
            "attributes": pa.array(attributes, pa.string()),
        }
    )


def _unpacked_rows(table: pa.Table) -> NewRows:
    numbers, names = table["number"].to_pylist(), table["id"].to_pylist()
    return NewRows(
        [int(name) if number else name for name, number in zip(names, numbers, strict=True)],
        table["low"].to_numpy(),
        table["high"].to_numpy(),
        table["characters"].to_numpy(),
        table["tokens"].to_numpy(),
        table["body"].to_pylist(),
        table["signature"].to_pylist(),
        [None if one is None else _attributes(json.loads(one)) for one in table["attributes"].to_pylist()],
    )


def _attributes(found: dict[str, Any]) -> Attributes:
    access = found.pop("access")
    return Attributes(access=None if access is None else tuple(access), **found)


def _packed_postings(postings: Postings) -> bytes:
    from neardup.engines.spark.shuffle.packed_blocks import pack

    return pack({"document": postings.documents.astype(np.int32), "key": postings.keys})


def _unpacked_postings(table: pa.Table) -> Postings:
    return Postings(table["document"].to_numpy().astype(np.int64), table["key"].to_numpy())
