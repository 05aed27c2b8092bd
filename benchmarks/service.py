"""The service under load, beside a plain FastAPI wrapper of datasketch: `python benchmarks/service.py`.

    python benchmarks/service.py                          # an index of 100,000 documents: results/service-100k.json
    python benchmarks/service.py --documents 1000000      # results/service-1m.json
    python benchmarks/service.py --quick                  # does it all work? two thousand documents, a few seconds

Server and load generator share the cores of the machine; the CPU time of each is stated. Parts:
load (questions and durable additions at fixed rates, latency since a request was due), capacity (questions one after
the other on 16 connections), overhead (one question over HTTP beside the library), bulk (10,000 documents as NDJSON).
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import corpora
import environments
import index_inputs
import neardup
from measure import REPORT
from run import store
from settings import BANDS, HERE, NGRAM, NUM_PERM, OUTPUTS, ROWS, THRESHOLD

PARTS = ("load", "capacity", "overhead", "bulk", "peer")
PEER = "datasketch-fastapi"
GOALS = {"query p99 ms": 20.0, "overhead ms": 1.5, "bulk documents/s": 5000.0}
BULK = 10_000  # documents
ASKED = 1000  # questions one by one
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Served:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        return float(psutil.Process(self.process.pid).memory_info().rss / 1e6)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@contextmanager
def serving(command: list[str], port: int, seconds: float = 1800) -> Iterator[Served]:
    """A server that is ready, ended afterwards."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + seconds
        while not answers(port):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the server did not start: {' '.join(command)}")
            time.sleep(0.1)
        yield Served(process, port)
    finally:
        process.terminate()
        process.wait(60)


def answers(port: int) -> bool:
    """Whether a server is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def generated_load(served: Served, texts: Path, *arguments: object) -> dict[str, Any]:
    """The report of the load generator, with the shares of both sides."""
    command = [
        sys.executable,
        str(HERE / "service_load.py"),
        str(served.port),
        str(texts),
        *map(str, arguments),
    ]
    before = served.cpu
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    found = REPORT.search(finished.stdout)
    assert found is not None, finished.stdout
    report: dict[str, Any] = json.loads(found[1])
    report["server_cpu"] = served.cpu - before
    report["server_mb"] = served.megabytes
    return report


def overhead(served: Served, index: Path, texts: list[str]) -> dict[str, float]:
    """Median milliseconds of a question in the library and over HTTP, by turns in the same minute."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port)
    library, service = [], []
    with neardup.Index(index) as opened:
        for number, text in enumerate(texts):
            body = json.dumps({"text": text})
            begin = time.perf_counter()
            opened.query(text)
            between = time.perf_counter()
            connection.request("POST", "/v1/query", body, JSON)
            connection.getresponse().read()
            if number >= len(texts) // 10:  # the first ones warm caches
                library.append(between - begin)
                service.append(time.perf_counter() - between)
    connection.close()
    medians = [1000 * statistics.median(some) for some in (library, service)]
    return {"library_ms": medians[0], "http_ms": medians[1], "overhead_ms": medians[1] - medians[0]}


def bulk(served: Served, texts: list[str]) -> dict[str, float]:
    """Documents a second of one NDJSON body; the body is made before the clock starts."""
    body = "".join(
        json.dumps({"id": f"bulk-{n}", "text": text}) + "\n" for n, text in enumerate(texts)
    ).encode()
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=600)
    before, begin = served.cpu, time.perf_counter()
    connection.request("POST", "/v1/documents", body, {"content-type": "application/x-ndjson"})
    last = connection.getresponse().read().splitlines()[-1]
    wall = time.perf_counter() - begin
    connection.close()
    assert json.loads(last)["counts"].get("new") == len(texts), last
    return {"seconds": wall, "per_second": len(texts) / wall, "server_cpu": served.cpu - before}


