"""text-dedup 0.4 through its command, as its users run it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np

from peers.common import Found, Task, count_rows
from settings import BANDS, NGRAM, NUM_PERM, ROWS, THRESHOLD


def options(task: Task, hash_function: str, bits: int) -> dict[str, object]:
    """The command's options for the common task; --debug stores the union-find, the only trace of pairs."""
    return {
        "path": "parquet",
        "data_files": task.path,
        "split": "train",
        "cache_dir": task.folder / "cache",
        "output": task.folder / "out",
        "column": "text",
        "ngram": NGRAM,
        "min_length": NGRAM,
        "num_perm": NUM_PERM,
        "threshold": THRESHOLD,
        "b": BANDS,
        "r": ROWS,
        "hash_func": hash_function,
        "hash_bits": bits,
        "num_proc": task.threads,
    }


def dedup(task: Task, hash_function: str, bits: int) -> Found:
    """Clusters from its union-find file; it reports no pairs."""
    given = [
        text
        for name, value in options(task, hash_function, bits).items()
        for text in (f"--{name}", str(value))
    ]
    with task.stage("command"):
        subprocess.run(
            [sys.executable, "-m", "text_dedup.minhash", *given, "--debug"],
            cwd=task.folder,
            env={**os.environ, "HF_HOME": str(task.folder / "hf")},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    labels = np.arange(count_rows(task.path))
    with (task.folder / "out" / "uf.pkl").open("rb") as file:
        clusters = pickle.load(file)
    for number in list(clusters.parent):
        labels[number] = clusters.find(number)
    return {
        "labels": labels,
        "settings": f"{NUM_PERM} slots, {BANDS} x {ROWS}, {hash_function}, not verified",
    }


def default(task: Task) -> Found:
    """Its default hash, SHA-1 in 64 bits."""
    return dedup(task, "sha1", 64)


def fast(task: Task) -> Found:
    """Its fastest documented hash, xxh3 in 32 bits."""
    return dedup(task, "xxh3", 32)
