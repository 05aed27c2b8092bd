"""Indexes that may be damaged: checked, and written to a file as far as they are readable."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from neardup.engines.core.progress import Progress
from neardup.errors import InputError, NeardupError, StorageError
from neardup.index.export import export_salvaged
from neardup.index.index import Index
from neardup.index.opened import POSTGRES
from neardup.index.truth import DocumentStore
from neardup.index.truth.sqlite import SqliteTruth
from neardup.index.verify import Verification
from neardup.plan import Plan


def verify_path(path: str | os.PathLike[str], progress: Progress) -> Verification:
    """What is damaged in an index, also in one that cannot be opened."""
    try:
        with Index(path) as index:
            return index.verify(progress=progress)
    except StorageError as error:
        if _is_address(path):
            raise
        truth = _unchecked(path)
        found = truth.check() or [str(error)]
        truth.close()
        return Verification(0, 0, found, [])


def salvage_path(
    path: str | os.PathLike[str], target: str | os.PathLike[str], progress: Progress, force: bool = False
) -> int:
    """The number of documents written to a jsonl or parquet file: those that are readable and sound."""
    if _is_address(path):
        from neardup.index.truth.postgres import PostgresTruth

        truth: DocumentStore = PostgresTruth(os.fspath(path))
    else:
        truth = _unchecked(path)
    try:
        about: dict[str, str] = {}
        with suppress(StorageError), truth.reading() as snapshot:
            about = snapshot.sound_about()
        plan = None
        with suppress(NeardupError, ValueError, KeyError):
            plan = Plan.from_json(about["plan"])
        store: Any = about.get("store", "text")  # what most indexes have
        return export_salvaged(truth, plan, store, target, progress, force)
    finally:
        truth.close()


def _unchecked(path: str | os.PathLike[str]) -> SqliteTruth:
    if not SqliteTruth.exists(Path(path)):
        raise InputError(f"{os.fspath(path)} is not an index.")
    return SqliteTruth(Path(path), checked=False)


def _is_address(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).startswith(POSTGRES)
