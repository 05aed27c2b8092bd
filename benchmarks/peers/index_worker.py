"""Build and ask one peer's index, in its own environment:

    python -m peers.index_worker PEER CORPUS QUERIES BANDS ROWS FOLDER [--documents N]

Prints one line `REPORT {...}`: wall, CPU and memory of the build, look-ups with and without exact verification,
and removals.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from peers import ENVIRONMENTS, INDEX_PEERS
from peers.common import Stages
from peers.indexes import INDEXES, PeerIndex, Shape, Verified
from peers.timing import memory, timed_calls, timed_look_ups
from peers.worker import cpu_seconds, peak_memory, versions, warm_up

REMOVED = 1_000
WARM = 500  # queries before the clock starts; index_inputs has the same number


def read_documents(path: Path, most: int) -> list[str]:
    """The first documents as Python strings."""
    texts: list[str] = []
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["text"]):
            texts += batch.column(0).to_pylist()
            if len(texts) >= most:
                break
    return texts[:most]


def server_cpu(index: PeerIndex) -> float:
    """CPU seconds of the index's server, if it has one: a child that has not ended is not in our own."""
    return index.server_cpu() if hasattr(index, "server_cpu") else 0.0


def build(index: PeerIndex, texts: list[str]) -> dict[str, Any]:
    """What it costs to build the index from texts in memory."""
    stage, before = Stages(), memory()
    cpu, wall, server = cpu_seconds(), time.perf_counter(), server_cpu(index)
    index.build(texts, stage)
    cpu, wall = cpu_seconds() - cpu + server_cpu(index) - server, time.perf_counter() - wall
    stages = {name: round(seconds, 3) for name, seconds in stage.seconds.items()}
    return {"cpu": cpu, "wall": wall, "rss_mb": peak_memory(), "stages": stages, "before": before}


def ask(index: PeerIndex, texts: list[str], path: Path) -> dict[str, Any]:
    """Every query once, as it is answered, and once more with exact verification."""
    table = pq.read_table(path)
    asked, sources = table.column("text").to_pylist(), table.column("source").to_pylist()
    sources = [source if source < len(texts) else -1 for source in sources]
    verified = Verified(index, texts)
    for text in asked[:WARM]:
        verified.query(text)
    given = asked[WARM:], sources[WARM:]
    return {
        "look_up": timed_look_ups(index.query, *given),
        "verified": timed_look_ups(verified.query, *given),
    }


def main() -> None:
    """Build, ask, remove, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=INDEX_PEERS)
    for name, kind in (("path", Path), ("queries", Path), ("bands", int), ("rows", int), ("folder", Path)):
        parser.add_argument(name, type=kind)
    parser.add_argument("--documents", type=int, default=1 << 62)
    given = parser.parse_args()
    environment = INDEX_PEERS[given.peer].environment
    for module in ENVIRONMENTS[environment].imports:
        importlib.import_module(module)
    warm_up()
    texts = read_documents(given.path, given.documents)
    index = INDEXES[given.peer](Shape(given.bands, given.rows, given.folder))
    try:
        costs = build(index, texts)
        asked = ask(index, texts, given.queries)
        removed = {"remove": timed_calls(index.remove, range(min(REMOVED, len(texts))))}
    finally:
        beside = index.close()
    settings = f"{given.bands * given.rows} slots, {given.bands} x {given.rows}"
    about = {"documents": len(texts), "settings": settings, "versions": versions(environment), **beside}
    print("REPORT " + json.dumps({**costs, **asked, **removed, **about}))


if __name__ == "__main__":
    main()
