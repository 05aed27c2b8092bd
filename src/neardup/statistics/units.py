"""The unit of document frequency: documents that count as one, however many of them have a feature.

A large cluster of near-duplicates makes its own phrases look common, and loses their weight. If a cluster of a first
pass, or a host, counts once, only phrases that unrelated documents share are common.

    texts           every distinct text (the default)
    clusters        every cluster of near-duplicates that a first pass finds, except that the pages of a template
                    group count one by one (see template_groups)
    column:NAME     every value of a column; documents without a value count one by one
    host:NAME       every host of the addresses in a column
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

import numpy as np

from neardup.columns import Numbers
from neardup.errors import ParameterError

PLAIN = ("texts", "clusters")


def parse_df_unit(text: str) -> str:
    """The unit as a plan stores it, from what a user wrote: a bare name is the name of a column."""
    kind, colon, name = text.partition(":")
    if text in PLAIN or (colon and kind in ("column", "host") and name):
        return text
    if text and not (colon and kind in ("column", "host")):
        return f"column:{text}"
    raise ParameterError("df_unit", "neardup", "texts, clusters, COLUMN or host:COLUMN", text)


def unit_column(df_unit: str) -> str | None:
    """The column that names the unit of each document, if a column does."""
    return None if df_unit in PLAIN else df_unit.partition(":")[2]


def units_by_value(df_unit: str, values: Iterable[str | None]) -> Numbers:
    """The number of each document's unit: equal where its column has the same value, or the same host."""
    texts = list(values)
    if df_unit.startswith("host:"):
        texts = [None if text is None else host_of(text) for text in texts]
    known: dict[str, int] = {}
    numbers = np.empty(len(texts), np.int64)
    for place, text in enumerate(texts):
        numbers[place] = known.setdefault(text or f"\0{place}", len(known))
    return numbers


def host_of(address: str) -> str | None:
    """The host of an address, without www."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname
    except ValueError:
        return None
    return host.removeprefix("www.") if host else None


def by_document(stage: object) -> bool:
    """Whether a stage's features are counted once per document; passages are units of their own."""
    return not getattr(stage, "passages", False)
