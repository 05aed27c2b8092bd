"""The files that a path, folder or glob names, and the format of each."""

from __future__ import annotations

import glob
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from neardup.documents.blocks import COMPRESSIONS, Bytes, newline_of, read, suffix_compression
from neardup.documents.encodings import as_utf8
from neardup.documents.problems import Problems
from neardup.errors import InputError

CODE = tuple(
    """.py .pyx .pyi .ipy .c .h .cc .cpp .cxx .hh .hpp .hxx .cu .cuh .m .mm .java .kt .kts .scala .groovy .clj .cljs
    .js .jsx .mjs .cjs .ts .tsx .vue .svelte .go .rs .swift .dart .cs .fs .vb .php .rb .pl .pm .lua .r .jl .hs .lhs
    .ml .mli .ex .exs .erl .hrl .elm .lisp .el .scm .rkt .f .f90 .f95 .for .pas .adb .ads .asm .s .v .sv .vhd .vhdl
    .sql .sh .bash .zsh .fish .ps1 .bat .cmd .tcl .cmake .mk .gradle .proto .thrift .graphql .tf .css .scss .sass .less
    .sol .zig .nim .d .cr .coffee .awk .cob .tex""".split()
)
SUFFIXES = {
    suffix: format
    for format, suffixes in {
        "parquet": (".parquet", ".pq"),
        "jsonl": (".jsonl", ".ndjson", ".json"),  # .json if its first line is an object, or it is an array
        "csv": (".csv",),
        "tsv": (".tsv", ".tab"),
        "text": (".txt", ".text", ".md", ".markdown", ".html", ".htm", ".xhtml", *CODE),
        "mail": (".mbox", ".eml"),
        "warc": (".warc",),
        "news": (".sgm", ".sgml", ".xml"),  # .xml if it is NITF or NewsML
    }.items()
    for suffix in suffixes
}
FORMATS = ("parquet", "jsonl", "json", "csv", "tsv", "text", "lines", "mail", "warc", "news")
COMPRESSED = ("jsonl", "json", "csv", "tsv", "lines", "warc")  # formats that may be compressed as a whole
_HEAD = 1 << 16


@dataclass(frozen=True)
class InputFile:
    """One file (or Maildir): its path, its name in reports, its format and its compression."""

    path: str
    name: str
    format: str
    compression: str | None = None
    unreadable: str | None = None  # the reason, if nothing of it can be read


def format_of(path: str) -> str | None:
    """The format that the suffix names, compressed or not."""
    bare = Path(path.lower())
    if bare.suffix in COMPRESSIONS:
        inner = SUFFIXES.get(Path(bare.stem).suffix)
        return inner if inner in COMPRESSED else None
    return SUFFIXES.get(bare.suffix)


def known_suffixes() -> str:
    """The suffixes for an error message."""
    shown = [suffix for suffix in SUFFIXES if suffix not in CODE]
    return (
        " ".join(shown)
        + ", source code such as .py .java .c .js (jsonl, csv and tsv also with .gz or .zst, warc with .gz)"
    )


def expanded(given: str, format: str | None, *, alone: bool) -> tuple[list[InputFile], int]:
    """The files that a path, folder or glob names, sorted, and the number of files of no known format."""
    if not os.path.lexists(given) and glob.has_magic(given):
        matches = sorted(glob.glob(given, recursive=True))  # noqa: PTH207 (keeps the spelling given)
        if not matches:
            raise InputError(f"no file matches {given}")
        parts = [_path(match, format, prefix=f"{match}/", picky=len(matches) > 1) for match in matches]
        return [one for part, _ in parts for one in part], sum(skipped for _, skipped in parts)
    return _path(given, format, prefix="" if alone else f"{given.rstrip('/')}/", picky=False)


