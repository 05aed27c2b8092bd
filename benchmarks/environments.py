"""The peers' virtual environments, made on demand: `python benchmarks/environments.py [NAME...]`.

One that cannot be made is reported with pip's last words; the benchmark continues without it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from peers import ENVIRONMENTS as KNOWN
from peers import Environment
from settings import ENVIRONMENTS

WANTED = "requirements.txt"  # what was installed, so that a changed pin recreates the environment


def python_for(version: str) -> str | None:
    """A Python of that version (ours if none is asked for): on the path, or among pyenv's."""
    if not version or sys.version.startswith(version + "."):
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [*sorted(root.glob(f"versions/{version}.*/bin/python")), shutil.which(f"python{version}")]
    for python in filter(None, found):
        if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return str(python)
    return None


def python_of(name: str) -> Path:
    """The interpreter of an environment."""
    return ENVIRONMENTS / name / "bin" / "python"


def is_made(environment: Environment) -> bool:
    """Whether the environment is there with the wanted requirements."""
    wanted = ENVIRONMENTS / environment.name / WANTED
    return wanted.exists() and wanted.read_text().split("\n") == list(environment.requirements)


def make(environment: Environment) -> str:
    """Make the environment if need be; why it could not be made, or nothing."""
    if is_made(environment):
        return ""
    python = python_for(environment.python)
    if not python:
        return f"needs Python {environment.python}"
    print(f"installing {environment.name}: {' '.join(environment.requirements)}", flush=True)
    folder = ENVIRONMENTS / environment.name
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(python_of(environment.name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([python, "-m", "venv", str(folder)], [*pip, *environment.requirements]):
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode:
            return finished.stderr.strip()[-500:] or "failed"
    (folder / WANTED).write_text("\n".join(environment.requirements))
    return ""


def make_all(names: list[str]) -> dict[str, str]:
    """Make these environments; for each that could not be made, why."""
    failures = {name: make(KNOWN[name]) for name in dict.fromkeys(names)}
    return {name: why for name, why in failures.items() if why}


if __name__ == "__main__":
    for name, why in make_all(sys.argv[1:] or list(KNOWN)).items():
        print(f"{name}: {why}")
