"""The messages of an mbox file, line by line."""

from __future__ import annotations


def mbox_messages(data: bytes) -> list[bytes]:
    found: list[list[bytes]] = [[]]
    blank = True
    for line in data.splitlines(keepends=True) if b"\r" not in data else _lines(data):
        if blank and line.startswith(b"From "):
            found.append([])
        else:
            quoted = line.startswith(b">") and line.lstrip(b">").startswith(b"From ")
            found[-1].append(line[1:] if quoted else line)
        blank = not line.strip()
    return [b"".join(lines) for lines in found if b"".join(lines).strip()]


def _lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
