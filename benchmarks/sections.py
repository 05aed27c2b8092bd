"""The parts of the benchmark: each measures one thing and returns plain data for results/NAME.json."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corpora
import environments
import generate
import measure
import ours
import quality
import truth
from peers import PEERS, Peer
from settings import CORPORA, HERE, OUTPUTS

Record = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    peers: tuple[str, ...] = tuple(PEERS)
    repeats: int = 3
    threads: tuple[int, ...] = (1, 2)
    slow: bool = True  # run the slow peers, where the corpus is small enough for them
    timeout: float = 1800.0


def clean(text: str) -> str:
    """The text without the paths of this machine: as seen from this folder, where all commands run."""
    shown = text.replace(str(Path(sys.executable).parent) + "/", "").replace(str(HERE) + "/", "")
    shown = shown.replace(str(HERE.parent) + "/", "../").replace(str(HERE.parent.parent) + "/", "../../")
    return shown.replace(str(Path.home()), "~")


def record(
    name: str, threads: int, command: list[str], options: Options, repeats: int, **variables: str
) -> Record:
    """The best of a few runs of a command, with its costs, what it said of itself, and how it was called."""
    one, all_cpu = measure.best_of(command, threads, repeats, timeout=options.timeout, **variables)
    row: Record = {"name": name, "threads": threads, "command": clean(" ".join(command))}
    if one.error:
        say(f"{name}, {threads} thread(s): FAILED: {one.error.strip().splitlines()[-1][:200]}")
        return {**row, "error": clean(one.error.strip()[-400:])}
    job = {key: round(value, 3) for key, value in measure.job(one).items()}
    whole = {key: round(getattr(one, key), 3) for key in ("wall", "cpu", "rss_mb")}
    said = {key: value for key, value in one.report.items() if key not in job}
    say(f"{name}, {threads} thread(s): CPU {job['cpu']} s, wall {job['wall']} s, {job['rss_mb']:.0f} MB")
    return {**row, **job, "process": whole, "all_cpu": all_cpu, "load": round(one.load, 2), **said}


def say(line: str) -> None:
    """Print one line of progress at once."""
    print(f"  {line}", flush=True)


def peer_record(peer: Peer, corpus: corpora.Corpus, threads: int, options: Options) -> Record:
    """One peer on one corpus, and how good its answer is."""
    output = OUTPUTS / f"{corpus.name}-{peer.name}.npz"
    output.parent.mkdir(parents=True, exist_ok=True)
    arguments = [peer.name, str(corpus.path), str(threads), str(output)]
    command = [str(environments.python_of(peer.module)), "-m", "peers.worker", *arguments]
    row = record(peer.name, threads, command, options, 1 if peer.slow else options.repeats)
    if "error" not in row:
        row["quality"] = quality.judge(quality.load(output), truth.true_pairs(corpus), corpus.documents)
        output.unlink()
    return {**row, "peer": True, "says": peer.says}


def our_records(corpus: corpora.Corpus, options: Options) -> Iterator[Record]:
    """neardup on one corpus: cold and warm, with both kinds of tokens, with one thread and two."""
    for tokens in ("words", "whitespace"):
        for threads in options.threads:
            for job in ("command", "all pairs", "dedup", "clusters", "pairs"):
                yield our_record(job, corpus, threads, tokens, options)
        yield our_record("signatures", corpus, 1, tokens, options)


NAMES = {
    "command": "neardup dedup, a cold process",
    "all pairs": "neardup pairs, a cold process",
    "dedup": "neardup, kept documents written",
    "clusters": "neardup, pairs and clusters written",
    "pairs": "neardup, every pair and clusters written",
    "signatures": "neardup, signatures only",
}


def warm_command(job: str, path: Path, folder: Path, threads: int, tokens: str = "words") -> list[str]:
    """The command of one warm job."""
    given = ["--threads", str(threads), "--tokens", tokens, "--output", str(folder)]
    return [sys.executable, str(HERE / "ours.py"), job, str(path), *given]


def our_record(job: str, corpus: corpora.Corpus, threads: int, tokens: str, options: Options) -> Record:
    """One way of using neardup on one corpus, and how good its answer is."""
    folder = OUTPUTS / f"{corpus.name}-neardup"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if job == "command":
        command = ours.command(corpus.path, folder, threads, tokens)
    elif job == "all pairs":
        command = ours.pairs_command(corpus.path, folder, threads, tokens)
    else:
        command = warm_command(job, corpus.path, folder, threads, tokens)
    row = record(NAMES[job], threads, command, options, options.repeats)
    if "error" not in row and job != "signatures":
        true = truth.true_pairs(corpus, tokens)
        row["quality"] = quality.judge(ours.found(folder, corpus.documents), true, corpus.documents)
    shutil.rmtree(folder, ignore_errors=True)
    return {**row, "peer": False, "job": job, "tokens": tokens}


def speed(name: str, options: Options) -> Record:
    """Ours and the peers on one corpus, in one go."""
    corpus = corpora.find(name)
    print(f"{corpus.name}: {corpus.documents:,} documents, {corpus.megabytes:.1f} MB", flush=True)
    truth.truth_file(corpus, "whitespace")
    chosen = [PEERS[peer] for peer in options.peers]
    chosen = [peer for peer in chosen if not peer.slow or (options.slow and corpus.documents <= 25_000)]
    failures = environments.make_all([peer.module for peer in chosen])
    records = list(our_records(corpus, options))
    for peer in chosen:
        if peer.module in failures:
            why = {"error": clean(failures[peer.module])}
            records.append({"name": peer.name, "peer": True, "threads": 1, **why})
            continue
        counts = (1,) if peer.slow else [count for count in peer.threads if count in options.threads]
        records += [peer_record(peer, corpus, threads, options) for threads in counts]
    size = {"documents": corpus.documents, "megabytes": round(corpus.megabytes, 1)}
    return {"corpus": corpus.name, **size, "true_pairs": len(truth.true_pairs(corpus)), "records": records}


def scaling(names: list[str], options: Options) -> Record:
    """neardup alone, warm, on corpora that differ in size or in kind."""
    rows = []
    for name in names:
        corpus = corpora.find(name)
        folder = OUTPUTS / f"{corpus.name}-scaling"
        repeats = 1 if corpus.documents > 500_000 else options.repeats
        row = record(corpus.name, 1, warm_command("dedup", corpus.path, folder, 1), options, repeats)
        shutil.rmtree(folder, ignore_errors=True)
        rows.append({**row, "documents": corpus.documents, "megabytes": round(corpus.megabytes, 1)})
    return {"records": rows}


def startup(options: Options) -> Record:
    """`neardup --help`, and a first and a second run on ten small files, kernels compiled in the first."""
    folder = CORPORA / "ten-files"
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(next(generate.texts(generate.Recipe(10, kind="distinct")))):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    rows = [record("neardup --help", 1, [ours.program(), "--help"], options, max(5, options.repeats))]
    with tempfile.TemporaryDirectory() as scratch:
        command = [ours.program(), "dedup", str(folder), "-o", f"{scratch}/out", "--threads", "1", "--force"]
        cache = {"NUMBA_CACHE_DIR": f"{scratch}/kernels"}
        for name in ("ten small files, first run", "ten small files, second run"):
            row = record(name, 1, command, options, 1, **cache)
            rows.append({**row, "command": row["command"].replace(scratch, "TEMPORARY")})
    return {"records": rows}


def limits(name: str, options: Options) -> Record:
    """What one core can do with the same bytes, whatever the tool."""
    corpus = corpora.find(name)
    command = [sys.executable, str(HERE / "limits.py"), str(corpus.path)]
    return {"corpus": corpus.name, **record("limits", 1, command, options, 1)}
