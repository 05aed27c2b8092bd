"""An index made or opened: its truth, its plan, and the statistics that it has frozen."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import neardup
from neardup.errors import IndexDamaged, InputError, OutputError, ParameterError, PlanError
from neardup.index.postings import check_scheme
from neardup.index.signed import Signer, Store
from neardup.index.truth import DocumentStore, Snapshot, StoreWriter
from neardup.plan import Clustering, ClusterKind, Keep, Plan
from neardup.remote.addresses import is_address
from neardup.statistics import Statistics
from neardup.statistics.file import load_statistics, save_statistics

FORMAT = "3"
POSTGRES = ("postgresql://", "postgres://")
ENTRIES = ("plan", "store", "statistics")  # written together
STATISTICS = "statistics"  # the blob of frozen document frequencies


@dataclass(frozen=True)
class OpenedIndex:
    """Where an index lies, and what it was made with."""

    name: str
    truth: DocumentStore
    segments: Path  # the folder of derived files
    plan: Plan  # with statistics=""
    store: Store
    clusters: ClusterKind = "leaders"  # of the method that the index was made with


def index_plan(plan: Plan) -> Plan:
    """The part of a plan that an index depends on: not clusters, nor what is kept."""
    return plan.with_(pairs="all", clustering=Clustering("components"), keep=Keep(), statistics="")


def open_index(
    path: str | os.PathLike[str], plan: Plan | None, store: Store | None, wait: float, segments: Path | None
) -> OpenedIndex:
    """The index at this path: the one that is there, which must have the plan, or a new one with it."""
    name = os.fspath(path)
    if is_address(name) and not name.startswith(POSTGRES):
        raise InputError(f"{name} is an address: an index is a folder on this machine, or in PostgreSQL.")
    if store is not None and store not in get_args(Store):
        raise ParameterError("store", "Index", "'text', 'features' or 'signatures'", store)
    truth = (
        _postgres(name, plan is not None, wait)
        if name.startswith(POSTGRES)
        else _sqlite(Path(name), plan is not None, wait)
    )
    try:
        with truth.reading() as snapshot:
            about, last = snapshot.about(), snapshot.last()
        _refuse_incomplete(name, about, last)
        if "plan" not in about:
            about = _created(truth, name, plan, store or "text")
        known = _checked(name, about, plan, store)
    except BaseException:
        truth.close()
        raise
    folder = Path(name) / "segments" if segments is None and not name.startswith(POSTGRES) else segments
    kinds: Any = about["store"], about.get("clusters", "leaders")
    return OpenedIndex(name, truth, folder or cache_folder(name), known, *kinds)


def _refuse_incomplete(name: str, about: dict[str, str], last: int) -> None:
    """Refuses an index that has documents or a plan, and has lost another entry: it must not be described again."""
    lost = [entry for entry in ENTRIES if entry not in about]
    if lost and (last or len(lost) < len(ENTRIES)):
        raise IndexDamaged(f"{name}: the index is damaged: its entry {lost[0]!r} is lost.")


def _sqlite(folder: Path, create: bool, wait: float) -> DocumentStore:
    from neardup.index.truth.sqlite import SqliteTruth

    if not SqliteTruth.exists(folder):
        if not create:
            raise InputError(
                f"{folder} is not an index. Make one with: neardup index build {folder} INPUT, or in Python with "
                "neardup.Index(path, method=…)"
            )
        if folder.is_dir() and not SqliteTruth.unfinished(folder):
            raise InputError(
                f"{folder} is a folder with other files: give a new or empty folder for the index."
            )
        try:
            SqliteTruth.create(folder, {"format": FORMAT}, wait=wait).close()
        except OutputError:
            if not SqliteTruth.exists(folder):  # otherwise another process was first
                raise
    return SqliteTruth(folder, wait=wait)


def _postgres(url: str, create: bool, wait: float) -> DocumentStore:
    from neardup.index.truth.postgres import PostgresTruth

    if create and not PostgresTruth.exists(url):
        with suppress(OutputError):  # another process was first
            PostgresTruth.create(url, {"format": FORMAT}, wait=wait).close()
    return PostgresTruth(url, wait=wait)


def cache_folder(url: str) -> Path:
    """Where the segments of a PostgreSQL index lie on this machine; they can be deleted at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "neardup" / "index" / hashlib.sha256(url.encode()).hexdigest()[:16]


def _created(truth: DocumentStore, name: str, plan: Plan | None, store: Store) -> dict[str, str]:
    """Write the plan of a new index; returns what is known of it."""
    if plan is None:
        raise InputError(f"{name} has no index yet. Make one with: neardup index build {name} INPUT")
    check_scheme(plan)
    Signer(plan, store=store).check_store()
    values = {"format": FORMAT, "plan": index_plan(plan).to_json(), "store": store, "statistics": ""}
    values["clusters"] = plan.clustering.kind
    values["identity"] = uuid4().hex[:16]  # of this index: segments of another one are not its own
    with truth.writing() as writer:
        if "plan" not in writer.about():  # another process may have been first
            writer.set_about(**values, made_by=f"neardup {neardup.__version__}")
        return writer.about()


def _checked(name: str, about: dict[str, str], plan: Plan | None, store: Store | None) -> Plan:
    """The plan of the index; another format, plan or store than the given ones is refused with what differs."""
    if about.get("format") != FORMAT:
        raise InputError(
            f"{name} has index format {about.get('format')}; this version of neardup reads format {FORMAT}."
        )
    known = Plan.from_json(about["plan"])
    if plan is not None and index_plan(plan) != known:
        raise PlanError(
            f"The index {name} was made with other options ({', '.join(differences(known, index_plan(plan)))}). "
            "Leave the options out, or make another index."
        )
    if store is not None and about["store"] != store:
        raise PlanError(f"The index {name} stores {about['store']}, not {store}: make another index.")
    return known


def differences(mine: Plan, given: Plan) -> list[str]:
    """What differs between two plans, in words such as 'threshold 0.8, given 0.7'."""
    return list(_differences("", mine.to_dict(), given.to_dict()))[:5]


def _differences(name: str, mine: Any, given: Any) -> list[str]:
    if isinstance(mine, dict) and isinstance(given, dict) and mine.get("stage") == given.get("stage"):
        keys = [key for key in mine if key in given]
        return [one for key in keys for one in _differences(key, mine[key], given[key])]
    if mine == given:
        return []
    if isinstance(mine, dict) or isinstance(given, dict):
        mine, given = (
            value.get("stage", "") if isinstance(value, dict) else value for value in (mine, given)
        )
    return [f"{name} {mine}, given {given}"]


# statistics --------------------------------------------------------------------------------------------------


def read_statistics(snapshot: Snapshot, digest: str) -> Statistics | None:
    """The frozen statistics; None before any were frozen."""
    if not digest:
        return None
    data = snapshot.blob(STATISTICS)
    if data is None:
        raise InputError(
            "The index names document frequencies that it does not have: neardup index verify it."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statistics.parquet"
        path.write_bytes(data)
        return load_statistics(path)


def freeze_statistics(writer: StoreWriter, statistics: Statistics) -> None:
    """Store statistics, which all documents are signed with from now on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statistics.parquet"
        save_statistics(statistics, path)
        writer.set_blob(STATISTICS, path.read_bytes())
    writer.set_about(statistics=statistics.digest)