def _path(given: str, format: str | None, *, prefix: str, picky: bool) -> tuple[list[InputFile], int]:
    path = Path(given)
    try:
        path.stat()
    except FileNotFoundError:
        pass  # reported below with a better message
    except (OSError, ValueError) as error:  # a name that is too long, or has a NUL in it
        shown = given if len(given) <= 60 else given[:60] + "…"
        raise InputError(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if is_maildir(path):
        return [InputFile(given, given, "mail")], 0
    if path.is_dir():
        return _folder(given, format, prefix)
    _require_readable(path, given)
    found = format or _by_suffix(given)
    if found is None and not picky and ".json" in Path(given.lower()).suffixes:
        raise InputError(
            f"{given} is neither lines of JSON objects nor one array of objects: write one object a line, for example "
            "with jq -c"
        )
    if found is None and not picky and given.lower().endswith(".xml"):
        raise InputError(
            f"{given} is neither NITF nor NewsML: convert it, or read it as text with --format text"
        )
    if found is None and not picky:
        raise InputError(
            f"{given} has no known suffix: give its format with --format ({', '.join(FORMATS)}); "
            f"known suffixes are {known_suffixes()}"
        )
    return ([], 1) if found is None else ([_found(given, given, found)], 0)


def _require_readable(path: Path, given: str) -> None:
    if not path.exists():
        kind = "is a link to a file that does not exist" if path.is_symlink() else "does not exist"
        raise InputError(f"{given} {kind}")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{given} cannot be read: {error.strerror}") from None


def _found(path: str, name: str, format: str) -> InputFile:
    name = os.fsencode(name).decode("utf-8", "replace")  # a name may hold bytes that are not UTF-8
    return InputFile(path, name, format, suffix_compression(path) if format in COMPRESSED else None)


def _by_suffix(path: str) -> str | None:
    found = format_of(path)
    if found == "news" and path.lower().endswith(".xml"):
        return news_format(path)
    if found != "jsonl" or ".json" not in Path(path.lower()).suffixes:
        return found
    try:
        return json_format(head_of(path, suffix_compression(path)))
    except (OSError, InputError):
        return found  # `read` reports what is wrong with it


def news_format(path: str) -> str | None:
    """news, if an XML file has articles of a known kind, or cannot be read, which `read` reports."""
    from neardup.documents.news_xml import is_news

    try:
        return "news" if is_news(head_of(path, None)) else None
    except (OSError, InputError):
        return "news"


def json_format(head: bytes) -> str | None:
    """jsonl if a .json file with this beginning has an object on its first line, json for an array of objects."""
    import json

    line, end, _ = head.partition(newline_of(head))
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(line), dict):
            return "jsonl"
    if head.startswith(b"[") and head[1:].lstrip()[:1] in (b"{", b"]"):
        return "json"
    return "jsonl" if not end and line.startswith(b"{") and len(head) > _HEAD // 2 else None


def _folder(given: str, format: str | None, prefix: str) -> tuple[list[InputFile], int]:
    found, skipped = [], 0
    unreadable: list[OSError] = []
    for path, relative in files_below(given, unreadable):
        kind = "mail" if is_maildir(Path(path)) else format_of(path)
        if format is not None:
            kind = format if kind in (None, format) or (format, kind) == ("lines", "text") else None
        elif kind in ("jsonl", "news"):
            kind = _by_suffix(path)
        if kind is None or is_stream(path):
            skipped += 1
        else:
            found.append(_found(path, prefix + relative, kind))
    if not found and unreadable:
        _refuse(unreadable[0])
    if not found:
        expected = f"of format {format}" if format else f"with a known suffix: {known_suffixes()}"
        raise InputError(f"the folder {given} has no file {expected}")
    return found + [_unreadable(error, given, prefix) for error in unreadable], skipped


def _unreadable(error: OSError, folder: str, prefix: str) -> InputFile:
    path = os.fspath(error.filename)
    name = prefix + Path(os.path.relpath(path, folder)).as_posix()
    return replace(_found(path, name, "folder"), unreadable=f"unreadable folder: {error.strerror}")


