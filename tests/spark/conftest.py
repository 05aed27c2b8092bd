"""One Spark session for all tests of the engine; without pyspark or Java they are skipped, with the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent.parent / name) for name in ("engine", "remote")]


@pytest.fixture(scope="session")
def java():
    """Skips what needs Spark where it cannot run."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")
    from neardup.engines.spark.session.session import SparkError, ensure_java

    try:
        ensure_java()
    except SparkError as error:
        pytest.skip(str(error))


# Spark compiles Java for each query, which costs small inputs more than it saves; `make test-all` lets it.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def spark(java, request):
    from neardup.engines.spark.session.session import make_session

    quick = INTERPRETED if request.config.option.markexpr == "not slow" else {}
    session = make_session("local[2]", {"spark.sql.shuffle.partitions": "2", **quick})
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
