"""The lock and the list of licences have every package that pyproject.toml names, in versions that it allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
LICENCES = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
LEFT_OUT = {"atheris"}  # builds from source, on some machines only
REMEDY = "run `make lock` and commit what it writes"


def direct() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [project["dependencies"], *project["optional-dependencies"].values()]
    found = [Requirement(each) for some in listed for each in some]
    return [each for each in found if each.name not in LEFT_OUT | {"neardup"}]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_has_every_dependency_in_a_version_that_is_allowed() -> None:
    lines = [line for line in LOCK.splitlines() if not line.startswith("#")]
    locked = dict(line.split("==") for line in lines)
    assert list(locked) == sorted(locked)
    for needed in direct():
        assert canonical(needed.name) in locked, f"{needed.name} is missing: {REMEDY}"
        assert needed.specifier.contains(locked[canonical(needed.name)]), f"{needed}: {REMEDY}"


def test_every_package_of_the_lock_has_a_licence() -> None:
    rows = [line.strip("| ").split(" | ") for line in LICENCES.splitlines() if line.startswith("| ")]
    listed = {row[0]: row for row in rows if row[0] != "package"}
    for line in LOCK.splitlines():
        if not line.startswith("#"):
            name, version = line.split("==")
            assert name in listed and listed[name][1] == version, f"{name}: {REMEDY}"
            assert listed[name][2] not in ("", "not stated"), f"{name} states no licence: find it out"
    assert "://" not in LOCK + LICENCES, "no address of a registry"
