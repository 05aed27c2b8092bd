"""Run one peer once, in its own environment: `python -m peers.worker PEER FILE THREADS OUTPUT.npz`.

Prints one line `REPORT {...}` with wall and CPU seconds of the job alone, peak memory, stages and versions.
What the peer found is stored in OUTPUT.npz.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import resource
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from peers import ENVIRONMENTS, PEERS
from peers.common import Stages, Task


def warm_up() -> None:
    """Load what pyarrow imports lazily before the clock starts, for every peer alike."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["x"]}), sink)
    pq.read_table(pa.BufferReader(sink.getvalue()), columns=["text"]).column("text").to_pylist()


def cpu_seconds() -> float:
    """CPU seconds of this process and of the children it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_memory() -> float:
    """The peak of this process or of its largest child, in MB (2^20 bytes)."""
    own = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(int(own[1]) if own else 0, child) / 1024


def versions(environment: str) -> dict[str, str]:
    """The installed versions of what the environment names, Python's with them."""
    names = [re.split(r"[\[<>=]", name)[0] for name in ENVIRONMENTS[environment].requirements]
    found = {name: importlib.metadata.version(name) for name in names}
    return {**found, "python": sys.version.split()[0]}


def main() -> None:
    """Run the peer, store what it found, report."""
    name, path, threads, output = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    peer, folder = PEERS[name], output.with_suffix(".work")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    function = getattr(importlib.import_module(f"peers.{peer.module}"), peer.function)
    for module in ENVIRONMENTS[peer.module].imports:
        importlib.import_module(module)
    warm_up()
    task = Task(path, threads, folder, Stages())
    cpu, wall = cpu_seconds(), time.perf_counter()
    found = function(task)
    cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
    np.savez(output, **{key: found[key] for key in ("pairs", "labels", "flags") if key in found})
    shutil.rmtree(folder)
    stages = {stage: round(seconds, 3) for stage, seconds in task.stage.seconds.items()}
    costs = {"wall": round(wall, 3), "cpu": round(cpu, 3), "rss_mb": round(peak_memory())}
    about = {"settings": found.get("settings", ""), "versions": versions(peer.module)}
    print("REPORT " + json.dumps({**costs, "stages": stages, **about}))


if __name__ == "__main__":
    main()
