"""The messages of mbox files, Maildirs and single files, as bytes."""

from __future__ import annotations

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

_LINE = 1 << 20  # a longer line is read in parts


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


def mbox_messages(path: str, limits: Limits = LIMITS) -> Iterator[bytes | None]:
    """The messages of an mbox file one by one, None for a message beyond the size limit.

    Each begins with a "From " line after a blank one.
    """
    lines: list[bytes] = []
    size, blank, begins = 0, True, True  # `begins`: the next read starts a line
    most = min(limits.record, limits.memory)
    with open_binary(path) as stream:
        while line := stream.readline(_LINE):
            if begins and blank and line.startswith(b"From "):
                limits.refuse_larger(size, str(path))
                yield from _finished(lines, size, limits)
                lines, size = [], 0
            else:
                size += len(line)
                lines.append(line[1:] if begins and _quoted(line) else line)
                lines = lines if size <= most else []
            blank = begins and not line.strip()
            begins = line.endswith(b"\n")
    limits.refuse_larger(size, str(path))
    yield from _finished(lines, size, limits)


def _finished(lines: list[bytes], size: int, limits: Limits) -> Iterator[bytes | None]:
    if size > limits.record:
        yield None
    elif any(map(bytes.strip, lines)):
        yield b"".join(lines)


def _quoted(line: bytes) -> bool:
    return line.startswith(b">") and line.lstrip(b">").startswith(b"From ")
