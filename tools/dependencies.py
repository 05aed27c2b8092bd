"""What neardup depends on, from the metadata of installed packages:  make lock  runs it in an environment of its own.

    python tools/dependencies.py    # writes requirements-dev.lock and docs/licences.md

The lock has the version of every package that developers use, also of those that others bring along; the page has
their licences, and which extra needs them.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
PAGE = ROOT / "docs" / "licences.md"
CORE = "neardup"
DEVELOPMENT = ("docs", "lint", "test")  # extras that only developers install
LEFT_OUT = ("fuzz",)  # builds from source, on some machines only
LONGEST = 60  # characters of a licence: some packages put its whole text there

HEAD = """# Licences of dependencies

`make lock` writes this page from the metadata of the packages, here with {python}. *Needed by* is neardup itself,
the extra that asks for the package, or the package that brings it along. No package is bundled with neardup.

"""
DEVELOPERS = """
## Development
Only developers install these.

"""
COLUMNS = "| package | version | licence | needed by |\n|---|---|---|---|\n"


def canonical(name: str) -> str:
    """The name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for(name: str, extras: Iterable[str]) -> list[Requirement]:
    """What an installed package needs here with these extras."""
    needed = map(Requirement, importlib.metadata.requires(name) or [])
    environments = [{"extra": extra} for extra in ("", *extras)]
    return [each for each in needed if each.marker is None or any(map(each.marker.evaluate, environments))]


def closure(name: str, extras: Iterable[str]) -> dict[str, str]:
    """Every package that `name` needs with these extras, and why: itself, or the package that brings it along."""
    found: dict[str, str] = {}
    waiting, done = [(name, tuple(extras))], set[tuple[str, tuple[str, ...]]]()
    while waiting:
        at = waiting.pop(0)
        if at in done:
            continue
        done.add(at)
        for each in asked_for(*at):
            needed = canonical(each.name)
            if needed != CORE:
                found.setdefault(needed, at[0])
            waiting.append((needed, tuple(sorted(each.extras))))
    return found


def licence(name: str) -> str:
    """The licence that a package states: an SPDX expression where it has one, else its words, else its classifiers."""
    data = importlib.metadata.metadata(name)
    stated = data.get("License-Expression") or data.get("License") or ""
    short = stated.strip() if 0 < len(stated.strip()) <= LONGEST and "\n" not in stated.strip() else ""
    classes = [
        line.rpartition(" :: ")[2] for line in data.get_all("Classifier") or [] if "License ::" in line
    ]
    return short if short not in ("", "UNKNOWN") else ", ".join(classes) or "not stated"


def needed_by() -> dict[str, dict[str, str]]:
    """For neardup and each extra, the packages that it needs and why."""
    extras = importlib.metadata.metadata(CORE).get_all("Provides-Extra") or []
    return {
        CORE: closure(CORE, ()),
        **{extra: closure(CORE, (extra,)) for extra in sorted(extras) if extra not in LEFT_OUT},
    }


def page(needs: dict[str, dict[str, str]]) -> str:
    """The licences as a page: first what users install, then what developers do."""
    rows: dict[str, str] = {}
    for extra in sorted(needs, key=lambda name: (name != CORE, name in DEVELOPMENT, name)):
        for name, origin in needs[extra].items():
            why = (f"`{extra}`" if extra == CORE else f"extra `{extra}`") if origin == CORE else origin
            rows.setdefault(name, why)
    for_users = {name for extra, names in needs.items() if extra not in DEVELOPMENT for name in names}
    python = f"Python {sys.version_info.major}.{sys.version_info.minor} on {sys.platform}"
    parts = table(rows, for_users), table(rows, rows.keys() - for_users)
    return HEAD.format(python=python) + DEVELOPERS.join(parts)


def table(rows: dict[str, str], names: Iterable[str]) -> str:
    """The rows of some packages, by name."""
    lines = (
        f"| {name} | {importlib.metadata.version(name)} | {licence(name)} | {rows[name]} |\n"
        for name in sorted(names)
    )
    return COLUMNS + "".join(lines)


def lock(needs: dict[str, dict[str, str]]) -> str:
    """A pinned version for each package of every extra."""
    names = sorted({name for each in needs.values() for name in each})
    lines = [f"{name}=={importlib.metadata.version(name)}" for name in names]
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    head = f"# Written by `make lock` with {python} on {sys.platform}; see CONTRIBUTING.md.\n"
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    needs = needed_by()
    LOCK.write_text(lock(needs), encoding="utf-8")
    PAGE.write_text(page(needs), encoding="utf-8")
