"""The service under load, beside FastAPI wrappers of datasketch (in memory, in Redis): `python benchmarks/service.py`.

    python benchmarks/service.py                          # an index of 100,000 documents: results/service-100k.json
    python benchmarks/service.py --documents 1000000      # results/service-1m.json
    python benchmarks/service.py --documents 1000000 --index FOLDER   # a copy of an index of it that was built before
    python benchmarks/service.py --quick                  # does it all work? two thousand documents, a few seconds

Server and load generator share the cores of the machine; the CPU time of each is stated. Parts:
load (questions and durable additions at fixed rates, latency since a request was due), capacity (questions one after
the other on 16 connections), overhead (one question over HTTP beside the library), bulk (10,000 documents as NDJSON),
peers (load and capacity of the wrappers).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import corpora
import environments
import index_inputs
import neardup
import report
from measure import REPORT
from peers import ENVIRONMENTS as PEER_ENVIRONMENTS
from run import store
from sections import clean, say
from service_servers import Served, free_port, redis, serving
from settings import BANDS, HERE, NGRAM, NUM_PERM, OUTPUTS, ROWS, THRESHOLD

PARTS = ("load", "capacity", "overhead", "bulk", "peers")
PEER = "datasketch-fastapi"
IN_REDIS = 100_000  # documents: more would take hours to insert
BULK = 10_000  # documents
ASKED = 1000  # questions one by one
JSON = {"content-type": "application/json"}
RUN = f"{time.time_ns():x}"  # in ids, so that a document is new to an index of an earlier run
Record = dict[str, Any]


def generated_load(served: Served, texts: Path, *arguments: object) -> Record:
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
    report: Record = json.loads(found[1])
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
        json.dumps({"id": f"bulk-{RUN}-{n}", "text": text}) + "\n" for n, text in enumerate(texts)
    ).encode()
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=600)
    before, begin, mine = served.cpu, time.perf_counter(), time.process_time()
    connection.request("POST", "/v1/documents", body, {"content-type": "application/x-ndjson"})
    last = connection.getresponse().read().splitlines()[-1]
    wall, spent = time.perf_counter() - begin, time.process_time() - mine
    connection.close()
    assert json.loads(last)["counts"].get("new") == len(texts), last
    found = {
        "documents": len(texts),
        "megabytes": len(body) / 1e6,
        "wall": wall,
        "per_second": len(texts) / wall,
    }
    return {**found, "cpu": spent, "server_cpu": served.cpu - before}


def build(corpus: corpora.Corpus, folder: Path) -> Path:
    """An index of the corpus, made from scratch."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    options = {"threshold": THRESHOLD, "ngram": NGRAM, "num_perm": NUM_PERM, "bands": BANDS, "rows": ROWS}
    with neardup.Index(folder, method="minhash", **options) as index:
        index.add(str(corpus.path))
        index.compact()
    return folder


def prepared_index(corpus: corpora.Corpus, built: Path | None, folder: Path) -> Path:
    """An index to measure: built now, or copied, so that additions of one run do not slow down the next."""
    if built is None:
        return build(corpus, folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(built, folder)
    os.sync()  # or the first additions wait until the copy is on the disk
    return folder


def measure_ours(corpus: corpora.Corpus, texts: Path, given: argparse.Namespace) -> Record:
    """All parts of ours."""
    port = free_port()
    index = prepared_index(corpus, given.index, OUTPUTS / "service.index")
    asked = pq.read_table(texts, columns=["text"]).column("text").to_pylist()
    command = [sys.executable, "-m", "neardup", "serve", str(index), "--port", str(port)]
    found: Record = {
        "name": "neardup serve",
        "says": "durable, verified exactly",
        "documents": corpus.documents,
    }
    found["command"] = shown(command[2:], port)
    with serving(command, port) as served:
        generated_load(served, texts, "--seconds", 3, "--start", f"warm-{RUN}")
        if "overhead" in given.parts:
            found["overhead"] = overhead(served, index, asked[:ASKED])
        found |= loads(served, texts, given)
        if "bulk" in given.parts:
            found["bulk"] = bulk(served, index_inputs.fresh_texts(given.bulk, 77))
    shutil.rmtree(index)
    return found


def loads(served: Served, texts: Path, given: argparse.Namespace) -> Record:
    """The parts that all sides have."""
    rates = ("--queries", given.queries, "--adds", given.adds, "--seconds", given.seconds, "--start", RUN)
    found: Record = {}
    if "load" in given.parts:
        found["load"] = generated_load(served, texts, *rates)
    if "capacity" in given.parts:
        short = min(given.seconds, 10)
        found["capacity"] = generated_load(served, texts, "--closed", "--connections", 16, "--seconds", short)
    return found


def measure_peer(corpus: corpora.Corpus, texts: Path, given: argparse.Namespace, in_redis: bool) -> Record:
    """A plain FastAPI wrapper of datasketch, in its own environment."""
    where = "in Redis, on the disk after a second" if in_redis else "in memory, not durable"
    record: Record = {"name": f"datasketch, {'Redis' if in_redis else 'in memory'}", "peer": True}
    record["says"] = f"MinHashLSH behind FastAPI, {where}: not verified"
    record["documents"] = min(corpus.documents, IN_REDIS) if in_redis else corpus.documents
    why = environments.make_all([PEER]).get(PEER)
    try:
        if why:
            raise RuntimeError(why)
        with redis() if in_redis else nullcontext() as database:
            port = free_port()
            command = [
                str(environments.python_of(PEER)),
                str(HERE / "peers" / "datasketch_service.py"),
                str(port),
            ]
            command += [str(corpus.path), "--documents", str(record["documents"])]
            command += ["--redis", str(database.socket)] if database else []
            record["command"] = shown(command, port, *([database.socket] if database else []))
            record["settings"] = f"{NUM_PERM} slots, {BANDS} x {ROWS}, as ours"
            record["versions"] = peer_versions() | ({"redis-server": database.version} if database else {})
            with serving(command, port, database.process if database else None) as served:
                return record | loads(served, texts, given)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        say(f"{record['name']}: FAILED: {error}")
        return {**record, "error": clean(str(error))}


def shown(command: list[str], *changing: object) -> str:
    """A command for the page, without what is another one in every run."""
    text = " ".join(command)
    for value in changing:
        text = text.replace(str(value), "…")
    return clean(text)


def peer_versions() -> dict[str, str]:
    """The versions of what the wrappers stand on."""
    names = (*PEER_ENVIRONMENTS[PEER].imports, "uvicorn")
    code = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    said = subprocess.run(
        [environments.python_of(PEER), "-c", code], capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(said.stdout)
    return found


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
    parser.add_argument(
        "--index", type=Path, help="built before, with the options of ours; a copy is measured"
    )
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.documents, given.seconds, given.bulk = 2000, 3, 1000
    given.parts = given.parts.split(",")
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
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
    records = [measure_ours(corpus, texts, given)]
    if "peers" in given.parts:
        records += [measure_peer(corpus, texts, given, in_redis) for in_redis in (False, True)]
    texts.unlink()
    rates = {"queries": given.queries, "adds": given.adds, "seconds": given.seconds}
    about = {"corpus": corpus.name, "documents": corpus.documents, "megabytes": round(corpus.megabytes, 1)}
    store(f"service-{corpus.name}", {**about, "rates": rates, "records": records}, given.quick)
    page = report.write(given.quick)
    print("\n" + page.partition("## Goals")[2].partition("\n\n## ")[0])
    print("\n## The service" + page.partition("## The service")[2].partition("\n## ")[0])


if __name__ == "__main__":
    main()
