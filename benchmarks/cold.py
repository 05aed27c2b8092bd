"""What a person at the shell feels: whole cold processes, one and two threads, by stage, and every kind of method.

`cold` has the headline (the command from start to end, beside a peer's whole process) and a model of more cores;
`methods` has other methods over the same corpus on one core. Both write results/NAME.json; this file also makes
their part of the page.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import corpora
import environments
import ours
import sections
from goals import Goal, judged
from peers import PEERS
from records import DASH, Record, good, table
from settings import OUTPUTS

METHODS = ("minhash", "simhash", "spotsigs", "rare_phrases", "andd")
MODES = {"remove": "kept documents written", "none": "pairs and clusters only"}
CORES = (1, 2, 4, 16, 64)
START = "start, imports, report"


def cold(name: str, options: sections.Options) -> Record:
    """`neardup dedup` cold, with and without documents written, with one and two threads; rensa in the same run."""
    corpus = corpora.find(name)
    rows = [
        _command(corpus, mode, threads, options, options.repeats)
        for mode in MODES
        for threads in options.threads
    ]
    return {**_about(corpus), "records": [*rows, *_peers(corpus, options)]}


def methods(name: str, options: sections.Options) -> Record:
    """Other methods over the same corpus, one core, whole process, kept documents written."""
    corpus = corpora.find(name)
    rows = []
    for method in METHODS:
        repeats = options.repeats if method in ("minhash", "simhash", "spotsigs") else 1
        rows.append(_command(corpus, "remove", 1, options, repeats, "--method", method))
    return {**_about(corpus), "records": [*rows, *_peers(corpus, options)]}


def _about(corpus: corpora.Corpus) -> Record:
    return {
        "corpus": corpus.name,
        "documents": corpus.documents,
        "megabytes": round(corpus.megabytes, 1),
    }


def _command(
    corpus: corpora.Corpus, mode: str, threads: int, options: sections.Options, repeats: int, *more: str
) -> Record:
    """One command, the best of a few runs; its stages are those of the best run on the clock."""
    folder = OUTPUTS / f"{corpus.name}-cold{''.join(more)}"
    options_of_run = ["--threads", str(threads), "--mode", mode, "--force", *more]
    command = [ours.program(), "dedup", str(corpus.path), "-o", str(folder), *options_of_run]
    name = " ".join(more) if more else MODES[mode]
    rows: list[Record] = []
    for _ in range(max(1, repeats)):
        row = sections.record(name, threads, command, options, 1)
        rows.append(row)
        if "error" in row:
            break
        row["stages"] = json.loads((folder / "report.json").read_text())["seconds"]
    shutil.rmtree(folder, ignore_errors=True)
    best = min(rows, key=lambda row: row.get("cpu", 1e9))
    fastest = min(rows, key=lambda row: row.get("wall", 1e9))
    cpu = [row["cpu"] for row in rows if "cpu" in row]
    kept = {"wall": fastest.get("wall"), "stages": fastest.get("stages"), "all_cpu": cpu}
    return {**best, **kept, "mode": mode, "peer": False}


def _peers(corpus: corpora.Corpus, options: sections.Options) -> Iterator[Record]:
    """The peers that were chosen, once each, one thread."""
    for name in options.peers:
        peer = PEERS[name]
        if peer.slow or environments.make_all([peer.module]):
            continue
        output = OUTPUTS / f"{corpus.name}-{peer.name}.npz"
        output.parent.mkdir(parents=True, exist_ok=True)
        arguments = [peer.name, str(corpus.path), "1", str(output)]
        command = [str(environments.python_of(peer.module)), "-m", "peers.worker", *arguments]
        yield {**sections.record(name, 1, command, options, 1), "peer": True, "says": peer.says}
        output.unlink(missing_ok=True)


# the page -------------------------------------------------------------------------------------------------


def _measured(result: Record, mode: str) -> list[dict[str, float]]:
    """Wall seconds by stage with one thread and with two; nothing if one of them was not measured."""
    found = []
    for threads in (1, 2):
        row = next(iter(good(result["records"], mode=mode, threads=threads)), None)
        if row is None:
            return []
        found.append({**row["stages"], START: row["wall"] - sum(row["stages"].values())})
    return found


def parts(result: Record, mode: str) -> dict[str, tuple[float, float]]:
    """For each stage the seconds that threads share, and those that they do not: Amdahl's law, two points."""
    measured = _measured(result, mode)
    if not measured:
        return {}
    one, two = measured
    found = {}
    for stage, seconds in one.items():
        shared = min(max(2 * (seconds - two.get(stage, seconds)), 0.0), seconds)
        found[stage] = (shared, seconds - shared)
    return found


