"""What one call costs, over many calls: percentiles of wall time. Runs in every peer's environment, and in ours."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np


def percentiles(nanoseconds: Iterable[int]) -> dict[str, float]:
    """Median, p90, p99 and the worst of some times, in µs."""
    times = np.array(list(nanoseconds), dtype=np.float64) / 1000
    if not len(times):
        return {}
    return {
        "median_us": round(float(np.median(times)), 1),
        "p90_us": round(float(np.percentile(times, 90)), 1),
        "p99_us": round(float(np.percentile(times, 99)), 1),
        "worst_us": round(float(times.max()), 1),
    }


def timed_look_ups(
    look_up: Callable[[str], Iterable[Any]], texts: list[str], sources: list[int]
) -> dict[str, Any]:
    """Percentiles over all texts, over near-duplicates and over new texts; and which answers were right."""
    times, processor, found, mistaken, matches = [], [], 0, 0, 0
    for text, source in zip(texts, sources, strict=True):
        start, cpu = time.perf_counter_ns(), time.process_time_ns()
        answer = list(look_up(text))
        processor.append(time.process_time_ns() - cpu)
        times.append(time.perf_counter_ns() - start)
        matches += len(answer)
        found += source >= 0 and source in answer
        mistaken += source < 0 and bool(answer)
    near = [time for time, source in zip(times, sources, strict=True) if source >= 0]
    new = [time for time, source in zip(times, sources, strict=True) if source < 0]
    return {
        **percentiles(times),
        "cpu": percentiles(processor),  # what other programs on the machine disturb less
        "near": percentiles(near),
        "new": percentiles(new),
        "found": round(found / max(len(near), 1), 4),  # near-duplicates whose document is among the matches
        "new_with_matches": mistaken,
        "matches": matches,
    }


def timed_calls(call: Callable[[Any], object], items: Iterable[Any], each: int = 1) -> dict[str, float]:
    """Calls one after the other: documents a second (each call has so many), CPU µs a document, and percentiles."""
    times = []
    cpu, wall = time.process_time(), time.perf_counter()
    for item in items:
        start = time.perf_counter_ns()
        call(item)
        times.append(time.perf_counter_ns() - start)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    count = each * len(times)
    costs = {"calls": len(times), "per_s": round(count / wall, 1), "cpu_us": round(1e6 * cpu / count, 2)}
    return {**costs, **percentiles(times)}


def memory(process: int | str = "self") -> dict[str, float]:
    """Resident memory of a process in MB (2^20 bytes), and the part of it that is not the page cache's."""
    status = Path(f"/proc/{process}/status").read_text()
    sizes = {name: int(size) / 1024 for name, size in re.findall(r"(\w+):\s+(\d+) kB", status)}
    return {"resident_mb": round(sizes["VmRSS"], 1), "anonymous_mb": round(sizes["RssAnon"], 1)}
