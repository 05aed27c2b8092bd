"""The studio over a result with many clusters: its index, its start, and how long pages take.

    python benchmarks/studio.py [--clusters 100000] [--work DIR] [--browser]

The result is made up: each cluster has two to four documents of about 140 words. The studio runs in a process of its
own; a page counts from the request to its last byte, and with --browser from the key to the load event of the next one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import neardup

PAGES = 200  # clusters that are looked at, one after the other
SENTENCES = 5000  # of which texts are made
SITES = [f"site{number}.example" for number in range(40)]
SMALL = [
    {"id": str(k), "text": f"one two three four five six seven {'' if k else 'eight'}"} for k in range(3)
]


def make_result(folder: Path, clusters: int, seed: int = 1) -> None:
    """A result of dedup with so many clusters: made up, but for its report, which is that of a small run."""
    neardup.dedup(pa.Table.from_pylist(SMALL), threshold=0.7).write(folder, format="parquet")
    draw = np.random.default_rng(seed)
    sizes = draw.choice([2, 2, 2, 3, 4], clusters)
    cluster, n = np.repeat(np.arange(clusters), sizes), int(sizes.sum())
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = first == np.arange(n)
    similarity = np.where(keep, np.nan, np.round(draw.beta(4, 2, n) * 0.3 + 0.7, 4))
    kinds = np.where(similarity > 0.99, "copy", np.where(draw.random(n) < 0.02, "chain", "direct"))
    ids = np.array([f"document-{number}" for number in range(n)])
    table = pa.table({
        "id": ids, "cluster": ids[first], "leader": ids[first], "keep": keep,
        "duplicate_of": pa.array(ids[first], mask=keep), "similarity": pa.array(similarity, from_pandas=True),
        "containment": pa.array(similarity, from_pandas=True),
        "relation": pa.array(np.full(n, "near-duplicate"), mask=keep), "evidence": pa.array(kinds, mask=keep),
        "size": sizes[cluster], "weakest_link": np.full(n, 0.7),
    })  # fmt: skip
    removed = table.filter(pa.array(~keep))
    pairs = pa.table({
        "left": removed["duplicate_of"], "right": removed["id"], "similarity": removed["similarity"],
        "containment": removed["containment"], "relation": removed["relation"], "reason": ["similar"] * len(removed),
        "bridge": [False] * len(removed),
    })  # fmt: skip
    pq.write_table(table, folder / "clusters.parquet")
    pq.write_table(pairs, folder / "pairs.parquet")
    documents = pa.table({
        "id": ids, "text": texts(cluster, draw), "source": draw.choice(SITES, n),
        "date": [f"2024-{month:02}-01" for month in draw.integers(1, 13, n)],
    })  # fmt: skip
    pq.write_table(documents.filter(pa.array(keep)), folder / "kept.parquet")
    pq.write_table(documents.filter(pa.array(~keep)), folder / "removed.parquet")
    report = json.loads((folder / "report.json").read_text())
    report |= {
        "documents": n,
        "kept": clusters,
        "removed": n - clusters,
        "clusters": clusters,
        "largest_clusters": [],
    }
    (folder / "report.json").write_text(json.dumps(report))


def texts(cluster: np.ndarray, draw: np.random.Generator) -> list[str]:
    """A text of eleven sentences for each document, ten of them those of its cluster."""
    words = [
        f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u") for c in ("n", "r", "st")
    ]
    made = [" ".join(draw.choice(words, 12)) + f" {number}." for number in range(SENTENCES)]
    chosen = draw.integers(0, SENTENCES, (int(cluster[-1]) + 1, 10))
    own = draw.integers(0, SENTENCES, len(cluster))
    return [
        " ".join([made[k] for k in chosen[number]] + [made[mine]])
        for number, mine in zip(cluster.tolist(), own.tolist(), strict=True)
    ]


def command(*words: str) -> list[str]:
    """The command line of neardup."""
    return [sys.executable, "-m", "neardup", *words]


def started(folder: Path) -> tuple[subprocess.Popen[str], str, float]:
    """A studio, its address, and how long it took to listen."""
    begin = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    words = command("studio", str(folder), "--no-browser", "--port", "0")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    process.stdout.readline()
    return process, process.stdout.readline().strip(), time.perf_counter() - begin


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of some work, and what it returns."""
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def summary(seconds: list[float]) -> dict[str, float]:
    """Milliseconds: median, 95th percentile, most."""
    return {
        "median_ms": round(1000 * statistics.median(seconds), 1),
        "p95_ms": round(1000 * statistics.quantiles(seconds, n=20)[-1], 1),
        "most_ms": round(1000 * max(seconds), 1),
    }


