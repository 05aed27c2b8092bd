"""Documents one after the other, from an iterator or a dataset of Hugging Face, in chunks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from neardup.documents import Problems
from neardup.documents.memory import MemorySource
from neardup.index.inputs import AttributeColumns, InputChunk, input_chunks, opened_inputs, with_policy
from neardup.plan import Plan

BATCH = 8192  # documents that are in memory together


def is_stream(documents: Any) -> bool:
    """Whether documents are read once and never as a whole."""
    if type(documents).__module__.partition(".")[0] == "datasets":
        return hasattr(documents, "__iter__") and not isinstance(documents, Mapping)
    return isinstance(documents, Iterator) and not hasattr(documents, "__arrow_c_stream__")


def streamed_chunks(
    plan: Plan,
    documents: Any,
    columns: Mapping[str, Any],
    attributes: AttributeColumns | None = None,
    problems: Problems | None = None,
    first_number: int = 0,
) -> Iterator[InputChunk]:
    """The documents in order; those without ids are numbered from `first_number` on."""
    policy = columns.get("duplicate_ids", "replace")
    read = _chunks(plan, iter(documents), columns, attributes or AttributeColumns(), problems, first_number)
    yield from with_policy(read, policy)


def _chunks(
    plan: Plan,
    documents: Iterator[Any],
    columns: Mapping[str, Any],
    attributes: AttributeColumns,
    problems: Problems | None,
    first_number: int,
) -> Iterator[InputChunk]:
    problems, done = problems or Problems(), 0
    while batch := list(islice(documents, BATCH)):
        sources, how = opened_inputs(iter(batch), columns)  # of an iterator no item is taken for a path
        numbered = [replace(one, first=done + 1) for one in sources if isinstance(one, MemorySource)]
        yield from input_chunks(plan, numbered, how, attributes, problems, first_number)
        done += len(batch)