def modelled(result: Record, mode: str, cores: int) -> float:
    """The seconds of a run on so many cores, by the model."""
    return sum(shared / cores + alone for shared, alone in parts(result, mode).values())


def serial_share(result: Record, mode: str) -> float | None:
    """The share of the one-thread time that more threads do not shorten."""
    found = parts(result, mode)
    whole = sum(map(sum, found.values()))
    return sum(alone for _, alone in found.values()) / whole if whole else None


def cold_page(result: Record, circumstances: str) -> list[str]:
    """The headline first: whole processes; then where the time goes, and what more cores would do."""
    peer = min((row["process"]["cpu"] for row in good(result["records"], peer=True)), default=None)
    rows = []
    for row in good(result["records"]):
        whole = row["process"]["cpu"]
        name = f"neardup dedup, {row['name']}" if not row["peer"] else f"{row['name']}, pairs and clusters"
        times = DASH if peer is None or row["threads"] > 1 else f"{peer / whole:.2f}"
        costs = [f"{whole:.2f}", f"{row['wall']:.2f}", f"{row['process']['rss_mb']:,.0f}"]
        rows.append([name, str(row["threads"]), *costs, times])
    title = f"## Cold: whole processes over {result['documents']:,} documents, {result['megabytes']} MB"
    text = "Start of Python, imports, reading, verified pairs, clusters, files; kernels compiled earlier. "
    text += "CPU and wall: the best of the repeats."
    head = ["what", "threads", "CPU s", "wall s", "peak MB", "× peer, CPU"]
    return [title, circumstances, text, table(head, rows), *_stages(result), *_model(result)]


def _stages(result: Record) -> list[str]:
    """Wall seconds by stage with one and two threads."""
    measured, found = _measured(result, "remove"), parts(result, "remove")
    if not found:
        return []
    one, two = measured
    lines = [[stage, f"{one[stage]:.2f}", f"{two[stage]:.2f}", f"{found[stage][1]:.2f}"] for stage in one]
    head = ["stage, kept documents written", "1 thread, wall s", "2 threads", "not shared, by Amdahl's law"]
    return [table(head, lines)]


def _model(result: Record) -> list[str]:
    """What the two points say about more cores."""
    rows = []
    for mode, name in MODES.items():
        share = serial_share(result, mode)
        if share is not None:
            seconds = [f"{modelled(result, mode, cores):.2f}" for cores in CORES]
            rows.append([name, f"{100 * share:.0f} %", *seconds])
    head = ["by the model, wall s", "not shared", *(f"{cores} cores" for cores in CORES)]
    return [table(head, rows)] if rows else []


def methods_page(result: Record, circumstances: str) -> list[str]:
    """One line a method."""
    found = good(result["records"])
    first = next((row["process"]["cpu"] for row in found if "minhash" in row["name"]), None)
    rows = []
    for row in found:
        whole = row["process"]["cpu"]
        times = DASH if first is None else f"{whole / first:.1f}"
        rows.append([row["name"], f"{whole:.2f}", f"{row['process']['rss_mb']:,.0f}", times])
    failed = [[row["name"], "failed: " + row["error"].splitlines()[-1][:80], DASH, DASH]
              for row in result["records"] if "error" in row]  # fmt: skip
    title = f"## Methods, cold, one core, over {result['documents']:,} documents, kept documents written"
    return [title, circumstances, table(["what", "CPU s", "peak MB", "× minhash"], [*rows, *failed])]


def cold_goals(results: dict[str, Record]) -> list[Goal]:
    """The headline's goals."""
    result = results.get("cold")
    if result is None:
        return []
    rows, goals = result["records"], []
    peer = min((row["process"]["cpu"] for row in good(rows, peer=True)), default=None)
    for mode, times, faster in (("remove", 5, 1.7), ("none", 8, 1.8)):
        one, two = (next(iter(good(rows, mode=mode, threads=n)), None) for n in (1, 2))
        if one is None:
            continue
        against = peer / one["process"]["cpu"] if peer else None
        goals.append(judged(f"cold, {MODES[mode]}, times the fastest peer's process", f"≥ {times}", against))
        if two is not None:
            twice = one["wall"] / two["wall"]
            goals.append(judged(f"cold, {MODES[mode]}: two threads, times one thread", f"≥ {faster}", twice))
            share = serial_share(result, mode)
            goals.append(judged(f"cold, {MODES[mode]}: share that threads do not shorten", "≤ 0.06", share))
    return goals
