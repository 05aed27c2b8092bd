"""The Spark engine beside Spark MLlib's MinHashLSH and the local engine, in one run over the same documents.

    python benchmarks/spark.py corpus.parquet [--documents 100000] [--master 'local[2]'] [--mllib] [--runs 3]

Both Spark programs read the parquet file and return verified pairs with a Jaccard similarity of at least 0.7 of word
5-grams. Recall is the share of the pairs that the local engine finds with pairs=all and recall=0.9999. CPU seconds
are those of the driver, the JVM and all Python workers. MLlib runs in a session of its own, with as many hash tables as
a recall within one point of ours needs. The start of Spark is reported separately: the session, and a first query that
only reads the file. For each stage: CPU seconds of the JVM and of the workers, bytes shuffled and bytes written, also
per document.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import neardup
from neardup import spark as engine
from neardup.engines.spark.shuffle.side_files import FOLDER
from neardup.engines.spark.shuffle.stages import Stages

THRESHOLD = 0.7
MOST_TABLES = 10  # of MLlib
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> tuple[float, float, float]:
    """Processor time of this process, of the JVM below it and of all others below it, dead ones included."""
    parents: dict[int, int] = {}
    used: dict[int, tuple[str, float]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, fields = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            parents[int(entry.name)] = int(fields.split()[1])
            used[int(entry.name)] = name, sum(map(int, fields.split()[11:15])) / TICK
    mine = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= more
    others = [used[process] for process in mine - {os.getpid()}]
    jvm = sum(seconds for name, seconds in others if name == "java")
    return used[os.getpid()][1], jvm, sum(seconds for name, seconds in others if name != "java")


def timed(name: str, work: Any) -> Any:
    """The result of the work, after its wall-clock and CPU seconds have been printed."""
    wall, before = time.perf_counter(), cpu_seconds()
    found = work()
    driver, jvm, workers = (after - start for after, start in zip(cpu_seconds(), before, strict=True))
    parts = f"driver {driver:.2f}, JVM {jvm:.2f}, workers {workers:.2f}"
    clock = time.perf_counter() - wall
    print(f"{name:34} {clock:7.1f} s wall {driver + jvm + workers:7.2f} s CPU ({parts})", flush=True)
    return found


class Watch:
    """Records the cost of each stage: CPU seconds, shuffled and written bytes."""

    def __init__(self, session: Any) -> None:
        self.store, self.next, self.rows = session.sparkContext._jsc.sc().statusStore(), 0, {}
        self.open: list[list[float]] = []
        self.on = False  # reading /proc costs a second itself
        usual = Stages.stage

        def stage(stages: Stages, name: str, *given: Any, **options: Any) -> Any:
            if not self.on:
                return usual(stages, name, *given, **options)
            before, self.open = cpu_seconds(), [*self.open, [0.0, 0.0, 0.0]]
            found = usual(stages, name, *given, **options)
            spent = [after - start for after, start in zip(cpu_seconds(), before, strict=True)]
            inner = self.open.pop()
            if self.open:
                self.open[-1] = [a + b for a, b in zip(self.open[-1], spent, strict=True)]
            own = [a - b for a, b in zip(spent, inner, strict=True)]
            self.rows[name] = (*own, *self.bytes(stages, name))
            return found

        Stages.stage = stage  # type: ignore[method-assign]

    def shuffled(self) -> int:
        """The bytes shuffled since the last call."""
        found, missing = 0, 0
        while missing < 20:  # skipped stages have no attempt
            try:
                found += self.store.lastStageAttempt(self.next + missing).shuffleWriteBytes()
            except Exception:
                missing += 1
            else:
                self.next, missing = self.next + missing + 1, 0
        return found

    def bytes(self, stages: Stages, name: str) -> tuple[int, int]:
        """The bytes shuffled since the last call, and the size of the stage's files."""
        folder = Path(stages.folder.removeprefix("file://"))
        side_files = (folder / FOLDER / name).glob("*")
        files = [*(folder / name).glob("*.parquet"), *side_files]
        return self.shuffled(), sum(file.stat().st_size for file in files)

    def show(self, documents: int) -> None:
        """Prints and clears the table."""
        print(
            f"{'stage':18} {'JVM s':>8} {'workers s':>9} {'µs/doc':>8} {'shuffled B/doc':>15} {'written B/doc':>14}"
        )
        for name, (driver, jvm, workers, shuffled, written) in self.rows.items():
            each = 1e6 * (driver + jvm + workers) / documents
            sizes = f"{shuffled / documents:15.1f} {written / documents:14.1f}"
            print(f"{name:18} {jvm:8.2f} {workers:9.2f} {each:8.1f} {sizes}")
        self.rows = {}


