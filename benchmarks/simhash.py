"""Fingerprints from raw text, beside the simhash packages of PyPI in an environment of their own.

    python benchmarks/simhash.py TEXTS.jsonl[.gz] [--environment DIR]

CPU time of one core, best of several; ours with tf-idf and frozen statistics, theirs with whatever they do by default.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import time
import venv
from pathlib import Path

from neardup.columns import Texts
from neardup.engines.core.represent import chunks, represent
from neardup.plan import stage_json
from neardup.registry import get_method
from neardup.statistics import Statistics, count_features

WORDS = "import re\nwords = lambda text: re.findall(r'\\w+', text.lower())\n"
PIECES = "words = lambda text: text.lower().split()\n"  # the cheapest tokens there are
RUST = "from simhash import simhash\nmake = lambda text: simhash(words(text), 'xxh3')"
# What makes a fingerprint, with what the package offers: its own tokens, or the words of a regular expression.
PEERS = {
    "simhash": "from simhash import Simhash\nmake = lambda text: Simhash(text).value",
    "simhash, words": WORDS + "from simhash import Simhash\nmake = lambda text: Simhash(words(text)).value",
    "simhash-pybind, words": WORDS + "from simhash import compute, unsigned_hash\n"
    "make = lambda text: compute([unsigned_hash(w.encode()) for w in words(text)])",
    "python-simhash (Rust), words": WORDS + RUST,
    "python-simhash (Rust), split": PIECES + RUST,
    "gaoya (Rust), words of its own": "from itertools import count\nfrom gaoya.simhash import SimHashStringIndex\n"
    "index, numbers = SimHashStringIndex(analyzer='word', lowercase=True), count()\n"
    "make = lambda text: index.insert_document(next(numbers), text)",  # it makes none without holding it
}
PACKAGES = {name: name.partition(",")[0].partition(" ")[0] for name in PEERS}
TIMER = """
import json, sys, time
{setup}
texts = json.load(sys.stdin)
best = 1e9
for _ in range(3):
    began = time.process_time()
    for text in texts:
        make(text)
    best = min(best, time.process_time() - began)
print(best)
"""


def ours(texts: list[str]) -> float:
    """Seconds for all texts."""
    plan = get_method("simhash").plan()
    batch = Texts.from_strings(texts)  # type: ignore[arg-type]
    feature = plan.counts[0]
    table = count_features(feature(plan.text(batch, details=False)))
    statistics = Statistics(len(texts), stage_json(plan.text), {stage_json(feature): table})
    best = float("inf")
    for _ in range(7):
        began = time.process_time()
        for _, part in chunks(batch):
            represent(plan, part, statistics)
        best = min(best, time.process_time() - began)
    return best


def theirs(name: str, texts: list[str], folder: Path) -> float | None:
    """Seconds for all texts, or None where the package cannot be installed."""
    home = folder / PACKAGES[name]
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        done = subprocess.run(
            [python, "-m", "pip", "-q", "install", "setuptools<70", PACKAGES[name]], check=False
        )
        if done.returncode:
            return None
    code = TIMER.format(setup=PEERS[name])
    done = subprocess.run(
        [python, "-c", code], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    return float(done.stdout) if done.returncode == 0 else None


def main() -> None:
    """Print a line for ours and one for each peer."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", type=Path)
    options.add_argument("--environment", type=Path, default=Path(".bench-simhash"))
    chosen = options.parse_args()
    opened = gzip.open if chosen.texts.suffix == ".gz" else open
    with opened(chosen.texts, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line).get("text") or "" for line in lines]
    size = sum(len(text.encode()) for text in texts)
    mine = ours(texts)
    print(f"neardup {size / mine / 1e6:.0f} MB/s ({len(texts):,} texts, {size / 1e6:.1f} MB)")
    few = texts[: max(1, int(len(texts) * 2e6 / max(size, 1)))]  # two megabytes are enough for them
    few_size = sum(len(text.encode()) for text in few)
    for name in PEERS:
        spent = theirs(name, few, chosen.environment)
        if spent is None:
            print(f"{name}: not to be had here", file=sys.stderr)
        else:
            rate = few_size / spent
            print(f"{name}: {rate / 1e6:.2f} MB/s; ours is {size / mine / rate:.0f} times as fast")


if __name__ == "__main__":
    main()
