"""Repeated passages: `neardup passages` beside a suffix array (pydivsufsort, with Kasai's LCP and a scan), by CPU time.

    python benchmarks/passages.py [--documents 100000]

Both read the same parquet file and find where passages repeat; neither writes documents. neardup takes 50 tokens; the
suffix array takes bytes, as Lee et al. (2021) do, and as many as 50 tokens of this corpus have. The tool of that
paper, which text-dedup's `suffix_array` calls, is a Rust program without a package: pydivsufsort stands for it. The
suffix array is stopped after `--limit` seconds of CPU, and the figures then say so.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from settings import CORPORA, RESULTS

TOKENS = 50
BYTES = 290  # of 50 tokens, about
HERE = Path(__file__).parent
MEMORY = "1G"


def suffix_array(path: str) -> None:
    """Prints how many bytes repeat, and what that cost."""
    import numpy as np
    import pyarrow.parquet as pq
    from pydivsufsort import divsufsort, kasai

    texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
    data = np.frombuffer(bytearray(b"\0".join(text.encode() for text in texts)), np.uint8)
    del texts
    start = time.process_time()
    suffixes = divsufsort(data)
    common = kasai(data, suffixes)
    found = np.flatnonzero(common[:-1] >= BYTES)
    starts = np.unique(np.concatenate([suffixes[found], suffixes[found + 1]]).astype(np.int64))
    gaps = np.minimum(np.diff(starts, append=starts[-1:] + BYTES), BYTES)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "cpu": used.ru_utime + used.ru_stime,
                "of_it_suffix_array": time.process_time() - start,
                "peak_mb": used.ru_maxrss / 1024,
                "repeated_bytes": int(gaps.sum()),
            }
        )
    )


def ours(path: str) -> dict[str, float]:
    """What `neardup passages` costs, as a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            "neardup",
            "passages",
            path,
            "-o",
            f"{folder}/out",
            "--memory",
            MEMORY,
            "--threads",
            "1",
            "--json",
        ]
        program = [sys.executable, "-m", *command, "--tokens", str(TOKENS)]
        done = subprocess.run(program, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = json.loads(done.stdout)
        return {
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "peak_mb": report["peak_memory_bytes"] / 2**20,
            "repeated_tokens": report["tokens_repeated"],
            "tokens": report["tokens"],
        }


def peer(python: str, corpus: str, limit: int) -> dict[str, float]:
    """What the suffix array costs, or how long it took without coming to an end."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    done = subprocess.run(
        [python, __file__, "--peer", corpus], capture_output=True, text=True, preexec_fn=bound
    )
    if done.returncode == -signal.SIGXCPU or done.returncode == -signal.SIGKILL:
        return {"cpu": limit, "ended": False}
    done.check_returncode()
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measures both, one after the other, and prints and stores the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--corpus", help="a parquet file with a column text, in place of a generated one")
    parser.add_argument("--python", default=str(HERE / "work/venvs/pydivsufsort/bin/python"))
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, default=240, help="seconds of CPU for the suffix array")
    options = parser.parse_args()
    if options.peer:
        suffix_array(options.peer)
        return
    corpus = options.corpus or str(CORPORA / f"passages-{options.documents}.parquet")
    if not Path(corpus).exists():
        Path(corpus).parent.mkdir(parents=True, exist_ok=True)
        generate = [
            sys.executable,
            str(HERE / "generate.py"),
            "--documents",
            str(options.documents),
            "-o",
            corpus,
        ]
        subprocess.run(generate, check=True)
    found = {"neardup passages": ours(corpus)}
    found["pydivsufsort"] = peer(options.python, corpus, options.limit)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "passages.json").write_text(json.dumps(found, indent=2) + "\n")
    for name, row in found.items():
        if row.get("ended", True):
            print(f"{name:<18} {row['cpu']:7.1f} s of CPU, {row['peak_mb']:,.0f} MB at the peak")
        else:
            print(f"{name:<18} did not end within {row['cpu']:.0f} s of CPU")


if __name__ == "__main__":
    main()
