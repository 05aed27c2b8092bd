"""Documents of any input in chunks: texts, ids and attributes, as an index adds and asks about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from neardup.clusters.keep import moment
from neardup.columns import Hashes, Texts
from neardup.documents import (
    LIMITS,
    Batch,
    Limits,
    Problems,
    Source,
    choose_columns,
    document_ids,
    plain_column,
    watched,
)
from neardup.documents.document_columns import require_column
from neardup.documents.given import as_inputs
from neardup.engines.core.documents import InputColumns, TextColumns, compared_texts, plan_fields
from neardup.engines.core.identity import hash_ids, repeated_ids
from neardup.engines.core.represent import chunks
from neardup.errors import InputError, ParameterError
from neardup.index.truth import Attributes, Id
from neardup.plan import Plan


@dataclass(frozen=True)
class AttributeColumns:
    """The columns of the attributes that decisions use; None: no column."""

    access: str | None = None
    quality: str | None = None
    time: str | None = None
    url: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [name for name in (self.access, self.quality, self.time, self.url) if name is not None]

    def read(self, batch: Batch, ids: Sequence[Id]) -> list[Attributes | None]:
        """The attributes of each document of a batch; None without a column."""
        if not self.names:
            return [None] * len(batch)
        nothing = [None] * len(batch)
        access, quality, time, url = (
            nothing if name is None else plain_column(batch, name).to_pylist()
            for name in (self.access, self.quality, self.time, self.url)
        )
        return [
            Attributes(
                read_access(access[n]),
                read_quality(quality[n], ids[n]),
                None if time[n] is None else moment(time[n]),
                None if url[n] is None else str(url[n]),
            )
            for n in range(len(batch))
        ]


def read_access(value: Any) -> tuple[str, ...] | None:
    """Groups with access, sorted, from a list (also as JSON) or from names separated by commas.

    No value means everybody, an empty list nobody.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    parts = (
        value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    )
    return tuple(sorted({str(part).strip() for part in parts if part is not None and str(part).strip()}))


def read_quality(value: Any, document: object) -> float | None:
    """A number, or None without a value; other values are refused."""
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number != number:
        raise InputError(f"The quality of document {document!r} is {value!r}, which is not a number.")
    return number


@dataclass(frozen=True)
class InputChunk:
    """Some documents of an input."""

    texts: Texts
    ids: Sequence[Id]
    attributes: Sequence[Attributes | None] = field(default_factory=list)

    def parts(self, most: int) -> Iterator[InputChunk]:
        """The same in chunks of at most so many documents."""
        for start in range(0, len(self.ids), most):
            ids = self.ids[start : start + most]
            texts = self.texts.slice(start, start + len(ids))
            yield InputChunk(texts, ids, self.attributes[start : start + most])


def input_chunks(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns,
    attributes: AttributeColumns,
    problems: Problems,
    first_number: int = 0,
) -> Iterator[InputChunk]:
    """The documents of the sources, about a megabyte of text at a time.

    Documents of a list in memory that have no ids are numbered from `first_number` on.
    """
    numbered = len(sources) == 1 and sources[0].format == "memory"
    for source in sources:
        names = source.names()
        text, identity = choose_columns(names, text=columns.text, id=columns.id, source=source.name)
        fields = plan_fields(plan)
        for name in (*attributes.names, *(fields if names else ())):
            require_column(name, names, source.name)
        asked = dict.fromkeys([text, *([identity] if identity else []), *fields, *attributes.names])
        how = TextColumns(text, fields, columns.is_html(text), columns.html_text)
        for batch in watched(source, list(asked), problems, 0):
            array = compared_texts(plan, batch, how, problems)
            ids = _ids(batch, identity, problems, first_number if numbered else None)
            values, texts = attributes.read(batch, ids), Texts.from_arrow(array)
            for start, part in chunks(texts):
                some = slice(start, start + len(part))
                yield InputChunk(part, ids[some], values[some])


def _ids(batch: Batch, identity: str | None, problems: Problems, first_number: int | None) -> list[Id]:
    if identity is None and first_number is not None:
        return (np.asarray(batch.numbers) - 1 + first_number).tolist()
    found = document_ids(batch, identity, problems)
    if not pa.types.is_integer(found.type):
        found = found.cast(pa.string())
    return found.to_pylist()


def opened_inputs(documents: Any, columns: Mapping[str, Any]) -> tuple[Sequence[Source], InputColumns]:
    """The sources and columns of documents in memory or in files.

    Of documents with one id the last wins, unless duplicate_ids is "error".
    """
    rest = dict(columns)
    limits: Limits = rest.pop("limits", LIMITS)
    html_text = rest.pop("html_text", "article")
    sources, _ = as_inputs(
        documents, rest.pop("format", None), limits, rest.pop("unescape_formulas", False), html_text
    )
    text, identity, html = (rest.pop(name, None) for name in ("text_column", "id_column", "html"))
    how = InputColumns(text, identity, html, rest.pop("duplicate_ids", "replace"), html_text)
    if rest:
        raise ParameterError(
            next(iter(rest)), "an index", "left out: it is not known", next(iter(rest.values()))
        )
    return sources, how


def checked_ids(ids: Any) -> list[Id]:
    """Ids as a list; refuses a text, whose characters nobody means, and what has no items."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise InputError(f"Ids are given as a list of strings or integers, not as {type(ids).__name__}.")
    return list(ids)


class _WithIds(Protocol):
    @property
    def ids(self) -> Sequence[Id]: ...


Chunk = TypeVar("Chunk", bound=_WithIds)


def unique_ids(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The same chunks; refuses an id that occurred before, in this chunk or an earlier one."""
    known: list[Hashes] = []  # sorted, each at least twice as long as the next: few, and 8 bytes an id
    for chunk in chunks:
        _, hashes = hash_ids(pa.array([str(name) for name in chunk.ids], pa.string()), "error")
        again = np.zeros(len(hashes), np.bool_)
        for some in known:
            place = np.minimum(np.searchsorted(some, hashes), len(some) - 1)
            again |= some[place] == hashes
        if again.any():
            names = [repr(chunk.ids[n]) for n in np.flatnonzero(again)[:3].tolist()]
            raise InputError(repeated_ids(int(again.sum()), names))
        known.append(np.sort(hashes))
        while len(known) > 1 and len(known[-2]) < 2 * len(known[-1]):
            known[-2:] = [np.sort(np.concatenate(known[-2:]))]
        yield chunk


def renamed_ids(chunks: Iterable[InputChunk]) -> Iterator[InputChunk]:
    """The same chunks; the second and later documents of an id have #2, #3 … appended."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for chunk in chunks:
        names: list[Id] = []
        for name in chunk.ids:
            unique = str(name)
            while unique in taken:
                counts[str(name)] = counts.get(str(name), 1) + 1
                unique = f"{name}#{counts[str(name)]}"
            taken.add(unique)
            names.append(name if unique == str(name) else unique)
        yield replace(chunk, ids=names)


def with_policy(chunks: Iterable[InputChunk], duplicate_ids: str) -> Iterable[InputChunk]:
    """The chunks with repeated ids refused ("error"), renamed ("rename"), or as they are ("replace")."""
    policies: dict[str, Callable[[Iterable[InputChunk]], Iterable[InputChunk]]]
    policies = {"error": unique_ids, "rename": renamed_ids, "replace": iter}
    return policies[duplicate_ids](chunks)
