"""neardup's index beside the peers' indexes, in one run: `python benchmarks/index.py`, or `make bench-index`.

    python benchmarks/index.py                          # 100,000 documents of 2.7 kB: results/index-100k.json
    python benchmarks/index.py --documents 1000000      # results/index-1m.json
    python benchmarks/index.py --short                  # 10,000,000 short ones, ours alone: index-10m-short.json
    python benchmarks/index.py --quick                  # does it all work? two thousand documents, once

Everything runs in fresh processes pinned to one core with one thread; the best of a few by CPU time counts.
Ours: bulk build beside `neardup dedup`, look-ups in a warm index, opening it, changes beside what the disk can do,
`neardup dedup --against`. The peers: build, look-ups with and without exact verification, removals.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import corpora
import environments
import index_inputs
import ours
import redis_server
import report
import sections
from budgets import settle
from peers import INDEX_PEERS, IndexPeer
from records import Record
from run import store
from settings import HERE, OUTPUTS, THRESHOLD

PARTS = ("build", "look-up", "change", "against", "peers")
LONG, SHORT = 100_000, 10_000_000  # documents of 2.7 kB, and of 1 kB
MANY = 500_000  # documents from which on a build is run once


@dataclass(frozen=True)
class Bench:
    """One run: the corpus, the folder of its indexes, and what the command line asked for."""

    corpus: corpora.Corpus
    folder: Path
    options: sections.Options
    parts: tuple[str, ...]
    short: bool = False

    @property
    def index(self) -> Path:
        """The index of the whole corpus."""
        return self.folder / "news.index"

    @property
    def repeats(self) -> int:
        """How often what takes minutes is run."""
        return 1 if self.corpus.documents > MANY else self.options.repeats

    def record(self, name: str, command: list[str], kind: str, repeats: int = 0, **variables: str) -> Record:
        """The best of a few runs of a command, on one core."""
        row = sections.record(name, 1, command, self.options, repeats or self.options.repeats, **variables)
        return {**row, "kind": kind}


def our_job(job: str, first: Path, second: Path) -> list[str]:
    """The command of one job of neardup's index."""
    return [sys.executable, str(HERE / "index_ours.py"), job, str(first), str(second)]


def builds(bench: Bench) -> Iterator[Record]:
    """The index built from the file, beside `neardup dedup` on the same file: warm jobs, and whole commands."""
    path, folder = bench.corpus.path, bench.folder / "dedup"
    settle(path)
    if not bench.short:
        warm = sections.warm_command("dedup", path, folder, 1)
        yield bench.record("neardup dedup", warm, "dedup", bench.repeats)
        cold = ours.command(path, folder, 1, "words")
        yield bench.record("neardup dedup, a cold process", cold, "dedup-command", bench.repeats)
        given = ["--method", "minhash", "--threshold", str(THRESHOLD), "--threads", "1", "--memory", "1G"]
        command = [ours.program(), "index", "build", str(bench.folder / "cold.index"), str(path), *given]
        yield cold_build(bench, command)
        shutil.rmtree(folder, ignore_errors=True)
    yield bench.record("neardup index", our_job("build", path, bench.index), "build", bench.repeats)


def cold_build(bench: Bench, command: list[str]) -> Record:
    """`neardup index build` as a command, the best of a few; each run needs a new folder."""
    rows = []
    for _ in range(bench.repeats):
        shutil.rmtree(bench.folder / "cold.index", ignore_errors=True)
        rows.append(bench.record("neardup index build, a cold process", command, "build-command", 1))
    shutil.rmtree(bench.folder / "cold.index", ignore_errors=True)
    return min(rows, key=lambda row: row.get("cpu", float("inf")))


def look_ups(bench: Bench) -> Iterator[Record]:
    """Texts looked up in the warm index, and one text from the shell."""
    queries = index_inputs.queries(bench.corpus)
    yield bench.record("neardup index", our_job("look-up", bench.index, queries), "look-up")
    text = pq.read_table(queries).column("text")[0].as_py()
    command = [ours.program(), "index", "query", str(bench.index), "--text", text, "--threads", "1"]
    row = bench.record("neardup index query, from the shell", command, "shell", max(5, bench.options.repeats))
    yield {**row, "command": row["command"].replace(sections.clean(text), "TEXT")}


def changes(bench: Bench) -> Iterator[Record]:
    """Documents added, replaced and deleted, beside what the disk can do."""
    documents = index_inputs.changes(bench.corpus)
    yield bench.record("neardup index", our_job("change", bench.index, documents), "change")


def against(bench: Bench) -> Iterator[Record]:
    """Today's file deduplicated alone, against a small index and against the whole one: cold commands."""
    path, folder = index_inputs.today(bench.corpus), bench.folder / "today"
    small = bench.folder / "small.index"
    first = index_inputs.first_documents(bench.corpus)
    row = bench.record("the small index", our_job("build", first, small), "small-build", 1)
    if "error" in row:
        yield row
        return
    alone = ours.command(path, folder, 1, "words")
    yield bench.record("neardup dedup today.parquet", alone, "today")
    for index, documents in ((small, row["documents"]), (bench.index, bench.corpus.documents)):
        command = [*alone, "--against", str(index)]
        name = f"… --against an index of {documents:,}"
        yield {**bench.record(name, command, "against"), "documents": documents}
    shutil.rmtree(folder, ignore_errors=True)


