"""Writes docs/results.md: every study that the data on this machine allows, with date, machine and commands.

python tools/make_results.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import neardup
from neardup.cli.study import as_markdown
from neardup.evaluate.studies.data import DataFolder, default_folder
from neardup.evaluate.studies.registry import Study, studies

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
HEAD = """# The papers' tables, made again

Every study of `neardup study list` that our data allows, ours beside the paper's. The data is not part of the
project; [evaluation](evaluation.md) says how to run the same on your own. Made by `python tools/make_results.py`
on {date} with neardup {version}, Python {python}, on {cores} cores of a {machine} machine.

| study | source | seconds | command |
|---|---|---|---|
"""


def section(study: Study, data: DataFolder) -> tuple[str, str]:
    """A row of the index, and the tables of a study."""
    start = time.perf_counter()
    tables = study.run(data)
    seconds = time.perf_counter() - start
    link, command = study.name.replace("_", "-"), f"`neardup study run {study.name}`"
    row = f"| [{study.name}](#{link}) | {study.source} | {seconds:.0f} | {command} |"
    body = "\n\n".join([f"## {study.name.replace('_', ' ')}", study.summary, *map(as_markdown, tables)])
    return row, body


def main() -> None:
    """Run what can be run; name what cannot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=default_folder())
    data = DataFolder(parser.parse_args().data)
    rows, bodies = [], []
    for study in studies().values():
        absent = [name for name in study.needs if data.missing(name)]
        if absent:
            rows.append(f"| {study.name} | {study.source} | – | needs {', '.join(absent)} |")
            continue
        row, body = section(study, data)
        print(row, flush=True)
        rows.append(row)
        bodies.append(body)
    facts = {
        "date": datetime.now(UTC).date(),
        "version": neardup.__version__,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
    }
    PAGE.write_text(
        HEAD.format(**facts) + "\n".join(rows) + "\n\n" + "\n\n".join(bodies) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
