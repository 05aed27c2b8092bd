"""The first stage: all documents in chunks, a row each: what is known of them, and what the plan sees if it can yet.

names   rank (the 64-bit hash of the id), a second hash of the id, digests of the text, number of tokens
facts   id, position, length, and the columns that decisions and populations ask for
text    the texts
seen    present, keys, slots: empty where something must be counted first
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.documents import Batch, Problems, document_ids, document_texts, plain_column
from neardup.engines.core.documents import with_fields
from neardup.engines.core.represent import cut, describe, needs_distinct_texts_first, sign
from neardup.engines.spark.io.columns import KEY, DocumentColumns
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, partition_number, signed
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, pack
from neardup.engines.spark.shuffle.side_files import SideFiles
from neardup.errors import InputError
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNK = (
    "chunk long, documents long, empty long, bytes long, problems string, names binary, facts binary, text binary, "
    "seen binary"
)
CHUNKS_OF_A_TASK = 24  # bits


def read_documents(
    plan: Plan, frame: DataFrame, meaning: DocumentColumns, shelf: SideFiles, strict: bool
) -> DataFrame:
    """Every document, in chunks; texts and facts are on the shelf."""
    return in_arrow(frame.select(*meaning.wanted), _Documents(plan, meaning, shelf, strict), CHUNK)


@dataclass(frozen=True)
class _Documents:
    """Batches of the input to chunks."""

    plan: Plan
    meaning: DocumentColumns
    shelf: SideFiles
    strict: bool

    def __call__(self, batches: Batches) -> Batches:
        # The number of a chunk is its own because only one attempt of a task is ever kept.
        partition = partition_number()
        number = partition << CHUNKS_OF_A_TASK
        with self.shelf.opened(partition) as store:
            for batch in batches:
                for start in range(0, batch.num_rows, 1 << ROW_BITS):
                    yield self._chunk(number, batch.slice(start, 1 << ROW_BITS), store)
                    number += 1

    def _chunk(self, number: int, batch: pa.RecordBatch, store: Callable[[Any], bytes]) -> pa.RecordBatch:
        problems = Problems(strict=self.strict)
        texts, ids, facts = self._known(batch, problems)
        whole = Texts.from_arrow(texts)
        seen = stacked([self._seen(part) for _, part in cut(whole)])
        described = describe(whole)
        tokens = seen.pop("tokens").to_numpy()
        first, second = id_hashes(ids)
        digests = [signed(described[name].to_numpy()) for name in ("low", "high")]
        names = {"rank": first, "second": second, "digest_a": digests[0], "digest_b": digests[1]}
        if seen:
            seen = {"rank": pa.array(first), **seen}
        row = {
            "chunk": number,
            "documents": len(whole),
            "empty": int((tokens == 0).sum()),
            "bytes": whole.size,
            "problems": json.dumps(problems.counts) if problems.counts else None,
            "names": pack({**names, "tokens": tokens}),
            "facts": store({"id": ids, "length": described["length"], **facts}),
            "text": store({"text": texts}),
            "seen": pack(seen) if seen else None,
        }
        kinds = {name: pa.binary() for name in ("names", "facts", "text", "seen")} | {"problems": pa.string()}
        return pa.RecordBatch.from_pydict(
            {name: pa.array([value], kinds.get(name, pa.int64())) for name, value in row.items()}
        )

    def _known(
        self, batch: pa.RecordBatch, problems: Problems
    ) -> tuple[pa.Array, pa.Array, dict[str, pa.Array]]:
        """The texts that are compared, ids, and what the input says of documents."""
        meaning = self.meaning
        given = Batch("the input", np.zeros(batch.num_rows, np.int64), batch)
        if batch.column(KEY).null_count:
            raise InputError("Some documents have no id: give each of them one.")
        ids = document_ids(given, KEY)
        html = meaning.html and not getattr(self.plan.text, "markup", False)
        texts = document_texts(given, meaning.text, problems, html=html, html_text=meaning.html_text)
        texts = with_fields(texts, [plain_column(given, name) for name in meaning.fields])
        place = batch.column(meaning.position) if meaning.position else pa.array(np.zeros(len(ids), np.int64))
        facts = {"position": place}
        if meaning.value is not None:
            facts["value"] = batch.column(meaning.value)
        if meaning.group is not None:
            facts["group"] = plain_column(given, meaning.group).cast(pa.string())
        return texts, ids, facts

    def _seen(self, texts: Texts) -> dict[str, pa.Array]:
        if needs_distinct_texts_first(
            self.plan
        ):  # the tokens tell which documents may be copies of each other
            tokens = self.plan.text(texts, details=False)
            return {"tokens": pa.array(np.diff(tokens.offsets))}
        return seen_columns(sign(self.plan, texts))


def count_problems(documents: DataFrame) -> dict[str, int]:
    """What is wrong with texts, by kind."""
    from pyspark.sql import functions as f

    each = documents.where("problems is not null").select(
        f.explode(f.from_json("problems", "map<string, bigint>")).alias("kind", "count")
    )
    return {
        row["kind"]: row["total"] for row in each.groupBy("kind").agg(f.sum("count").alias("total")).collect()
    }


def id_hashes(ids: pa.Array) -> tuple[Numbers, Numbers]:
    """The rank of each id, as in the local engine, and another hash that tells ids of one rank apart."""
    texts = Texts.from_arrow(ids.cast(pa.large_string()))
    digests = np.empty((len(ids), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, 1, digests)
    return signed(digests[:, 0]), signed(digests[:, 1])


def seen_columns(seen: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """What was seen, but for features, which lie elsewhere."""
    wanted = ("tokens", "present", "slots")
    return {name: values for name, values in seen.items() if name in wanted or name.startswith("key")}


def stacked(parts: list[dict[str, pa.Array]]) -> dict[str, Any]:
    """Columns of several parts, one behind the other."""
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