def over_http(start: str) -> dict[str, Any]:
    """The first page, next items, decisions, filters and searches."""
    base, token = start.split("/?token=")
    found: dict[str, Any] = {}
    with httpx.Client(base_url=base, timeout=60, follow_redirects=True) as client:
        seconds, page = timed(lambda: client.get("/", params={"token": token}))
        found["first_page_ms"] = round(1000 * seconds, 1)
        found["page_bytes"] = len(page.content)
        nexts, decisions = [], []
        for _ in range(PAGES):
            address = re.search(r'<a href="([^"]+)" data-key="j"', page.text)
            assert address is not None
            seconds, page = timed(partial(client.get, address[1].replace("&amp;", "&")))
            nexts.append(seconds)
        for _ in range(PAGES):
            fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
            fields = {
                name: value.replace("&quot;", '"').replace("&amp;", "&") for name, value in fields.items()
            }
            form = {**fields, "action": "confirm"}
            posted = partial(client.post, "/review/decide", data=form, headers={"origin": base})
            seconds, page = timed(posted)
            assert page.status_code == 200 and "Stored" in page.text
            decisions.append(seconds)
        found["next"], found["decide_and_next"] = summary(nexts), summary(decisions)
        for name, query in (
            ("filter_similarity_ms", "low=0.8&high=0.9"),
            ("filter_source_ms", "source=site3.example"),
            ("filter_decided_ms", "status=decided"),
            ("search_id_ms", "q=document-77777"),
            ("search_text_ms", "q=bansomething"),
        ):
            found[name] = round(1000 * timed(lambda where=query: client.get(f"/review?{where}"))[0], 1)
        found["threshold_first_ms"] = round(
            1000 * timed(lambda: client.get("/workbench?threshold=0.9"))[0], 1
        )
        found["threshold_again_ms"] = round(
            1000 * timed(lambda: client.get("/workbench?threshold=0.85"))[0], 1
        )
    return found


def in_browser(start: str) -> dict[str, Any]:
    """The same in Chromium, by keys."""
    from playwright.sync_api import sync_playwright

    path = next(one for name in ("chromium", "google-chrome") if (one := shutil.which(name)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        first = timed(lambda: page.goto(start))[0]

        def press(key: str) -> None:
            with page.expect_navigation(wait_until="load"):
                page.keyboard.press(key)

        nexts = [timed(lambda: press("j"))[0] for _ in range(PAGES // 4)]
        decisions = [timed(lambda: press("c"))[0] for _ in range(PAGES // 4)]
        browser.close()
    return {
        "first_page_ms": round(1000 * first, 1),
        "next": summary(nexts),
        "decide_and_next": summary(decisions),
    }


def measure(clusters: int, work: Path, browser: bool) -> dict[str, Any]:
    """All figures."""
    folder = work / f"studio-{clusters}"
    if not (folder / "report.json").exists():
        make_result(folder, clusters)
    shutil.rmtree(folder / ".studio", ignore_errors=True)
    for left in folder.glob("decisions.db*"):
        left.unlink()
    report = json.loads((folder / "report.json").read_text())
    found: dict[str, Any] = {name: report[name] for name in ("documents", "removed", "clusters")}
    process, start, seconds = started(folder)
    found["first_start_s"] = round(seconds, 2)
    found["index_bytes"] = (folder / ".studio" / "review.db").stat().st_size
    end(process)
    process, start, seconds = started(folder)
    found["start_s"] = round(seconds, 2)
    found["http"] = over_http(start)
    if browser:
        found["browser"] = in_browser(start)
    peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    found["peak_megabytes"] = round(int(peak[1]) / 1024) if peak else None
    end(process)

    return found


def end(process: subprocess.Popen[str]) -> None:
    """Ends a studio."""
    process.terminate()
    process.wait(30)


def main() -> None:
    """Prints the figures, and stores them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clusters", type=int, default=100_000)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--browser", action="store_true")
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    found = measure(given.clusters, work, given.browser)
    text = json.dumps(found, indent=2)
    print(text)
    if given.clusters == 100_000:
        (Path(__file__).parent / "results" / "studio-100k.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