def build(corpus: corpora.Corpus, folder: Path) -> Path:
    """An index of the corpus, made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    options = {"threshold": THRESHOLD, "ngram": NGRAM, "num_perm": NUM_PERM, "bands": BANDS, "rows": ROWS}
    with neardup.Index(folder, method="minhash", **options) as index:
        index.add(str(corpus.path))
        index.compact()
    return folder


def measure_ours(corpus: corpora.Corpus, texts: Path, given: argparse.Namespace) -> dict[str, Any]:
    """All parts of ours."""
    index, port = build(corpus, OUTPUTS / "service.index"), free_port()
    asked = pq.read_table(texts, columns=["text"]).column("text").to_pylist()
    found: dict[str, Any] = {}
    command = [sys.executable, "-m", "neardup", "serve", str(index), "--port", str(port)]
    with serving(command, port) as served:
        generated_load(served, texts, "--seconds", 3, "--start", "warm")
        if "overhead" in given.parts:
            found["overhead"] = overhead(served, index, asked[:ASKED])
        found |= loads(served, texts, given)
        if "bulk" in given.parts:
            found["bulk"] = bulk(served, index_inputs.fresh_texts(given.bulk, 77))
    return found


def loads(served: Served, texts: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The parts that both sides have."""
    rates = ("--queries", given.queries, "--adds", given.adds, "--seconds", given.seconds)
    found: dict[str, Any] = {}
    if "load" in given.parts:
        found["load"] = generated_load(served, texts, *rates)
    if "capacity" in given.parts:
        short = min(given.seconds, 10)
        found["capacity"] = generated_load(served, texts, "--closed", "--connections", 16, "--seconds", short)
    return found


def measure_peer(corpus: corpora.Corpus, texts: Path, given: argparse.Namespace) -> dict[str, Any]:
    """A plain FastAPI wrapper of datasketch, in its own environment."""
    if why := environments.make_all([PEER]).get(PEER):
        return {"error": why}
    port = free_port()
    script = HERE / "peers" / "datasketch_service.py"
    command = [str(environments.python_of(PEER)), str(script), str(port), str(corpus.path)]
    with serving(command, port) as served:
        return loads(served, texts, given)


def lines(name: str, found: dict[str, Any]) -> Iterator[str]:
    """The figures in words."""
    for part in ("load", "capacity"):
        if part in found:
            one = found[part]
            rate = one["query"]["count"] / one["wall"]
            server, client = one["server_cpu"] / one["wall"], one["cpu"] / one["wall"]
            yield f"{name} {part}: {rate:.0f} queries/s, {one['failed']} failed"
            yield f"  ms of queries {one['query']}, of additions {one['add']}"
            yield f"  server {server:.0%} and load generator {client:.0%} of a core, {one['server_mb']:.0f} MB"
    for part in ("overhead", "bulk"):
        if part in found:
            yield f"{name} {part}: { {key: round(value, 3) for key, value in found[part].items()} }"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=float, default=500, help="a second")
    parser.add_argument("--adds", type=float, default=100, help="a second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--bulk", type=int, default=BULK)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.documents, given.seconds, given.bulk = 2000, 3, 1000
    given.parts = given.parts.split(",")
    return given


def size_name(documents: int) -> str:
    """The name of a corpus of that size."""
    for unit, letter in ((1_000_000, "m"), (1000, "k")):
        if documents % unit == 0:
            return f"{documents // unit}{letter}"
    return str(documents)


def main() -> None:
    """Measure, print, and store."""
    given = arguments()
    corpus = corpora.find(size_name(given.documents))
    texts = OUTPUTS / "service-texts.parquet"
    texts.parent.mkdir(parents=True, exist_ok=True)
    asked = min(4000, given.documents)
    table: pa.Table = index_inputs.mixed(corpus, asked, asked // 2, corpus.documents, 5)
    pq.write_table(table, texts)
    found = {"ours": measure_ours(corpus, texts, given)}
    if "peer" in given.parts:
        found[PEER] = measure_peer(corpus, texts, given)
    for name, one in found.items():
        print(one["error"] if "error" in one else "\n".join(lines(name, one)))
    rates = {"queries": given.queries, "adds": given.adds, "seconds": given.seconds}
    content = {"corpus": corpus.name, "documents": corpus.documents, "rates": rates, "goals": GOALS, **found}
    store(f"service-{corpus.name}", content, given.quick)


if __name__ == "__main__":
    main()
