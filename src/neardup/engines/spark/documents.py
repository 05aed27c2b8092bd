"""The first stage: ids, ranks and digests of all documents, and what the plan sees in them if it can be seen yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Signatures, Texts, make_distinct
from neardup.documents import Batch, Problems, choose_columns, document_ids, document_texts, plain_column
from neardup.engines.populations import population_column
from neardup.engines.ranks import _hash_ids
from neardup.engines.reading import Columns, with_fields
from neardup.engines.signing import _as_features, cut, describe, needs_contents_first, sign
from neardup.engines.spark.arrow import Batches, in_arrow, pack_features, ragged, signed
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POSITION = "_neardup_position"  # the place of a document in the input, where there is one
GIVEN_ID = "_neardup_id"  # the id of a document that has none of its own


@dataclass(frozen=True)
class Meaning:
    """Which columns of a DataFrame mean what."""

    text: str
    id: str
    html: bool
    fields: tuple[str, ...]
    value: str | None  # for the keep policy
    group: str | None  # for the population
    position: str | None

    @staticmethod
    def of(plan: Plan, frame: DataFrame, columns: Columns) -> Meaning:
        """The meaning that the plan and the user give them."""
        names = [name for name in frame.columns if name not in (POSITION, GIVEN_ID)]
        text, identity = choose_columns(names, text=columns.text, id=columns.id, source="the DataFrame")
        if GIVEN_ID in frame.columns:
            identity = GIVEN_ID
        if identity is None:
            raise InputError(
                "The DataFrame has no id column (id, doc_id, url, path), and rows of a DataFrame have no "
                "lasting order to number them by: add a column of ids, or name one with id_column."
            )
        html = columns.html if columns.html is not None else text.lower() == "html"
        found = Meaning(
            text,
            identity,
            html,
            tuple(getattr(plan.text, "fields", ())),
            plan.keep.column,
            population_column(plan),
            POSITION if POSITION in frame.columns else None,
        )
        for option, name in [
            ("keep", found.value),
            ("stats_group", found.group),
            *(("fields", f) for f in found.fields),
        ]:
            if name is not None and name not in frame.columns:
                raise InputError(f"The DataFrame has no column {name!r}, which {option} asks for.")
        if plan.keep.policy in ("first", "last") and found.position is None:
            raise InputError(
                f"keep={plan.keep.policy} needs the order of documents, which a DataFrame does not have: "
                "use lowest:COLUMN or highest:COLUMN with a column that numbers them."
            )
        return found

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        names = [self.text, self.id, *self.fields, self.value, self.group, self.position]
        return list(dict.fromkeys(name for name in names if name is not None))


def read_documents(plan: Plan, frame: DataFrame, meaning: Meaning) -> DataFrame:
    """Every document: rank, id, digest, length, text, and its keys where nothing must be counted first."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    later = needs_contents_first(plan)
    schema = {
        "rank": "long", "id": _id_type(types[meaning.id].simpleString()), "position": "long",
        "digest_a": "long", "digest_b": "long", "length": "long", "text": "string",
    }  # fmt: skip
    if meaning.value is not None:
        schema["value"] = types[meaning.value].simpleString()
    if meaning.group is not None:
        schema["group"] = "string"
    schema |= {"tokens": "long"} | ({} if later else SIGNED)
    work = _Documents(plan, meaning, later)
    return in_arrow(frame.select(*meaning.wanted), work, ", ".join(f"`{k}` {v}" for k, v in schema.items()))


SIGNED = {"present": "boolean", "size": "long", "keys": "binary", "slots": "binary"}
FEATURES = {"hashes": "binary", "weights": "binary"}


def _id_type(found: str) -> str:
    return "long" if found in ("tinyint", "smallint", "int", "bigint") else "string"


