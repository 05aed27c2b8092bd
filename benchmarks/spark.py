"""The Spark engine beside Spark MLlib's MinHashLSH and the local engine, in one run over the same documents.

    python benchmarks/spark.py corpus.parquet [--documents 20000] [--master 'local[2]']

Both Spark programs begin with the parquet file and end with the number of verified pairs of Jaccard similarity 0.7
or more of 5-word shingles. Recall is the share of the pairs that the local engine finds with pairs=all and a recall of
0.9999. CPU seconds are those of the driver, the JVM and all Python workers; Spark's start is reported apart.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

import neardup
from neardup import spark as engine

THRESHOLD = 0.7


def cpu_seconds() -> float:
    """Processor time of this process and all its descendants, dead ones that were waited for included."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    mine = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(used.get(process, 0.0) for process in mine)


def timed(name, work):
    """What the work gives, after its wall-clock and CPU seconds have been printed."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    found = work()
    print(f"{name:28} {time.perf_counter() - wall:8.1f} s wall {cpu_seconds() - cpu:8.1f} s CPU", flush=True)
    return found


def mllib_pairs(frame, tables):
    """Pairs of ids by MLlib: hashed 5-word shingles, MinHashLSH, and its exact join below a distance."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql import functions as f

    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"[^\p{L}\p{N}]+").transform(frame)
    words = words.where(f.size("words") >= 5)
    shingles = NGram(n=5, inputCol="words", outputCol="shingles").transform(words)
    vectors = HashingTF(inputCol="shingles", outputCol="features", binary=True, numFeatures=1 << 20)
    vectors = vectors.transform(shingles).select("id", "features")
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=tables, seed=1).fit(vectors)
    joined = model.approxSimilarityJoin(vectors, vectors, 1 - THRESHOLD + 1e-9, "distance")
    rows = joined.where("datasetA.id < datasetB.id").select("datasetA.id", "datasetB.id").toArrow()
    return {tuple(row.values()) for row in rows.rename_columns(["a", "b"]).to_pylist()}


def main() -> None:
    """Prints one line for each engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--tables", type=int, default=3, help="hash tables of MLlib")
    parser.add_argument("--no-mllib", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = pq.read_table(given.corpus, columns=["id", "text"]).slice(0, given.documents)
        path = Path(folder) / "corpus.parquet"
        pq.write_table(table, path, row_group_size=5000)
        truth = neardup.dedup(path, threshold=THRESHOLD, recall=0.9999, pairs="all").pairs.select(
            ["left", "right"]
        )
        wanted = {tuple(sorted(row.values())) for row in truth.to_pylist()}
        timed("local engine", lambda: neardup.dedup(path, threads=1))
        session = timed(
            "Spark's start", lambda: engine.make_session(given.master, {"spark.sql.shuffle.partitions": "4"})
        )
        session.sparkContext.setLogLevel("OFF")
        for number in (1, 2):
            frame = session.read.parquet(str(path))
            found = timed(
                f"neardup on Spark, run {number}", lambda frame=frame: engine.pairs(frame).toArrow()
            )
        mine = {tuple(sorted((row["left"], row["right"]))) for row in found.to_pylist()}
        print(f"recall of neardup {len(mine & wanted) / len(wanted):.4f} of {len(wanted):,} pairs")
        if not given.no_mllib:
            theirs = timed(
                "MLlib MinHashLSH", lambda: mllib_pairs(session.read.parquet(str(path)), given.tables)
            )
            theirs = {tuple(sorted(pair)) for pair in theirs}
            print(f"recall of MLlib   {len(theirs & wanted) / len(wanted):.4f} with {given.tables} tables")


if __name__ == "__main__":
    main()
