"""What this machine can do at all with one core and the same bytes: `python benchmarks/limits.py FILE`.

No run that reads the file can be faster than reading it. Prints one line `REPORT {...}`: seconds and MB/s
(10^6 bytes of text a second), the best of a few.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from peers.common import word_ngrams

REPEATS = 3


def best(work: Callable[[], Any]) -> float:
    """The least CPU seconds of a few runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return max(min(seconds), 1e-9)


def limits(path: Path, text: pa.ChunkedArray, data: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Each piece of work that some run cannot do without."""
    copy, strings, table = np.empty_like(data), text.to_pylist(), pa.table({"text": text})
    return {
        "memory copy": lambda: np.copyto(copy, data),
        "parquet to Arrow": lambda: pq.read_table(path, columns=["text"], use_threads=False),
        "Arrow to parquet (snappy)": lambda: pq.write_table(table, pa.BufferOutputStream()),
        "Arrow to Python strings": lambda: text.to_pylist(),
        "Python lower and split": lambda: sum(len(string.lower().split()) for string in strings),
        "Python word 5-grams": lambda: sum(len(word_ngrams(string)) for string in strings),
    }


def main() -> None:
    """Measure every limit and report."""
    path = Path(sys.argv[1])
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    text = pq.read_table(path, columns=["text"], use_threads=False).column("text")
    data = np.concatenate([np.frombuffer(chunk.buffers()[2], np.uint8) for chunk in text.chunks])
    seconds = {name: best(work) for name, work in limits(path, text, data).items()}
    rates = {name: round(len(data) / 1e6 / spent) for name, spent in seconds.items()}
    rows = [{"what": name, "seconds": round(seconds[name], 4), "mb_per_s": rates[name]} for name in seconds]
    print("REPORT " + json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