def mllib_pairs(frame: Any, tables: int) -> pa.Table:
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
    return rows.rename_columns(["left", "right"])


def main() -> None:
    """Prints one line for each engine, and a table of stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--mllib",
        action="store_true",
        help="run MLlib too, with more tables until its recall is ours: takes minutes",
    )
    parser.add_argument("--tables", type=int, default=3, help="hash tables of MLlib at the start")
    parser.add_argument("--mllib-alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mllib_alone:
        mllib_alone(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        table = pq.read_table(given.corpus, columns=["id", "text"]).slice(0, given.documents)
        path = Path(folder) / "corpus.parquet"
        pq.write_table(table, path, row_group_size=10_000)
        n = len(table)
        del table
        measure(given, path, n)


def measure(given: Any, path: Path, n: int) -> None:
    """All engines over one file of n documents."""
    truth = neardup.dedup(path, threshold=THRESHOLD, recall=0.9999, pairs="all").pairs
    expected = as_pairs(truth.select(["left", "right"]))
    for pairs in ("clusters", "all"):
        timed(f"local engine, pairs={pairs}", lambda pairs=pairs: neardup.dedup(path, threads=1, pairs=pairs))
    session = timed("Spark's start: the session", lambda: engine.make_session(given.master))
    session.sparkContext.setLogLevel("OFF")
    for name in ("Spark's start: the file read", "the file read again"):
        timed(name, lambda: read_only(session.read.parquet(str(path))))
    watch = Watch(session)
    for pairs in ("clusters", "all"):
        for number in range(1, given.runs + 2):
            frame, watch.on = session.read.parquet(str(path)), number > given.runs
            watch.shuffled()  # skips earlier runs
            name = f"neardup on Spark, {pairs}, " + ("by stage" if watch.on else f"run {number}")
            result = timed(name, lambda frame=frame, pairs=pairs: engine.dedup(frame, pairs=pairs))
        watch.show(n)
        recall = recall_of(result.pairs.select("left", "right").toArrow(), expected)
        print(f"recall {recall:.4f} of {len(expected):,} pairs\n", flush=True)
    session.stop()
    if given.mllib:
        beside_mllib(given, path, expected, recall)


def read_only(frame: Any) -> None:
    """A query that only hands the file to Python."""

    def work(batches: Any) -> Any:
        for batch in batches:
            yield batch.select(["id"])

    frame.mapInArrow(work, "id long").write.format("noop").mode("overwrite").save()


def as_pairs(rows: pa.Table) -> set[tuple[Any, ...]]:
    """Pairs of ids, whichever is left."""
    return {tuple(sorted(row.values())) for row in rows.to_pylist()}


def recall_of(rows: pa.Table, expected: set[tuple[Any, ...]]) -> float:
    """The share of expected pairs that were found."""
    return len(as_pairs(rows) & expected) / len(expected)


def beside_mllib(given: Any, path: Path, expected: set[tuple[Any, ...]], recall: float) -> None:
    """MLlib with one more table each time, until its recall is within one point of ours."""
    for tables in range(given.tables, MOST_TABLES + 1):
        command = [sys.executable, __file__, str(path), "--mllib-alone", "--master", given.master]
        subprocess.run([*command, "--tables", str(tables)], check=True)
        theirs = recall_of(pq.read_table(path.with_name("mllib.parquet")), expected)
        print(f"recall of MLlib   {theirs:.4f} with {tables} tables, ours {recall:.4f}", flush=True)
        if theirs >= recall - 0.01:
            break


def mllib_alone(given: Any) -> None:
    """MLlib in a process of its own, with Spark's default settings except 4 GB of memory."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(given.master).config("spark.driver.memory", "4g")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.ui.enabled", "false")
    session = timed("Spark's start for MLlib", builder.getOrCreate)
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(given.corpus))
    rows = timed("MLlib MinHashLSH", lambda: mllib_pairs(frame, given.tables))
    pq.write_table(rows, given.corpus.with_name("mllib.parquet"))


if __name__ == "__main__":
    main()
