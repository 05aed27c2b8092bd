"""The documents of the input again, with texts from the work folder: decoding texts is most of reading a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents import Batch, Problems, Source
from neardup.engines.local.checkpoint.texts import GAP, Spool

FEW = 1 << 12  # bytes between texts that are read in one go, where few of a batch are read


class SpooledBatch(Batch):
    """Rows whose texts are read when rows are chosen, in the thread that chooses them."""

    def __init__(self, rest: Batch, field: pa.Field[Any], place: int, spool: Spool, first: int) -> None:
        """The columns but the texts; the place of these among the columns, and of the first one in the spool."""
        self.__dict__.update(source=rest.source, numbers=rest.numbers, raw=None, format=rest.format)
        self.__dict__.update(_rest=rest, _field=field, _place=place, _spool=spool, _first=first)

    @property
    def columns(self) -> pa.RecordBatch:  # type: ignore[override]
        """All columns, with the texts."""
        return self.chosen(None)

    @property
    def nbytes(self) -> int:
        """The bytes of all columns in memory."""
        begin, end = self._spool.offsets[[self._first, self._first + len(self)]]
        return int(self._rest.nbytes) + int(end - begin)

    def chosen(self, rows: Numbers | None) -> pa.RecordBatch:
        """The columns of some rows (None: of all)."""
        if rows is None or len(rows) == len(self):
            texts = self._spool.read_range(self._first, self._first + len(self))
        else:
            texts = self._spool.read(self._first + rows, FEW if 2 * len(rows) < len(self) else GAP)
        array = texts.to_arrow(self._field.type)
        return self._rest.chosen(rows).add_column(self._place, self._field, array)


def can_skip_texts(sources: Sequence[Source], column: str) -> bool:
    """Whether all sources can be read without the column, which has texts and nothing else."""
    return all(hasattr(source, "read_rest") and _is_text(source.schema(), column) for source in sources)


def _is_text(schema: pa.Schema, column: str) -> bool:
    kinds = [field.type for field in schema if field.name == column]
    return len(kinds) == 1 and (pa.types.is_string(kinds[0]) or pa.types.is_large_string(kinds[0]))


def spooled_batches(
    sources: Sequence[Any], column: str, spool: Spool, problems: Problems
) -> Iterator[SpooledBatch]:
    """All documents again, as they stand in their files."""
    done = 0
    for source in sources:
        schema = source.schema()
        place = schema.get_field_index(column)
        for rest in source.read_rest(column, problems):
            yield SpooledBatch(rest, schema.field(place), place, spool, done)
            done += len(rest)
