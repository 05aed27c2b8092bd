"""neardup's index, one job in a process of its own:

    python benchmarks/index_ours.py build CORPUS.parquet NEW.index
    python benchmarks/index_ours.py look-up OLD.index QUERIES.parquet
    python benchmarks/index_ours.py change OLD.index DOCUMENTS.parquet

Each job is done once on a few documents, so that kernels are loaded; only `look-up` opens its index before
that, to measure a fresh process. `change` leaves the documents that it found. Prints one line `REPORT {...}`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from index_inputs import WARM, batches
from peers.timing import memory, percentiles, timed_calls, timed_look_ups
from peers.worker import cpu_seconds, peak_memory
from settings import THRESHOLD

ONE_BY_ONE, BATCH = 500, 1_000  # documents that are changed one by one; documents of a batch
SYNCS = 500  # writes that measure the disk


def new_index(folder: Path) -> Any:
    """An empty index with the options of the benchmark and one thread; everything else is the default."""
    from neardup.index.index import Index

    shutil.rmtree(folder, ignore_errors=True)
    return Index(folder, method="minhash", threshold=THRESHOLD, threads=1)


def opened(folder: Path) -> Any:
    """An index that exists."""
    from neardup.index.index import Index

    return Index(folder, threads=1)


def warm_up(path: Path) -> None:
    """Add, look up, replace and delete a few documents elsewhere, so that whatever loads late is loaded."""
    with pq.ParquetFile(path) as file:
        texts = next(file.iter_batches(batch_size=300, columns=["text"])).column(0).to_pylist()
    with tempfile.TemporaryDirectory() as folder, new_index(Path(folder) / "few.index") as index:
        index.add(pa.table({"id": [str(n) for n in range(len(texts))], "text": texts}))
        index.add([{"id": "0", "text": texts[1] + " And so it ends."}])
        index.compact()
        for text in texts[:50]:
            index.query(text + " And so it ends.")
        index.delete(["1"])


def build(path: Path, folder: Path) -> dict[str, Any]:
    """All documents of a file added to a new index; ends when segments are written and merged."""
    warm_up(path)
    before = memory()
    cpu, wall = cpu_seconds(), time.perf_counter()
    with new_index(folder) as index:
        index.add(path)
    costs = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "rss_mb": peak_memory()}
    return {**costs, **sizes(folder), "before": before}


def sizes(folder: Path) -> dict[str, Any]:
    """What an index takes on disk."""
    with opened(folder) as index:
        known = index.info()
    truth = sum(file.stat().st_size for file in folder.glob("truth.db*"))
    return {
        "documents": known["documents"],
        "postings": known["postings"],
        "segments": known["segments"],
        "segment_bytes": known["segment_bytes"],
        "truth_bytes": truth,
        "bytes_per_posting": round(known["segment_bytes"] / max(known["postings"], 1), 2),
    }


def read_through(folder: Path) -> None:
    """Put the files of an index into the page cache."""
    for file in (path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as data:
            while data.read(1 << 24):
                pass


def loaded() -> float:
    """Import what an index needs; the seconds that numba takes to load a first kernel."""
    from neardup import kernels
    from neardup.index.index import Index

    assert Index
    run = kernels.postings.checksum
    start = time.perf_counter()
    run(np.zeros(8, np.uint64))
    return time.perf_counter() - start


def look_up(folder: Path, path: Path) -> dict[str, Any]:
    """The index opened in this fresh process, after imports; then every query once, in a warm index."""
    kernels_s = loaded()
    table = pq.read_table(path)
    texts, sources = table.column("text").to_pylist(), table.column("source").to_pylist()
    read_through(folder)
    start = time.perf_counter()
    cpu = time.process_time()
    index = opened(folder)
    segments = index.info()["segments"]
    open_s, open_cpu_s = time.perf_counter() - start, time.process_time() - cpu
    start = time.perf_counter()
    index.query(texts[0])
    first_s = time.perf_counter() - start

    def ids(text: str) -> list[int]:
        return [int(match.id) for match in index.query(text)]

    for text in texts[:WARM]:
        ids(text)
    cpu, wall = cpu_seconds(), time.perf_counter()
    asked = timed_look_ups(ids, texts[WARM:], sources[WARM:])
    costs = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "rss_mb": peak_memory()}
    opening = {"kernels_s": kernels_s, "open_s": open_s, "open_cpu_s": open_cpu_s, "first_query_s": first_s}
    about = {name: round(seconds, 4) for name, seconds in opening.items()} | {"segments": segments}
    index.close()
    return {**costs, **about, "queries": len(texts) - WARM, "look_up": asked, "memory": memory()}


def disk_limit(folder: Path) -> dict[str, float]:
    """How often a second 4 kB can be written to a file beside the index and be on the disk: fdatasync."""
    path, block = folder / "fsync.tmp", os.urandom(4096)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    times = []
    for _ in range(SYNCS):
        start = time.perf_counter_ns()
        os.write(descriptor, block)
        os.fdatasync(descriptor)
        times.append(time.perf_counter_ns() - start)
    os.close(descriptor)
    path.unlink()
    return {"per_s": round(len(times) / (sum(times) / 1e9), 1), **percentiles(times)}


def change(folder: Path, path: Path) -> dict[str, Any]:
    """Documents added, replaced and deleted, one by one and in batches: what each call acknowledged is durable."""
    warm_up(path)
    texts = pq.read_table(path).column("text").to_pylist()
    cpu, wall = cpu_seconds(), time.perf_counter()
    done: dict[str, Any] = {"disk": disk_limit(folder)}
    with opened(folder) as index:
        before = len(index)
        index.query(texts[0])
        done |= one_by_one(index, texts[:ONE_BY_ONE])
        done["disk_after"] = disk_limit(folder)
        done |= in_batches(index, list(batches(texts, min(BATCH, len(texts)))))
        assert len(index) == before, "the changes should leave the documents that were there"
    costs = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "rss_mb": peak_memory()}
    return {**costs, **done}


def one_by_one(index: Any, texts: list[str]) -> dict[str, Any]:
    """Each document in a call, and so in a transaction, of its own."""
    given = [{"id": f"one-{n}", "text": text} for n, text in enumerate(texts)]
    other = [{"id": f"one-{n}", "text": text} for n, text in enumerate([*texts[1:], texts[0]])]
    return {
        "add": timed_calls(lambda document: index.add([document]), given),
        "replace": timed_calls(lambda document: index.add([document]), other),
        "delete": timed_calls(index.delete, [document["id"] for document in given]),
    }


def in_batches(index: Any, parts: list[list[str]]) -> dict[str, Any]:
    """A thousand documents in a call, and so in a transaction."""
    size = len(parts[0])
    names = [[f"batch-{k}-{n}" for n in range(size)] for k in range(len(parts))]
    given = [pa.table({"id": ids, "text": some}) for ids, some in zip(names, parts, strict=True)]
    turned = [[*some[1:], some[0]] for some in parts]
    other = [pa.table({"id": ids, "text": some}) for ids, some in zip(names, turned, strict=True)]
    return {
        "add_batch": timed_calls(index.add, given, size),
        "replace_batch": timed_calls(index.add, other, size),
        "delete_batch": timed_calls(index.delete, names, size),
    }


JOBS = {"build": build, "look-up": look_up, "change": change}


def main() -> None:
    """Do one job and report its cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    given = parser.parse_args()
    print("REPORT " + json.dumps(JOBS[given.job](given.first, given.second)))


if __name__ == "__main__":
    main()
