"""Compile the kernels for a wheel: .venv/bin/python tools/compile_kernels.py [--check].

Runs the commands below in fresh processes with Numba set to each level of x86-64 processors, and gathers the machine
code that they keep in src/neardup/kernels/compiled. `--check` runs them again with what was gathered, and fails if one
still compiles. `make wheel` calls both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from neardup.kernels import machine_code, shipped
from neardup.registry import methods

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
DOCUMENTS = 2_000
COMPARING = ("minhash", "hybrid", "spotsigs", "super_shingles")  # methods that compare two texts on their own


def commands(folder: Path) -> Iterator[list[str]]:
    """What people run: every method on every kind of input, comparisons, an index, and the pages about them."""
    corpus, near = str(folder / "corpus.parquet"), str(folder / "near.parquet")
    articles, pages = str(EXAMPLES / "articles.jsonl"), str(EXAMPLES / "pages")
    out = ["--force", "-o"]
    for method in methods():
        own = ["--method", method, "--threads", "2"]
        yield [
            "dedup",
            corpus if method != "cosine" else articles,
            *own,
            *out,
            str(folder / f"{method}-corpus"),
        ]
        yield ["dedup", articles, *own, *out, str(folder / f"{method}-articles")]
        yield ["pairs", articles, *own, *out, str(folder / f"{method}.parquet")]
        index = str(folder / f"{method}.index")
        yield ["index", "build", index, articles, *own[:2]]
        yield ["index", "query", index, articles]
        yield ["index", "add", index, articles]
        yield ["index", "check", index, articles]
    for method in COMPARING:
        own = ["--method", method]
        yield ["compare", str(EXAMPLES / "harbour.txt"), str(EXAMPLES / "harbour-syndicated.txt"), *own]
    yield ["dedup", articles, "--method", "simhash", "--fields", "title", *out, str(folder / "fields")]
    for text in ("visible", "article"):
        yield ["dedup", pages, "--html-text", text, *out, str(folder / f"pages-{text}")]
    for clusters in ("components", "leaders", "average", "complete"):
        yield ["dedup", corpus, "--clusters", clusters, *out, str(folder / f"clusters-{clusters}")]
    for checked in ("exact", "estimate", "none"):
        yield ["dedup", corpus, "--verify", checked, *out, str(folder / f"verify-{checked}")]
    yield ["dedup", near, *out, str(folder / "near")]
    yield ["dedup", corpus, "--pairs", "all", *out, str(folder / "all")]
    yield ["dedup", corpus, "--tokens", "whitespace", *out, str(folder / "whitespace")]
    yield ["dedup", articles, "--mode", "annotate", "--memory", "300M", *out, str(folder / "annotated")]
    yield ["dedup", articles, "--dry-run", *out, str(folder / "dry")]
    yield ["report", str(folder / "minhash-articles")]
    yield ["index", "compact", str(folder / "minhash.index")]
    yield ["index", "verify", str(folder / "minhash.index")]
    yield ["index", "clusters", str(folder / "minhash.index")]
    yield ["stats", "build", articles, *out, str(folder / "statistics.parquet")]


def corpora(folder: Path) -> None:
    """Made-up documents: some in clusters, and others nearly the same."""
    for name, kind in (("corpus", "clusters"), ("near", "near-identical")):
        given = ["--documents", str(DOCUMENTS), "--kind", kind, "-o", str(folder / f"{name}.parquet")]
        subprocess.run([sys.executable, str(HERE.parent / "benchmarks" / "generate.py"), *given], check=True)


def run_all(folder: Path, variables: dict[str, str], threads: int) -> None:
    """Run the commands; one that fails is printed, because its kernels are then missing."""

    def run(command: list[str]) -> None:
        program = str(Path(sys.executable).with_name("neardup"))
        done = subprocess.run(
            [program, *command], capture_output=True, text=True, env={**os.environ, **variables}
        )
        if done.returncode:
            print("failed:", *command, done.stderr.strip()[-300:], flush=True)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, commands(folder)))


def compile_level(level: str, folder: Path, target: Path) -> int:
    """The number of kernels whose machine code for a level of processors was gathered."""
    cache = folder / level
    features = ",".join(f"+{name}" for name in shipped.LEVELS[level])
    run_all(
        folder,
        {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(cache)},
        threads=1,  # two processes that keep code of one kernel at a time might lose one's
    )
    found = sorted((cache / "neardup-kernels").glob("*.code"))
    for path in found:
        kernel = path.name.removesuffix(".code").rpartition(".")[0]
        shutil.copyfile(path, target / f"{kernel}.{level}.code")
    return len(found)


def check(folder: Path) -> int:
    """How many kernels are still compiled although the package brings machine code."""
    cache = folder / "check"
    run_all(folder, {"NUMBA_CACHE_DIR": str(cache)}, threads=2)
    left = sorted(path.name for path in (cache / "neardup-kernels").glob("*.code"))
    print(f"{len(left)} kernels compiled in spite of the machine code that the package brings", *left[:20])
    return len(left)


def main() -> int:
    """0; 1 if kernels are missing from what was gathered."""
    target = shipped.FOLDER
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        corpora(folder)
        if "--check" in sys.argv:
            return int(shipped.level() is None or check(folder) > 0)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for level in shipped.LEVELS:
            if shipped.best_level({level}) is None:
                print(f"{level}: left out, this processor cannot run it")
                continue
            print(f"{level}: {compile_level(level, folder, target)} kernels", flush=True)
    levels = sorted({path.name.split(".")[-2] for path in target.glob("*.code")})
    manifest = {"format": machine_code.FORMAT, "requirements": shipped.requirements(), "levels": levels}
    (shipped.FOLDER / shipped.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"{sum(path.stat().st_size for path in target.iterdir()) / 1e6:.1f} MB in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
