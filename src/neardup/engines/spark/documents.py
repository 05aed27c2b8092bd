"""The first stage: documents in chunks of up to 65,536, one Spark row for each chunk.

identity        two 64-bit hashes of the id, two of the text, number of tokens
attributes      id, position, length, and the columns that the keep policy and the unit of document frequency read
text            the texts
representation  present, keys and slots; null if the plan needs distinct texts or document frequencies first
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.columns import Numbers, Texts
from neardup.documents import Batch, Problems, document_ids, plain_column
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.engines.core.documents import TextColumns, compared_texts
from neardup.engines.core.identity import id_digests
from neardup.engines.core.report import problem_counts
from neardup.engines.core.represent import chunks, describe, needs_distinct_texts_first, represent
from neardup.engines.spark.io.columns import KEY, DocumentColumns
from neardup.engines.spark.io.problems import InputProblems, ProblemCounts
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, partition_number, signed
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, pack
from neardup.engines.spark.shuffle.side_files import SideFiles
from neardup.errors import InputError
from neardup.plan import Plan

CHUNK = (
    "chunk long, documents long, without_tokens long, without_features long, bytes long, problems string, "
    "identity binary, attributes binary, text binary, representation binary"
)
CHUNK_BITS = 24  # low bits of a chunk number: its number in the task; the partition is above them


def read_documents(
    plan: Plan,
    frame: DataFrame,
    columns: DocumentColumns,
    side_files: SideFiles,
    input_problems: InputProblems,
) -> DataFrame:
    """CHUNK: all documents; texts and attributes go to side files."""
    return in_arrow(
        frame.select(*columns.selected), _ChunkWriter(plan, columns, side_files, input_problems), CHUNK
    )


@dataclass(frozen=True)
class _ChunkWriter:
    """Turns batches of the input into chunks."""

    plan: Plan
    columns: DocumentColumns
    side_files: SideFiles
    input_problems: InputProblems

    def __call__(self, batches: Batches) -> Batches:
        # Chunk numbers are unique, because Spark keeps one attempt of a task.
        partition = partition_number()
        number = partition << CHUNK_BITS
        with self.side_files.opened(partition) as store:
            for batch in batches:
                for start in range(0, batch.num_rows, 1 << ROW_BITS):
                    yield self._chunk(number, batch.slice(start, 1 << ROW_BITS), store)
                    number += 1

    def _chunk(self, number: int, batch: pa.RecordBatch, store: Callable[[Any], bytes]) -> pa.RecordBatch:
        problems = self.input_problems.located()
        texts, ids, attributes = self._columns_of(batch, problems)
        whole = Texts.from_arrow(texts)
        representation = stacked([self._represent(part) for _, part in chunks(whole)])
        described = describe(whole)
        tokens = representation.pop("tokens").to_numpy()
        id_hash, second_hash = hash_ids(ids)
        digests = [signed(described[name].to_numpy()) for name in ("low", "high")]
        identity = {"id_hash": id_hash, "second_hash": second_hash}
        identity |= {"digest_a": digests[0], "digest_b": digests[1], "tokens": tokens}
        without_features = 0
        if representation:
            without_features = int(
                (~representation["present"].to_numpy(zero_copy_only=False) & (tokens > 0)).sum()
            )
            representation = {"id_hash": pa.array(id_hash), **representation}
        row = {
            "chunk": number,
            "documents": len(whole),
            "without_tokens": int((tokens == 0).sum()),
            "without_features": without_features,
            "bytes": whole.size,
            "problems": json.dumps(problem_counts(problems)) if problems.total else None,
            "identity": pack(identity),
            "attributes": store({"id": ids, "length": described["length"], **attributes}),
            "text": store({"text": texts}),
            "representation": pack(representation) if representation else None,
        }
        types = dict.fromkeys(("identity", "attributes", "text", "representation"), pa.binary())
        types["problems"] = pa.string()
        return pa.RecordBatch.from_pydict(
            {name: pa.array([value], types.get(name, pa.int64())) for name, value in row.items()}
        )

    def _columns_of(
        self, batch: pa.RecordBatch, problems: Problems
    ) -> tuple[pa.Array, pa.Array, dict[str, pa.Array]]:
        """The texts to compare, ids, and other attributes of documents."""
        columns = self.columns
        n = batch.num_rows
        place = batch.column(columns.position) if columns.position else pa.array(np.zeros(n, np.int64))
        given = Batch("the DataFrame", place.to_numpy(), batch)
        if batch.column(KEY).null_count:
            raise InputError("Some documents have no id: give each of them one.")
        ids = document_ids(given, KEY)
        read = TextColumns(columns.text, columns.fields, columns.html, columns.html_text)
        texts = compared_texts(self.plan, given, read, problems)
        attributes = {"position": place}
        if columns.value is not None:
            attributes["value"] = batch.column(columns.value)
        if columns.group is not None:
            attributes["group"] = plain_column(given, columns.group).cast(pa.string())
        return texts, ids, attributes

    def _represent(self, texts: Texts) -> dict[str, pa.Array]:
        if needs_distinct_texts_first(self.plan):  # exact copies only need the number of tokens
            tokens = self.plan.text(texts, details=False)
            return {"tokens": pa.array(np.diff(tokens.offsets))}
        return representation_columns(represent(self.plan, texts))


def text_problems(documents: DataFrame) -> ProblemCounts:
    """Problems with texts: their number by kind, and the first in the order of chunks."""
    chunks = documents.where("problems is not null")
    by_kind = f.from_json("problems", "counts map<string, bigint>").counts
    each = chunks.select(f.explode(by_kind).alias("kind", "count"))
    counts = each.groupBy("kind").agg(f.sum("count").alias("total")).orderBy("kind").collect()
    rows = chunks.orderBy("chunk").limit(KEPT_PROBLEMS).select("problems").collect()
    first = [problem for row in rows for problem in json.loads(row["problems"])["first"]]
    found = {row["kind"]: row["total"] for row in counts}
    return {"total": sum(found.values()), "counts": found, "first": first[:KEPT_PROBLEMS]}


def hash_ids(ids: pa.Array) -> tuple[Numbers, Numbers]:
    """The id hash of the local engine, and a second hash that detects collisions of the first."""
    digests = id_digests(ids)
    return signed(digests[:, 0]), signed(digests[:, 1])


def representation_columns(representation: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns of a representation without features, which are stored separately."""
    names = ("tokens", "present", "slots")
    return {
        name: values for name, values in representation.items() if name in names or name.startswith("key")
    }


def stacked(parts: list[dict[str, pa.Array]]) -> dict[str, Any]:
    """The concatenated columns of several parts."""
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
