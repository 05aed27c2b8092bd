"""mbox out: messages byte for byte, with the added columns as headers."""

from __future__ import annotations

import re
from email.header import Header
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.output_lines import output_stream
from neardup.documents.source import Batch
from neardup.documents.writers import taken
from neardup.errors import OutputError

_BEGIN = b"From neardup@localhost Thu Jan  1 00:00:00 1970\n"  # the same for equal messages
_QUOTED = re.compile(rb"^(>*From )", re.MULTILINE)


class MboxWriter:
    """Messages to one mbox file."""

    def __init__(self, target: Path | IO[bytes]) -> None:
        self._file = output_stream(target, None)

    def write(self, batch: Batch, rows: Numbers | None = None, extra: pa.RecordBatch | None = None) -> None:
        """Append messages; those of the added columns that have a value come first, as X-Neardup- headers."""
        if rows is not None and not len(rows):
            return
        if batch.raw is None:
            raise OutputError(
                f"{batch.source} has no messages to write as mbox: write jsonl (--output-format jsonl)"
            )
        added = [{}] * len(batch) if extra is None else extra.to_pylist()
        records = taken(batch.raw, rows).to_pylist()
        self._file.write(b"".join(map(_message, records, added)))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def _message(record: bytes, added: dict[str, Any]) -> bytes:
    """A message as it stands in an mbox file: a line before it, lines that look like that one quoted, a blank one."""
    headers = b"".join(_header(name, value) for name, value in added.items() if value is not None)
    return b"".join([_BEGIN, headers, _QUOTED.sub(rb">\1", record.rstrip(b"\r\n")), b"\n\n"])


def _header(name: str, value: Any) -> bytes:
    named = "X-Neardup-" + "-".join(part.capitalize() for part in name.removeprefix("neardup_").split("_"))
    text = " ".join(str(value).lower().split() if isinstance(value, bool) else str(value).split())
    shown = text if text.isascii() and text.isprintable() else Header(text, "utf-8", 900).encode()
    return f"{named}: {shown}\n".encode("ascii", "replace")
