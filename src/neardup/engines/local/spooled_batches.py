"""The documents of the input again, with texts from the work folder: decoding texts is most of reading a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from neardup.documents import LateBatch, Problems, Source
from neardup.engines.local.checkpoint.texts import Spool


def can_skip_texts(sources: Sequence[Source], column: str) -> bool:
    """Whether all sources can be read without the column, which has texts and nothing else."""
    return all(hasattr(source, "read_rest") and _is_text(source.schema(), column) for source in sources)


def _is_text(schema: pa.Schema, column: str) -> bool:
    kinds = [field.type for field in schema if field.name == column]
    return len(kinds) == 1 and (pa.types.is_string(kinds[0]) or pa.types.is_large_string(kinds[0]))


def spooled_batches(
    sources: Sequence[Any], column: str, spool: Spool, problems: Problems
) -> Iterator[LateBatch]:
    """All documents again, as they stand in their files."""
    done = 0
    for source in sources:
        schema = source.schema()
        place = schema.get_field_index(column)
        for rest in source.read_rest(column, problems):
            yield LateBatch(rest, schema.field(place), place, spool, done)
            done += len(rest)
