"""Sources read whole, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.documents import Batch, Problems, open_inputs


def batches(
    path: Any, columns: Any = None, raw: bool = False, **options: Any
) -> tuple[list[Batch], Problems]:
    problems = Problems()
    sources = open_inputs([path], **options)
    return [batch for source in sources for batch in source.read(columns, problems, raw=raw)], problems


def rows(path: Any, columns: Any = None, **options: Any) -> tuple[list[dict[str, Any]], Problems]:
    found, problems = batches(path, columns, **options)
    return [row for batch in found for row in batch.columns.to_pylist()], problems


def numbers(path: Any, columns: Any = None, **options: Any) -> list[int]:
    return [number for batch in batches(path, columns, **options)[0] for number in batch.numbers.tolist()]


def table(path: Any) -> pa.Table:
    return pa.Table.from_batches([batch.columns for batch in batches(path)[0]])


def put(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
