"""neardup beside its peers: everything that calls neardup, and the worker that measures it warm.

    python benchmarks/ours.py JOB FILE --threads 1 --tokens words --output DIR

Jobs: `dedup` (kept documents, pairs and clusters written), `clusters` (the same without the documents),
`pairs` (every pair found, not only those that the clusters need), `signatures` (from text in memory, nothing
written). Each is run once on a few documents, so that kernels are loaded, and then on the file. Prints one
line `REPORT {...}`, as the peers' worker does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from peers.worker import cpu_seconds, peak_memory
from settings import NUM_PERM

CHUNK = 1 << 20  # bytes of text signed at once, as the engine does


def program() -> str:
    """The neardup command beside the Python that runs this."""
    return str(Path(sys.executable).with_name("neardup"))


def command(path: Path, folder: Path, threads: int, tokens: str) -> list[str]:
    """The command line of a whole run."""
    options = ["--threads", str(threads), "--tokens", tokens, "--force"]
    return [program(), "dedup", str(path), "-o", str(folder), *options]


def pairs_command(path: Path, folder: Path, threads: int, tokens: str) -> list[str]:
    """The command line that finds all pairs."""
    options = ["--threads", str(threads), "--tokens", tokens, "--force"]
    return [program(), "pairs", str(path), "-o", str(folder / "pairs.parquet"), *options]


def dedup(path: Path, folder: Path, threads: int, tokens: str) -> dict[str, Any]:
    """Parquet in; kept and removed documents, pairs and clusters out. Says what took how long."""
    import neardup

    report = neardup.dedup(path, threads=threads, tokens=tokens).write(folder, force=True)
    return {"stages": report.get("seconds", {})}


def clusters(path: Path, folder: Path, threads: int, tokens: str) -> dict[str, Any]:
    """Parquet in; pairs and clusters out, no documents."""
    import neardup

    result = neardup.dedup(path, threads=threads, tokens=tokens)
    return {"stages": result.write(folder, mode="none", force=True).get("seconds", {})}


def pairs(path: Path, folder: Path, threads: int, tokens: str) -> dict[str, Any]:
    """Parquet in; every pair and the clusters out, no documents."""
    import neardup

    result = neardup.dedup(path, threads=threads, tokens=tokens, pairs="all")
    return {"stages": result.write(folder, mode="none", force=True).get("seconds", {})}


def signatures(path: Path, folder: Path, threads: int, tokens: str) -> dict[str, Any]:
    """Signatures of text that is in memory: tokens, 5-grams and 128 slots, chunk by chunk; one thread."""
    from neardup.columns import Texts
    from neardup.methods.minhash import minhash

    plan = minhash(num_perm=NUM_PERM, tokens=tokens)
    column = pq.read_table(path, columns=["text"], use_threads=False).column("text")
    chunks = [part for array in column.chunks for part in cut(Texts.from_arrow(array))]
    cpu, wall = cpu_seconds(), time.perf_counter()
    for texts in chunks:
        plan.view.signature(plan.view.represent(plan.text(texts)))
    cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
    megabytes = sum(texts.size for texts in chunks) / 1e6
    return {"cpu": cpu, "wall": wall, "mb_per_s": round(megabytes / cpu, 1)}


def cut(texts: Any) -> Iterator[Any]:
    """The texts in slices of about CHUNK bytes."""
    starts = np.flatnonzero(np.diff(texts.offsets[:-1] // CHUNK, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(texts)], strict=True):
        yield texts.slice(int(start), int(stop))


def token_hashes(texts: pa.Array) -> list[np.ndarray]:
    """The 64-bit hashes of neardup's default tokens, one array a document."""
    from neardup.columns import Texts
    from neardup.text.words import Words

    tokens = Words()(Texts.from_arrow(texts))
    return np.split(tokens.hashes, tokens.offsets[1:-1])


def found(folder: Path, documents: int) -> dict[str, np.ndarray]:
    """Pairs and cluster labels from the files of a run, for quality.judge; ids are row numbers."""
    arrays: dict[str, np.ndarray] = {}
    if (folder / "pairs.parquet").exists():
        table = pq.read_table(folder / "pairs.parquet", columns=["left", "right"])
        sides = [table.column(side).to_numpy().astype(np.int64) for side in ("left", "right")]
        arrays["pairs"] = np.stack(sides, axis=1)
    if (folder / "clusters.parquet").exists():
        table = pq.read_table(folder / "clusters.parquet", columns=["id", "cluster"])
        _, labels = np.unique(table.column("cluster").to_numpy(), return_inverse=True)
        arrays["labels"] = np.arange(documents) + documents  # a document that is not listed is alone
        arrays["labels"][table.column("id").to_numpy().astype(np.int64)] = labels
    return arrays


JOBS: dict[str, Callable[[Path, Path, int, str], dict[str, Any]]] = {
    "dedup": dedup,
    "clusters": clusters,
    "pairs": pairs,
    "signatures": signatures,
}


def warm_up(job: str, path: Path, folder: Path, threads: int, tokens: str) -> None:
    """Run the job on 300 documents and near-duplicates of them, so that whatever loads late is loaded."""
    few = folder / "few.parquet"
    with pq.ParquetFile(path) as file:
        texts = next(file.iter_batches(batch_size=300, columns=["text"])).column(0).to_pylist()
    texts += texts[:10] + [text + " And so it ends." for text in texts]
    pq.write_table(pa.table({"id": range(len(texts)), "text": texts}), few)
    (folder / "warm").mkdir()
    JOBS[job](few, folder / "warm", threads, tokens)
    shutil.rmtree(folder / "warm")
    few.unlink()


def main() -> None:
    """Run one job warm and report its cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", default="words")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    shutil.rmtree(given.output, ignore_errors=True)
    given.output.mkdir(parents=True)
    warm_up(given.job, given.path, given.output, given.threads, given.tokens)
    cpu, wall = cpu_seconds(), time.perf_counter()
    said = JOBS[given.job](given.path, given.output, given.threads, given.tokens)
    costs = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "rss_mb": peak_memory()}
    print("REPORT " + json.dumps({**costs, **said}))


if __name__ == "__main__":
    main()
