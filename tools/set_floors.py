"""Measures every method on the labelled data of this machine and raises the floors of tests/quality/floors.json.

    python tools/set_floors.py                         raise what has become better
    python tools/set_floors.py --add own minhash:ngram=2
    python tools/set_floors.py --lower                 accept what has become worse

Nothing is written if a floor would have to be lowered and --lower is not given.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from quality_gate import (
    Floors,
    LoweredFloor,
    Score,
    fingerprint,
    measure,
    open_bench,
    raised,
    read_floors,
    write_floors,
)

from neardup.errors import NeardupError

FLOORS = Path(__file__).parent.parent / "tests" / "quality" / "floors.json"


def arguments(given: list[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Measure and raise the floors of quality.")
    parser.add_argument("--lower", action="store_true", help="accept scores below the floors of today")
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("DATA", "METHOD"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--floors", type=Path, default=FLOORS, help="the file of floors")
    return parser.parse_args(given)


def updated(floors: Floors, options: argparse.Namespace) -> tuple[Floors, list[str]]:
    """The floors after measuring everything that is here, and what would have been lowered."""
    refused = []
    wanted = {name: dict.fromkeys(methods) for name, methods in floors.scores.items()}
    for name, method in options.add:
        wanted.setdefault(name, {})[method] = None
    for name, methods in wanted.items():
        if name not in floors.data:
            raise NeardupError(
                f"{options.floors} knows no data set {name!r}; it knows {', '.join(floors.data)}"
            )
        data = floors.data[name]
        absent = data.absent(options.floors)
        if absent:
            print(f"{name}: skipped, {absent}")
            continue
        floors = floors.with_hash(name, fingerprint(data.paths(options.floors)))
        bench = open_bench(name, data, options.floors, same=False, threads=options.threads)
        for method in methods:
            old, found = floors.scores.get(name, {}).get(method), measure(bench, method)
            try:
                floors = floors.with_score(name, method, raised(old, found, lower=options.lower))
            except LoweredFloor as error:
                refused.append(f"{name}, {method}: {error}")
            report(name, method, old, found, floors.scores[name][method])
    return floors, refused


def report(name: str, method: str, old: Score | None, found: Score, new: Score) -> None:
    """One line for one method."""
    recall = "–" if found.recall is None else f"{found.recall:.4f}"
    change = "new" if old is None else "as before" if old == new else f"was {old.f1:.4f} / {old.recall}"
    print(
        f"{name:>16}  {method:<32} F1 {found.f1:.4f}  recall {recall}  floor {new.f1:.4f} / {new.recall}  ({change})"
    )


def main(given: list[str] | None = None) -> int:
    """0, or 2 if nothing was written."""
    options = arguments(given)
    try:
        floors, refused = updated(read_floors(options.floors), options)
    except NeardupError as error:
        print(error, file=sys.stderr)
        return 2
    if refused:
        print("\n".join(["Nothing was written:", *refused]), file=sys.stderr)
        return 2
    write_floors(floors, options.floors)
    return 0


if __name__ == "__main__":
    sys.exit(main())
