"""Commands run in fresh processes, pinned to cores, with their cost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from settings import HERE, cores

THREADS = (
    "RAYON_NUM_THREADS OMP_NUM_THREADS OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS MKL_NUM_THREADS "
    "NUMBA_NUM_THREADS POLARS_MAX_THREADS ARROW_NUM_THREADS"
)
REPORT = re.compile(r"^REPORT (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class LocalRun:
    """One command, run once.

    `wall`, `cpu` and `rss_mb` are of the whole process and its children. `report` is what the command said
    of itself on a line `REPORT {...}`: for a worker the same three for the job alone, without start-up.
    """

    wall: float
    cpu: float
    rss_mb: float
    report: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    load: float = 0.0  # of the machine, before


def environment(threads: int, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a measured process: every thread pool limited, nothing fetched from outside."""
    fixed = {"PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    fixed["PYTHONDONTWRITEBYTECODE"] = ""  # an installed package is not compiled again by every process
    return {**os.environ, **dict.fromkeys(THREADS.split(), str(threads)), **fixed, **(extra or {})}


def run(command: Sequence[str], threads: int = 1, timeout: float = 1800, **variables: str) -> LocalRun:
    """Run the command on its first `threads` cores and say what it cost; a failure is a Run with an error."""
    with tempfile.TemporaryDirectory() as folder:
        costs, load = Path(folder) / "costs.json", os.getloadavg()[0]
        pinned = ["taskset", "-c", cores(threads), sys.executable, "-IS", str(HERE / "launch.py"), str(costs)]
        finished = complete([*pinned, *command], environment(threads, variables), timeout)
        if isinstance(finished, str):
            return LocalRun(timeout, timeout, 0.0, error=finished)
        spent = json.loads(costs.read_text()) if costs.exists() else {"wall": 0.0, "cpu": 0.0, "rss_mb": 0.0}
    found = REPORT.search(finished.stdout)
    report = json.loads(found[1]) if found else {}
    error = "" if finished.returncode == 0 else (finished.stderr or finished.stdout)[-2000:] or "failed"
    return LocalRun(**spent, report=report, error=error, load=load)


def complete(
    command: list[str], variables: dict[str, str], timeout: float
) -> subprocess.CompletedProcess[str] | str:
    """The finished process, or in words why there is none."""
    process = subprocess.Popen(
        command,
        env=variables,
        cwd=HERE,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that a timeout ends its children too
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return f"no result after {timeout:.0f} s"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def job(one: LocalRun) -> dict[str, float]:
    """Wall, CPU and memory of the job alone where the process reported it, else of the whole process."""
    return {key: float(one.report.get(key, getattr(one, key))) for key in ("wall", "cpu", "rss_mb")}


def best_of(
    command: Sequence[str], threads: int, repeats: int, **options: Any
) -> tuple[LocalRun, list[float]]:
    """The run with the least CPU time, and the CPU times of all; a first failure ends the repeats."""
    runs: list[LocalRun] = []
    for _ in range(repeats):
        runs.append(run(command, threads, **options))
        if runs[-1].error:
            return runs[-1], []
    runs.sort(key=lambda one: job(one)["cpu"])
    return runs[0], [round(job(one)["cpu"], 3) for one in runs]


def stamp() -> dict[str, Any]:
    """When and on what: date, processor, cores, memory, Python."""
    described = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*:\s*(.*)", described)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "processor": model[1] if model else "unknown",
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory),
        "python": sys.version.split()[0],
    }


def as_dict(one: LocalRun) -> dict[str, Any]:
    """The run as plain data, rounded to what can be meant."""
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(one).items()}
