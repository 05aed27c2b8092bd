"""The files that an address names: one object, those of a folder, or those that match a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from pathlib import PurePosixPath

from neardup.documents.blocks import suffix_compression
from neardup.documents.input_files import (
    COMPRESSED,
    FORMATS,
    InputFile,
    format_of,
    head_of,
    json_format,
    known_suffixes,
    news_format,
)
from neardup.errors import InputError
from neardup.remote import is_address, shown, store_of
from neardup.remote.addresses import WEB, path_of, scheme_of
from neardup.remote.retries import retried

__all__ = ["is_address", "remote_files"]
_TABLES = re.compile(r"(pairs|clusters)\.(parquet|csv|jsonl)")


def remote_files(given: str, format: str | None, *, alone: bool) -> tuple[list[InputFile], int]:
    """The files that an address names, sorted, and the number of files of no known format."""
    try:
        if scheme_of(given) not in WEB and re.search(r"[*?\[]", given):
            return _matching(given, format)
        status = retried(lambda: store_of(given).status(given))
        if status is None:
            return _below(given, format, alone=alone)
        kind = format or _format_of(given)
    except FileNotFoundError as error:
        raise InputError(_not_found(given, str(error))) from None
    except OSError as error:
        raise InputError(f"{shown(given)} cannot be read: {error}") from None
    if kind is None:
        raise InputError(
            f"{shown(given)} has no known suffix: give its format with --format ({', '.join(FORMATS)}); "
            f"known suffixes are {known_suffixes()}"
        )
    return [_found(given, shown(given), kind)], 0


def _not_found(given: str, said: str) -> str:
    """The sentence about an address that nothing has."""
    if said.startswith("it does not exist"):
        return f"{shown(given)} does not exist{said.removeprefix('it does not exist')}"
    return f"{shown(given)} cannot be read: {said}"


def _found(address: str, name: str, format: str) -> InputFile:
    return InputFile(
        address, name, format, suffix_compression(path_of(address)) if format in COMPRESSED else None
    )


def _format_of(address: str) -> str | None:
    found = format_of(path_of(address))
    if found == "news" and path_of(address).lower().endswith(".xml"):
        return news_format(address)
    if found == "jsonl" and ".json" in PurePosixPath(path_of(address).lower()).suffixes:
        return json_format(head_of(address, suffix_compression(path_of(address))))
    return found


def _matching(pattern: str, format: str | None) -> tuple[list[InputFile], int]:
    """The objects that match; * and ? stop at a slash, ** does not."""
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0]
    if not fixed.partition("://")[2]:
        raise InputError(f"{pattern} has a pattern in the place of the bucket: name the bucket")
    matches = re.compile(_expression(pattern))
    found = [one for one in retried(lambda: store_of(pattern).list(fixed)) if matches.match(one)]
    if not found:
        raise InputError(f"no file matches {pattern}")
    return _of_known_format(found, "", format)


def _expression(pattern: str) -> str:
    """A regular expression for a glob over whole addresses."""
    parts = re.split(r"(\*\*/?|\*|\?)", pattern)
    words = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(words.get(part) or _class(part) for part in parts) + r"\Z"


def _class(part: str) -> str:
    """A part without stars: character classes as the shell has them."""
    return translate(part).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(r")\z") if part else ""


def _below(folder: str, format: str | None, *, alone: bool) -> tuple[list[InputFile], int]:
    """The files of a folder; hidden ones and earlier results are left out."""
    base = folder.rstrip("/") + "/"
    addresses = sorted(retried(lambda: store_of(folder).list(folder)))
    results = {
        one.removesuffix("report.json")
        for one in addresses
        if one.endswith("/report.json") and _is_result(one.removesuffix("report.json"), addresses)
    } - {base}
    visible = [
        one
        for one in addresses
        if not any(part.startswith(".") for part in one.removeprefix(base).split("/"))
        and not any(one.startswith(result) for result in results)
    ]
    prefix = "" if alone else base
    found, skipped = _of_known_format(visible, base, format, prefix)
    if not found:
        expected = f"of format {format}" if format else f"with a known suffix: {known_suffixes()}"
        raise InputError(f"the folder {folder} has no file {expected}")
    return found, skipped


def _is_result(folder: str, addresses: Iterable[str]) -> bool:
    """Whether dedup wrote the folder."""
    names = {one.removeprefix(folder) for one in addresses if one.startswith(folder)}
    return sum(_TABLES.fullmatch(name) is not None for name in names) == 2


def _of_known_format(
    addresses: Iterable[str], base: str, format: str | None, prefix: str = ""
) -> tuple[list[InputFile], int]:
    found, skipped = [], 0
    for address in sorted(addresses):
        kind = format_of(address)
        if format is not None:
            kind = format if kind in (None, format) or (format, kind) == ("lines", "text") else None
        elif kind in ("jsonl", "news"):
            kind = _format_of(address)
        if kind is None:
            skipped += 1
        else:
            found.append(_found(address, prefix + address.removeprefix(base), kind))
    return found, skipped
