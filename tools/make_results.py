"""Writes docs/results-tables.md: every study that the data on this machine allows, with date, machine and commands.

    python tools/make_results.py [--data FOLDER] [--only NAME,NAME…]

With --only, what the page has of the other studies stays.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import neardup
from neardup.cli.study import as_markdown
from neardup.evaluate.studies.data import DataFolder, default_folder
from neardup.evaluate.studies.registry import OWN, Study, get_study, studies

PAGE = Path(__file__).parent.parent / "docs" / "results-tables.md"
HEAD = """# The papers' tables, in full

[The short page](results.md) says what to make of them. The studies of `neardup study list`, ours beside the
paper's. The data is not part of the project; [evaluation](evaluation.md) says how to run the same on your own.
Made by `python tools/make_results.py` with neardup {version}, Python {python}, on {cores} cores of a {machine} machine;
a table has what its command printed on its date, and the seconds are wall time beside other work.
{absent}
| study | source | date | seconds | command |
|---|---|---|---|---|
"""


def section(study: Study, data: DataFolder) -> tuple[str, str]:
    """A row of the index, and the tables of a study."""
    absent = [name for name in study.needs if data.missing(name)]
    if absent:
        return f"| {study.name} | {study.source} | | – | needs {', '.join(absent)} |", ""
    start = time.perf_counter()
    tables = study.run(data)
    seconds, today = time.perf_counter() - start, datetime.now(UTC).date()
    link, command = title(study).replace(" ", "-"), f"`neardup study run {study.name}`"
    row = f"| [{study.name}](#{link}) | {study.source} | {today} | {seconds:.0f} | {command} |"
    return row, "\n\n".join([f"## {title(study)}", study.summary, *map(as_markdown, tables)])


def title(study: Study) -> str:
    """The heading of a study's section."""
    return study.name.replace("_", " ")


def known(study: Study) -> tuple[str, str]:
    """What the page has of a study already; nothing if it was never run."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    row = re.search(rf"^\| \[?{study.name}\b.*$", page, re.MULTILINE)
    body = re.search(rf"^## {title(study)}\n.*?(?=\n\n## |\Z)", page, re.MULTILINE | re.DOTALL)
    return (row[0], body[0].rstrip()) if row and body else ("", "")


def main() -> None:
    """Run what can be run; name what cannot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=default_folder())
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    data, wanted = DataFolder(given.data), [name for name in given.only.split(",") if name]
    for name in wanted:
        get_study(name)
    chosen = [study for study in studies().values() if study.name != OWN]
    for study in chosen:
        if not wanted or study.name in wanted:
            made = section(study, data)
            print(made[0], flush=True)
            write({one.name: made if one is study else known(one) for one in chosen})


def write(found: dict[str, tuple[str, str]]) -> None:
    """Write the page, after each study, so that a run that is stopped loses nothing."""
    sections, absent = list(found.values()), [name for name, (_, body) in found.items() if not body]
    facts = {
        "absent": f"\nNot here, but named on the pages that use them: {', '.join(absent)}.\n"
        if absent
        else "",
        "version": neardup.__version__,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
    }
    rows, bodies = (
        "\n".join(row for row, _ in sections if row),
        "\n\n".join(body for _, body in sections if body),
    )
    PAGE.write_text(HEAD.format(**facts) + rows + "\n\n" + bodies + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
