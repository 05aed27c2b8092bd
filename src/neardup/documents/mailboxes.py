"""The messages of mbox files, Maildirs and single files, as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from neardup.documents.input_files import is_maildir
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.problems import Problems
from neardup.documents.stored import open_binary
from neardup.documents.textfiles import file_bytes
from neardup.output import reason
from neardup.remote import is_address
from neardup.remote.addresses import path_of

_PIECE = 4 << 20
_SEAM = 1 << 12  # bytes that are looked at again when more has been read
NOT_BEGUN = "no mbox: it does not begin with a line 'From '"
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def files_of(given: str) -> list[str]:
    """The files that hold the messages, in a stable order."""
    path = Path(given)
    if is_address(given) or not is_maildir(path):
        return [given]
    files = sorted(file for part in ("cur", "new") for file in (path / part).iterdir() if file.is_file())
    return list(map(str, files))


def messages_of(
    path: str, known_as: str, limits: Limits, problems: Problems
) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Every message with the name of its file and its number in it (0: the file is the message)."""
    try:
        if not is_address(path) and Path(path).is_dir():
            for file in files_of(path):
                name = f"{known_as}/{Path(file).relative_to(path).as_posix()}"
                yield from _single(file, name, limits, problems)
        elif _is_mbox(path):
            if not _begins_a_message(path):
                problems.add(known_as, NOT_BEGUN, record=1, action="read as one message up to the next one")
            for number, message in enumerate(mbox_messages(path, limits), start=1):
                if message is None:
                    problems.add(known_as, limits.too_long, record=number)
                else:
                    yield (known_as, number), message
        else:
            yield from _single(path, known_as, limits, problems)
    except OSError as error:
        problems.add(known_as, f"unreadable file: {reason(error)}", action="rest of the file skipped")


def _single(
    file: str, name: str, limits: Limits, problems: Problems
) -> Iterator[tuple[tuple[str, int], bytes]]:
    data = file_bytes(file, name, limits, problems)
    if data is not None:
        yield (name, 0), data


def _is_mbox(path: str) -> bool:
    with open_binary(path) as stream:
        return stream.read(5) == b"From " or path_of(path).lower().endswith(".mbox")


def _begins_a_message(path: str) -> bool:
    """Whether a file is empty, or begins with the line of a message behind blank ones."""
    with open_binary(path) as stream:
        head = stream.read(_SEAM).lstrip()
    return not head or head.startswith(b"From ")


def mbox_messages(path: str, limits: Limits = LIMITS) -> Iterator[bytes | None]:
    """The messages of an mbox file one by one, None for a message beyond the size limit.

    Each begins with a "From " line after a blank one.
    """
    most = min(limits.record, limits.memory)
    data, lost = bytearray(b"\n"), 0  # the message that is being read, behind the blank line that begins it
    at = 0
    with open_binary(path) as stream:
        while True:
            piece = stream.read(_PIECE)
            data += piece
            begin = 0
            while (end := _next_message(data, at)) >= 0:
                at = end + 1
                yield from _finished(data, begin, end + 1, lost, limits, path)
                begin, lost = end, 0
            if not piece:
                break
            at = max(begin, len(data) - _SEAM)
            del data[:begin]
            at -= begin
            if len(data) > most + _SEAM:  # only its size matters now
                cut = len(data) - _SEAM
                lost += cut
                del data[:cut]
                at = 0
    yield from _finished(data, begin, len(data), lost, limits, path)


def _next_message(data: bytearray, at: int) -> int:
    """The end of the blank line before the next "From " line, -1 if the data has none."""
    while (found := data.find(b"\nFrom ", at)) >= 0:
        line = data[data.rfind(b"\n", 0, found) + 1 : found]
        if not line.strip():
            return found
        at = found + 1
    return -1


def _finished(
    data: bytearray, begin: int, end: int, lost: int, limits: Limits, path: str
) -> Iterator[bytes | None]:
    """The message between two places, without the line that begins it and with its quoting undone."""
    if data.startswith(b"\nFrom ", begin) and not lost:
        line = data.find(b"\n", begin + 1, end)
        begin = end if line < 0 else line + 1
    elif not lost:
        begin += 1
    size = lost + end - begin
    limits.refuse_larger(size, str(path))
    if size > limits.record:
        yield None
        return
    message = bytes(data[begin:end])
    if message.strip():
        yield _QUOTED.sub(rb"\1", message) if b">From " in message else message
