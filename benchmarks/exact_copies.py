"""`dedup --method exact` beside reading and writing the same documents with nothing between, by CPU time.

    python benchmarks/exact_copies.py CORPUS.parquet

Both are processes of their own with one thread, and take turns; the least of five counts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import measure

REPEATS = 5


def copy(given: str, target: str) -> None:
    """Reads all documents and writes them again."""
    from neardup.documents import Problems, open_inputs, output_layout

    sources = open_inputs([given])
    layout = output_layout(sources)
    writer = layout.open(Path(target))
    for source in sources:
        for batch in source.read(layout.columns, Problems(), raw=layout.verbatim):
            writer.write(batch)
    writer.close()


def seconds(command: list[str]) -> float:
    """The CPU time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=measure.environment(1))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the seconds of each."""
    if len(sys.argv) == 3:
        copy(sys.argv[1], sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as folder:
        dedup = [
            sys.executable,
            "-m",
            "neardup",
            "dedup",
            sys.argv[1],
            "--method",
            "exact",
            "--threads",
            "1",
            "--force",
        ]
        commands = {
            "read and write": [sys.executable, __file__, sys.argv[1], f"{folder}/copy"],
            "equal words": [*dedup, "-o", f"{folder}/words"],
            "equal bytes": [*dedup, "-o", f"{folder}/bytes", "--equal", "bytes"],
        }
        rounds = [{name: seconds(command) for name, command in commands.items()} for _ in range(REPEATS)]
    found = {name: min(one[name] for one in rounds) for name in commands}
    for name, value in found.items():
        share = found["read and write"] / value
        print(f"{name:<16} {value:6.2f} s of CPU, {share:.0%} of the speed of reading and writing")


if __name__ == "__main__":
    main()
