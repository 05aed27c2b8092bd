"""A source whose rows are the units of another one's documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Texts
from neardup.documents import Batch, Inputs, Problems, Source, choose_columns, document_ids, document_texts
from neardup.engines.core.documents import InputColumns
from neardup.engines.local.units.split import UnitRule, split_units, unit_texts
from neardup.errors import InputError

OWN_ID = "id"  # where documents have none


class UnitSource:
    """The units of a source's documents: id#number, the text of the unit, and the document's other columns."""

    def __init__(self, source: Source, columns: InputColumns, rule: UnitRule) -> None:
        self.source, self.rule, self.columns = source, rule, columns
        self.rows: int | None = None
        names = source.names()
        self.text, self.identity = choose_columns(names, text=columns.text, id=columns.id, source=source.name)
        if columns.is_html(self.text) and names:
            raise InputError(
                f"{source.name}: column {self.text!r} is HTML, whose parts cannot be cut out: compare documents, "
                "or take the column as plain text with --no-html"
            )

    def __getattr__(self, name: str) -> Any:
        """Name, path, size and the like are those of the source; not its shortcuts past the documents."""
        if name in ("source", "read_from", "read_rest"):
            raise AttributeError(name)
        return getattr(self.source, name)

    def names(self) -> list[str]:
        """The columns of the source, and ids."""
        names = self.source.names()
        return names if self.identity is not None or not names else [*names, OWN_ID]

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """Batches of units in plain types."""
        wanted = list(columns or self.names())
        own = [name for name in dict.fromkeys([self.text, *wanted]) if name in self.source.names()]
        for batch in self.source.read(own, problems):
            array = document_texts(batch, self.text, problems)
            texts = Texts.from_arrow(array)
            units = split_units(texts, self.rule)
            rows = pa.array(units.document)
            ids = document_ids(batch, self.identity, problems).cast(pa.large_string()).take(rows)
            made = {
                self.identity or OWN_ID: _joined(ids, units.number),
                self.text: unit_texts(texts, units).to_arrow(pa.large_string()),
            }
            arrays = [
                made[name] if name in made else batch.columns.column(name).take(rows) for name in wanted
            ]
            if len(units):
                table = pa.RecordBatch.from_arrays(arrays, names=wanted)
                yield Batch(batch.source, batch.numbers[units.document], table, None, batch.format)


def _joined(ids: Any, numbers: Any) -> Any:
    parts = (ids, pa.array(numbers + 1).cast(pa.large_string()), pa.scalar("#", pa.large_string()))
    return pc.binary_join_element_wise(*parts).cast(pa.string())


def unit_inputs(sources: Inputs, columns: InputColumns, rule: UnitRule) -> Inputs:
    """The sources, whose documents are their units."""
    found: list[Any] = [UnitSource(source, columns, rule) for source in sources]
    return Inputs(found, sources.notes)
