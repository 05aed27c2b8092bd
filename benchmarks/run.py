"""Ours beside the peers, in one run: `python benchmarks/run.py`, or `make bench`.

Makes the corpora, truths and environments that are missing; runs everything in fresh processes pinned to one
core (two for two threads); takes the best of a few by CPU time; writes results/*.json and RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import budgets
import cold
import measure
import report
import sections
from peers import PEERS
from settings import RESULTS, WORK

SCALING = ["100k", "400k", "200k-distinct", "200k-identical", "20k-near-identical", "10k-template"]
SECTIONS = ("cold", "methods", "speed", "scaling", "startup", "limits", "budgets")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="20k,100k", help="names or files, with commas  [20k,100k]")
    parser.add_argument("--peers", default="all", help="names with commas, all, fast or none  [all]")
    parser.add_argument("--reps", type=int, default=3, help="runs of each, of which the best counts  [3]")
    parser.add_argument("--threads", default="1,2", help="numbers of threads  [1,2]")
    parser.add_argument(
        "--sections", default=",".join(SECTIONS), help=f"some of {', '.join(SECTIONS)}  [all]"
    )
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one run  [1800]")
    parser.add_argument("--quick", action="store_true", help="2,000 documents, one run each, fast peers only")
    given = parser.parse_args()
    if given.quick:
        given.corpus, given.reps, given.peers = "2k", 1, "fast" if given.peers == "all" else given.peers
    return given


def chosen_peers(words: str) -> tuple[str, ...]:
    """The peers that the words name."""
    groups = {
        "all": tuple(PEERS),
        "fast": tuple(name for name, peer in PEERS.items() if not peer.slow),
        "none": (),
    }
    names = groups.get(words, tuple(words.split(",")))
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise SystemExit(f"no peer {', '.join(unknown)}: there are {', '.join(PEERS)}")
    return names


def our_versions() -> dict[str, str]:
    """The versions of neardup and of what it stands on."""
    found = {}
    for name in ("neardup", "numpy", "numba", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def store(name: str, content: dict[str, Any], quick: bool) -> None:
    """Write one result with its circumstances; a quick one goes where it is not taken for a measurement."""
    folder = WORK / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"machine": measure.stamp(), "versions": our_versions(), **content}
    (folder / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n")


def main() -> None:
    """Run the chosen sections, one after the other, and write the page."""
    given = arguments()
    threads = tuple(map(int, given.threads.split(",")))
    options = sections.Options(chosen_peers(given.peers), given.reps, threads, timeout=given.timeout)
    wanted, names = given.sections.split(","), given.corpus.split(",")
    for name, section in (("cold", cold.cold), ("methods", cold.methods)):
        if name in wanted:
            store(name, section(names[-1], options), given.quick)
    if "speed" in wanted:
        for name in names:
            result = sections.speed(name, options)
            store(f"speed-{result['corpus']}", result, given.quick)
    if "scaling" in wanted:
        sizes = ["2k", "8k", "4k-distinct", "4k-identical", "2k-near-identical", "2k-template"]
        store("scaling", sections.scaling(sizes if given.quick else SCALING, options), given.quick)
    if "startup" in wanted:
        store("startup", sections.startup(options), given.quick)
    if "limits" in wanted:
        store("limits", sections.limits(names[-1], options), given.quick)
    if "budgets" in wanted:
        store("budgets", budgets.budgets(options, given.quick), given.quick)
    print("\n" + report.write(given.quick))


if __name__ == "__main__":
    main()
