"""A Redis server for datasketch's storage: the one on the path, or Debian's packages unpacked into work/redis.

Nothing is installed: `apt-get download` and `dpkg -x` need no rights, and no service is started.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from settings import WORK

FOLDER = WORK / "redis"
PACKAGES = ("redis-server", "redis-tools", "libjemalloc2", "liblzf1")


def variables() -> dict[str, str]:
    """The variables by which a peer finds the server; none if there is none."""
    program = shutil.which("redis-server")
    if program:
        return {"REDIS_SERVER": program}
    unpacked = FOLDER / "usr" / "bin" / "redis-server"
    if not unpacked.exists():
        unpack()
    if not unpacked.exists():
        return {}
    libraries = ":".join(str(folder) for folder in (FOLDER / "usr" / "lib").glob("*-linux-gnu"))
    found = {"REDIS_SERVER": str(unpacked), "REDIS_LIBRARIES": libraries}
    return found if works(str(unpacked), libraries) else {}


def works(program: str, libraries: str) -> bool:
    """Whether the server can say its version: its libraries are there."""
    said = subprocess.run([program, "--version"], env={"LD_LIBRARY_PATH": libraries}, capture_output=True)
    return said.returncode == 0


def unpack() -> None:
    """Fetch and unpack the packages, where this is a Debian with a network."""
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        return
    downloads = FOLDER / "packages"
    shutil.rmtree(FOLDER, ignore_errors=True)
    downloads.mkdir(parents=True)
    for package in PACKAGES:  # a library that the system has already need not be fetched
        subprocess.run(["apt-get", "download", package], cwd=downloads, capture_output=True)
    for file in sorted(downloads.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(file), str(FOLDER)], capture_output=True)


def version(program: str, libraries: str = "") -> str:
    """What the server says of itself."""
    said = subprocess.run(
        [program, "--version"], env={"LD_LIBRARY_PATH": libraries}, capture_output=True, text=True
    )
    return next((word[2:] for word in said.stdout.split() if word.startswith("v=")), Path(program).name)