def files_below(folder: str, unreadable: list[OSError] | None = None) -> list[tuple[str, str]]:
    """All files below the folder, and Maildirs, as (path, path relative to the folder), sorted by the latter.

    Hidden names and the results of earlier runs are skipped. Links are followed, but no folder is
    entered twice, so loops end. Folders that cannot be entered are added to `unreadable`, or refused.
    """
    found, visited = [], set()
    failed = _refuse if unreadable is None else unreadable.append
    for here, folders, files in os.walk(folder, onerror=failed, followlinks=True):
        try:
            status = Path(here).stat()
        except OSError as error:  # it went away
            failed(error)
            continue
        if (status.st_dev, status.st_ino) in visited:
            folders.clear()
            continue
        visited.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        maildirs = [name for name in folders if is_maildir(Path(here, name))]
        folders[:] = [name for name in folders if name not in maildirs and not is_result(Path(here, name))]
        found += [str(Path(here, name)) for name in files + maildirs if not name.startswith(".")]
    relative = ((path, Path(os.path.relpath(path, folder)).as_posix()) for path in found)
    return sorted(relative, key=lambda pair: pair[1])


def _refuse(error: OSError) -> None:
    raise InputError(f"the folder {error.filename} cannot be read: {error.strerror}")


def is_stream(path: str) -> bool:
    """Whether the path is a pipe or a device, which can be read only once, and may never end."""
    place = Path(path)
    try:
        return place.exists() and not place.is_file() and not place.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def is_endless(path: str) -> bool:
    """Whether the path is a device that may never end, such as /dev/zero; a terminal ends when its user ends it."""
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISCHR(mode) and not stat.S_ISBLK(mode):
            return False
        with Path(path).open("rb", buffering=0) as device:
            return not device.isatty() and not Path(path).samefile(os.devnull)
    except (OSError, ValueError):
        return False


def is_result(path: Path) -> bool:
    """Whether `neardup dedup` wrote the folder: its output is not its input."""
    formats = ("parquet", "csv", "jsonl")
    with suppress(OSError):  # of a folder that is closed to us, which Path raises
        tables = any(
            all((path / f"{name}.{format}").is_file() for name in ("pairs", "clusters")) for format in formats
        )
        return tables and (path / "report.json").is_file()
    return False


def is_maildir(path: Path) -> bool:
    """Whether the folder is a Maildir: mail in `cur` and `new`."""
    with suppress(OSError):
        return (path / "cur").is_dir() and (path / "new").is_dir()
    return False


def sniffed(path: str) -> tuple[str, str | None]:
    """The format and compression of a stream without a name, from its first bytes.

    An object on the first line is jsonl, a header with a known column csv or tsv, "From " a mailbox;
    anything else is text with one document a line.
    """
    with Path(path).open("rb") as file:
        magic = file.read(4)
    codec = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}.get(magic[:2])
    if magic == b"PAR1":
        return "parquet", None
    with suppress(OSError):
        return _sniffed_format(head_of(path, codec)), codec
    return "lines", codec


def head_of(path: str, compression: str | None) -> bytes:
    """The first bytes of a file, converted to UTF-8."""
    first = raw_head(path, compression)
    return b"".join(as_utf8(iter([first]), path, Problems())).lstrip()


def raw_head(path: str, compression: str | None) -> bytes:
    """The first bytes of a file, decompressed."""
    with Bytes(path, path, compression).open() as stream:
        return read(stream, _HEAD)


def _sniffed_format(head: bytes) -> str:
    from neardup.documents.document_columns import TEXT_NAMES

    first = head.partition(newline_of(head))[0].decode("utf-8", "replace").strip()
    if first.startswith("{"):
        return "jsonl"
    if json_format(head) == "json":
        return "json"
    if first.startswith("From ") and b"\n\n" in head.replace(b"\r\n", b"\n"):
        return "mail"
    for format, delimiter in (("tsv", "\t"), ("csv", ",")):
        cells = {cell.strip().strip('"').lower() for cell in first.split(delimiter)}
        if cells & set(TEXT_NAMES) and (len(cells) > 1 or first.lower().strip('"') in TEXT_NAMES):
            return format
    return "lines"
