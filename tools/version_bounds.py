"""The lowest versions that pyproject.toml allows, as constraints for pip:  python tools/version_bounds.py > lowest.txt

`make test-lowest` installs them and runs a part of the tests; `make test-newest` takes the newest versions.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def lowest(pyproject: str) -> list[str]:
    """A line 'name==version' for each dependency with a lower bound, extras included; the highest bound of each."""
    project = tomllib.loads(pyproject)["project"]
    listed = [project["dependencies"], *project["optional-dependencies"].values()]
    bounds: dict[str, str] = {}
    for requirement in (each for some in listed for each in some):
        if found := BOUND.match(requirement):
            name, version = found.groups()
            bounds[name] = max(bounds.get(name, version), version, key=_numbers)
    return [f"{name}=={version}" for name, version in sorted(bounds.items())]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8")
    print("\n".join(lowest(text)))
