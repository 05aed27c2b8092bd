"""What the user names as input, opened: files, folders, globs, standard input, tables in memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neardup.documents.discover import FORMATS, Found, files_below, format_of, is_maildir, known_suffixes
from neardup.documents.source import Source
from neardup.errors import InputError, ParameterError

__all__ = ["Inputs", "open_inputs"]


class Inputs(list[Source]):
    """The sources of a run, in a stable order, and what is to be said about them."""

    def __init__(self, sources: Iterable[Source] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(sources)
        self.notes = list(notes)


def open_inputs(inputs: Sequence[Any], *, format: str | None = None) -> Inputs:
    """One source for each file or table; text files and mail are gathered into one source of each kind.

    A name inside a folder is relative to the folder when that is the only input, otherwise it begins with
    the folder as it was given. A file of no bytes is left out. `format` is one of parquet, jsonl, csv, tsv,
    text, lines and mail; it decides for files whose suffix says nothing, and chooses inside folders.
    """
    if format is not None and format not in FORMATS:
        raise ParameterError("format", "open_inputs", f"one of {', '.join(FORMATS)}", format)
    if isinstance(inputs, (str, os.PathLike)) or not isinstance(inputs, Sequence):
        inputs = [inputs]
    elif inputs and all(isinstance(item, str) for item in inputs) and not any(map(_looks_like_path, inputs)):
        inputs = [list(inputs)]
    if not inputs:
        raise InputError("no input was given: name a file, a folder, or - for standard input")
    gathered = _Gathered(format, alone=len(inputs) == 1)
    for item in inputs:
        gathered.add(item)
    return gathered.sources()
