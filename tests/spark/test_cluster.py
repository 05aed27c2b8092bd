"""A cluster of several processes on this machine: executors and drivers that are killed change nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from comparing import local_result

from corpora import corpus, rows
from neardup.engines.core.represent import needs_distinct_texts_first
from neardup.registry import methods

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")
pytestmark = pytest.mark.slow
PROGRAM = """
    import json
    import sys
    from pathlib import Path
    from neardup import spark
    if __name__ == "__main__":
        source, work, output, master, method = sys.argv[1:]
        session = spark.make_session(master, {"spark.neardup.partitions": "3", "spark.task.maxFailures": "10"})
        result = spark.dedup(session.read.parquet(source), work_dir=work, method=method)
        result.clusters.coalesce(1).write.parquet(output + "/clusters")
        result.pairs.coalesce(1).write.parquet(output + "/pairs")
        report = {name: result.report[name] for name in ("documents", "clusters", "removed")}
        report["pairs"] = result.report["pairs"]["verified"] + result.report["exact_copies"]
        Path(output.removeprefix("file://"), "report.json").write_text(json.dumps(report))
        session.stop()
"""


@pytest.fixture(scope="module")
def source(java, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    table = corpus(families=45)
    pq.write_table(table, folder / "corpus.parquet", row_group_size=50)
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    return folder, table


class Driver:
    """A driver in a process group of its own, with its executors."""

    def __init__(
        self, source: Path, tmp_path: Path, method: str, master: str = "local-cluster[2,1,1024]"
    ) -> None:
        self.work, self.output = tmp_path / "work", tmp_path / "output"
        self.command = [sys.executable, str(source / "program.py"), (source / "corpus.parquet").as_uri()]
        self.command += [self.work.as_uri(), self.output.as_uri(), master, method]
        self.log = (tmp_path / "log").open("ab")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=self.log, stderr=self.log, start_new_session=True, cwd=self.output.parent
        )

    def wait_for(self, stage: str) -> None:
        """Until a stage is being written, or is done."""
        limit = time.monotonic() + 300
        while not (self.work / stage).exists():
            assert self.process.poll() is None and time.monotonic() < limit, "the run ended before this stage"
            time.sleep(0.02)

    def stages(self) -> set[str]:
        """The stages that are being written, or are done."""
        if not self.work.exists():
            return set()
        return {entry.name for entry in self.work.iterdir() if entry.is_dir() and entry.name != "side-files"}

    def executors(self) -> list[int]:
        """The processes of the executors: those of our group that run Spark's backend."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.getpgid(int(entry.name)) == self.process.pid:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if any(b"CoarseGrainedExecutorBackend" in word for word in words):
                        found.append(int(entry.name))
            except OSError:
                continue
        return found

    def finish(self) -> dict[str, object]:
        assert self.process.wait(600) == 0
        found = {name: rows(pq.read_table(self.output / name)) for name in ("clusters", "pairs")}
        return found | {"report": json.loads((self.output / "report.json").read_text())}

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def same(found, expected):
    """Whether pairs and clusters are those of the local engine, and the counts, which must count no task twice."""
    removed, kept, pairs = (len(expected[name]) for name in ("removed", "kept", "pairs"))
    names = {row[1] for row in expected["clusters"]}
    counts = {"documents": removed + kept, "clusters": len(names), "pairs": pairs, "removed": removed}
    assert found["report"] == counts
    return all(found[name] == expected[name] for name in ("clusters", "pairs"))


def stages_of(method):
    """The stages that a run of a method has at least."""
    plan = methods()[method].plan()
    counted = ["frequencies"] if plan.counts else []
    signed = ["signatures"] if needs_distinct_texts_first(plan) else []
    return {"documents", "copies", *counted, *signed, "candidates", "verified", "clusters"}


@pytest.mark.parametrize("method", list(methods()))
def test_an_executor_is_killed_in_each_stage(source, tmp_path, method):
    folder, table = source
    driver = Driver(folder, tmp_path, method)
    killed = set()
    try:
        while driver.process.poll() is None:
            for stage in driver.stages() - killed:
                victims = driver.executors()
                if victims:
                    os.kill(victims[len(killed) % len(victims)], signal.SIGKILL)
                    killed.add(stage)
            time.sleep(0.02)
        assert killed >= stages_of(method)
        assert same(driver.finish(), local_result(table, method=method))
    finally:
        if driver.process.poll() is None:
            driver.kill()


@pytest.mark.parametrize(
    "method, stage",
    [
        *(("minhash", stage) for stage in ("copies", "verified", "clusters")),
        *((method, "candidates") for method in methods()),
        ("imatch", "frequencies"),
        ("rare_phrases", "signatures"),
    ],
)
def test_the_driver_is_killed_and_the_run_resumed(source, tmp_path, method, stage):
    folder, table = source
    driver = Driver(folder, tmp_path, method, "local[2]")
    driver.wait_for(stage)
    driver.kill()
    done = {entry.parent.name: entry.stat().st_mtime_ns for entry in driver.work.glob("*/_SUCCESS")}
    assert "documents" in done
    driver.start()
    try:
        assert same(driver.finish(), local_result(table, method=method))
    finally:
        if driver.process.poll() is None:
            driver.kill()
    assert (driver.work / "documents" / "_SUCCESS").stat().st_mtime_ns == done["documents"]