@dataclass(frozen=True)
class _Documents:
    """Batches of the input to batches of documents."""

    plan: Plan
    meaning: Meaning
    later: bool

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            texts, known = self._known(batch)
            start = 0
            for _, part in cut(Texts.from_arrow(texts)):
                rows = slice(start, start + len(part))
                start += len(part)
                columns = {**{name: each[rows] for name, each in known.items()}, **self._described(part)}
                columns["text"] = texts[rows].cast(pa.string())
                columns |= self._seen(part)
                yield pa.RecordBatch.from_pydict(_ordered(columns))

    def _known(self, batch: pa.RecordBatch) -> tuple[pa.Array, dict[str, pa.Array]]:
        """The texts that are compared, and what the input says of documents."""
        meaning, quiet = self.meaning, Problems()
        given = Batch("input", np.zeros(batch.num_rows, np.int64), batch)
        if batch.column(meaning.id).null_count:
            raise InputError(f"Some documents have no id in column {meaning.id!r}: give each of them one.")
        ids = document_ids(given, meaning.id)
        markup = getattr(self.plan.text, "markup", False)
        texts = document_texts(given, meaning.text, quiet, html=meaning.html and not markup)
        texts = with_fields(texts, [plain_column(given, name) for name in meaning.fields])
        known: dict[str, Any] = {"rank": pa.array(signed(_hash_ids(ids))), "id": ids}
        place = batch.column(meaning.position) if meaning.position else pa.array(np.zeros(len(ids), np.int64))
        known["position"] = place
        if meaning.value is not None:
            known["value"] = batch.column(meaning.value)
        if meaning.group is not None:
            known["group"] = plain_column(given, meaning.group).cast(pa.string())
        return texts, known

    def _described(self, texts: Texts) -> dict[str, Any]:
        found = describe(texts)
        digests = {"digest_a": found["low"], "digest_b": found["high"]}
        columns = {name: pa.array(signed(values.to_numpy())) for name, values in digests.items()}
        return columns | {"length": found["length"]}

    def _seen(self, texts: Texts) -> dict[str, Any]:
        if self.later:  # the tokens tell which documents may be copies of each other
            tokens = self.plan.text(texts, details=False)
            return {"tokens": pa.array(np.diff(tokens.offsets))}
        seen = sign(self.plan, texts)
        return {"tokens": seen["tokens"], **signed_columns(seen)}


def _ordered(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns in the order of the schema: Spark goes by place."""
    first = ["rank", "id", "position", "digest_a", "digest_b", "length", "text", "value", "group", "tokens"]
    return {name: columns[name] for name in [*first, *SIGNED] if name in columns}


def signed_columns(seen: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """What was seen, as columns of a fixed number."""
    n = len(seen["tokens"])
    keys = [values.to_numpy() for name, values in seen.items() if name.startswith("key")]
    slots = seen["slots"].flatten().to_numpy() if "slots" in seen else np.zeros(0, np.uint32)
    return {
        "present": seen["present"],
        "size": seen["features"],
        "keys": ragged(
            np.arange(n + 1) * len(keys), np.stack(keys, axis=1).ravel() if keys else np.zeros(0, np.uint64)
        ),
        "slots": ragged(np.arange(n + 1) * (len(slots) // max(n, 1)), slots),
    }


def sign_contents(plan: Plan, contents: DataFrame, statistics: Any) -> DataFrame:
    """What the plan sees in contents, frequencies being known; and the features that its check looks at.

    `statistics` is a broadcast variable, or None.
    """

    def work(batches: Batches) -> Batches:
        known: Statistics | None = None if statistics is None else statistics.value
        for batch in batches:
            yield from _signed_batch(plan, batch, known)

    schema = {"rank": "long", **SIGNED, **FEATURES}
    wanted = contents.select("rank", "text")
    return in_arrow(wanted, work, ", ".join(f"`{name}` {kind}" for name, kind in schema.items()))


def _signed_batch(
    plan: Plan, batch: pa.RecordBatch, statistics: Statistics | None
) -> Iterator[pa.RecordBatch]:
    start, ranks = 0, batch.column("rank")
    for _, texts in cut(Texts.from_arrow(batch.column("text"))):
        seen = sign(plan, texts, statistics)
        view = plan.check_view or plan.view
        if plan.check_view is None and "hashes" in seen:
            features = make_distinct(_as_features(seen["hashes"], seen.get("weights"), "distinct" in seen))
        else:
            features = make_distinct(view.look(plan.text(texts, details=view.details), statistics))
        yield pa.RecordBatch.from_pydict(
            {
                "rank": ranks.slice(start, len(texts)),
                **signed_columns(seen),
                **pack_features(features),
            }
        )
        start += len(texts)


def unpack_signatures(slots: Any, present: Any) -> Signatures:
    """Signatures again, of documents that all have as many slots."""
    from neardup.engines.spark.arrow import unragged

    offsets, values = unragged(slots, np.uint32)
    n = len(offsets) - 1
    return Signatures(
        values.reshape(n, -1) if n else np.zeros((0, 0), np.uint32), np.asarray(present, np.bool_)
    )