def peers(bench: Bench) -> Iterator[Record]:
    """The peers' indexes on the same file, each in its own environment."""
    chosen = [INDEX_PEERS[name] for name in bench.options.peers]
    failures = environments.make_all([peer.environment for peer in chosen])
    for peer in chosen:
        extra = redis_server.variables() if peer.name == "datasketch-redis" else {}
        why = failures.get(peer.environment, "")
        if peer.name == "datasketch-redis" and not extra:
            why = "redis-server was not there, and could not be unpacked from Debian's packages"
        if why:
            sections.say(f"{peer.name}: FAILED: {why}")
            yield {"name": peer.name, "peer": True, "kind": "peer", "error": sections.clean(why)}
            continue
        yield peer_record(bench, peer, extra)


def peer_record(bench: Bench, peer: IndexPeer, variables: dict[str, str]) -> Record:
    """One peer with as many slots, bands and rows as ours."""
    import neardup

    plan = neardup.make_plan("minhash", threshold=THRESHOLD)
    shape = [str(plan.candidates.groups), str(plan.candidates.width)]
    folder = bench.folder / peer.name
    folder.mkdir(parents=True, exist_ok=True)
    given = [peer.name, str(bench.corpus.path), str(index_inputs.queries(bench.corpus)), *shape, str(folder)]
    given += ["--documents", str(peer.most)] if bench.corpus.documents > peer.most else []
    python = str(environments.python_of(peer.environment))
    command = [python, "-m", "peers.index_worker", *given]
    repeats = 1 if peer.name == "datasketch-redis" else bench.repeats
    row = bench.record(peer.name, command, "peer", repeats, **variables)
    shutil.rmtree(folder, ignore_errors=True)
    if variables and "error" not in row:
        found = (variables["REDIS_SERVER"], variables.get("REDIS_LIBRARIES", ""))
        row["versions"]["redis-server"] = redis_server.version(*found)
    return {**row, "peer": True, "says": peer.says}


JOBS = {"build": builds, "look-up": look_ups, "change": changes, "against": against, "peers": peers}


def measured(bench: Bench) -> Record:
    """All parts, one after the other: what is asked of the index comes before what changes it."""
    order = ("build", "look-up", "against", "change", "peers")
    wanted = [part for part in order if part in bench.parts and not (bench.short and part not in PARTS[:2])]
    rows = [row for part in wanted for row in JOBS[part](bench)]
    size = {"documents": bench.corpus.documents, "megabytes": round(bench.corpus.megabytes, 1)}
    return {"corpus": bench.corpus.name, **size, "records": rows}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, help="documents  [100000; 10000000 short ones]")
    parser.add_argument("--reps", type=int, default=3, help="runs of each, of which the best counts  [3]")
    parser.add_argument("--peers", default="all", help="names with commas, all or none  [all]")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}  [all]")
    parser.add_argument("--short", action="store_true", help="short documents, ours alone: 30 GB of disk")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds for one run  [7200]")
    parser.add_argument("--quick", action="store_true", help="2,000 documents, one run each")
    given = parser.parse_args()
    unknown = set(given.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    if given.quick:
        given.documents, given.reps = given.documents or 2_000, 1
    return given


def chosen_peers(words: str) -> tuple[str, ...]:
    """The peers that the words name."""
    if words in ("all", "none"):
        return tuple(INDEX_PEERS) if words == "all" else ()
    unknown = [name for name in words.split(",") if name not in INDEX_PEERS]
    if unknown:
        raise SystemExit(f"no peer {', '.join(unknown)}: there are {', '.join(INDEX_PEERS)}")
    return tuple(words.split(","))


def size_name(documents: int) -> str:
    """The name of a corpus of so many documents."""
    for unit, letter in ((1_000_000, "m"), (1_000, "k")):
        if documents % unit == 0:
            return f"{documents // unit}{letter}"
    return str(documents)


def main() -> None:
    """Run the chosen parts on one corpus, and write the page."""
    given = arguments()
    size = given.documents or (SHORT if given.short else LONG)
    corpus = corpora.find(size_name(size) + ("-short" if given.short else ""))
    print(f"{corpus.name}: {corpus.documents:,} documents, {corpus.megabytes:.1f} MB", flush=True)
    options = sections.Options(chosen_peers(given.peers), given.reps, (1,), timeout=given.timeout)
    folder = OUTPUTS / f"index-{corpus.name}"
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(corpus, folder, options, tuple(given.parts.split(",")), given.short)
    store(f"index-{corpus.name}", measured(bench), given.quick)
    shutil.rmtree(folder, ignore_errors=True)
    print("\n" + report.write(given.quick))


if __name__ == "__main__":
    main()
