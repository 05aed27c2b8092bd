"""Stages on disk: a folder of parquet files each, and a manifest that says which are complete, of which run.

A stage is complete when Spark has put its _SUCCESS into the folder and the manifest names it. A run with the same
plan over the same input goes on behind the last complete stage; any other is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from neardup.engines.spark.failures import translated
from neardup.errors import OutputError, PlanError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MANIFEST = "manifest.json"
# Rows are few and large: row groups of some megabytes are what a task holds when it writes or reads them. What can be
# compressed is compressed already.
OPTIONS = {
    "compression": "none",
    "parquet.block.size": str(16 << 20),
    "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "64",
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
    "parquet.page.write-checksum.enabled": "false",
}


class Stages:
    """The work folder of a run, on any storage that Spark writes to."""

    def __init__(self, spark: SparkSession, folder: str, run: dict[str, Any]) -> None:
        self.spark, self.folder = spark, folder.rstrip("/")
        self._jvm = cast(Any, spark._jvm)
        self._path = self._jvm.org.apache.hadoop.fs.Path(self.folder)
        self.run = run
        self.seconds: dict[str, float] = {}
        with translated(self.folder):
            self._fs = self._path.getFileSystem(spark._jsc.hadoopConfiguration())
            self._done = self._opened()

    def _opened(self) -> dict[str, Any]:
        """The stages that are complete already, if they are of the same run."""
        known = self._read()
        if known is None:
            if self._fs.exists(self._path) and len(self._fs.listStatus(self._path)):
                raise OutputError(
                    f"{self.folder} is not empty and holds no stages of neardup: choose another work folder"
                )
            self._write({"run": self.run, "stages": {}})
            return {}
        different = [name for name, value in self.run.items() if known["run"].get(name) != value]
        if different:
            what = " and ".join(different)
            raise PlanError(
                f"{self.folder} holds stages of another run (another {what}): choose another work folder, or "
                "remove this one to begin anew."
            )
        return dict(known["stages"])

    def stage(
        self, name: str, make: Callable[[], DataFrame], facts: Mapping[str, Column] | None = None
    ) -> DataFrame:
        """The stage's table: read, if it is complete, or made and written; `facts` are counted while it is written."""
        where = f"{self.folder}/{name}"
        if not self.done(name):
            start = time.perf_counter()
            with translated(where):
                schema, known = self._made(make(), where, facts or {})
            self.seconds[name] = time.perf_counter() - start
            self._done[name] = {"seconds": round(self.seconds[name], 3), "schema": schema, "facts": known}
            with translated(where):
                self._write({"run": self.run, "stages": self._done})
        return self.spark.read.schema(self._done[name]["schema"]).parquet(where)

    def _made(self, frame: DataFrame, where: str, facts: Mapping[str, Column]) -> tuple[str, dict[str, Any]]:
        """Writes a stage; its schema, and its facts."""
        from pyspark.sql import Observation

        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)
        watched = Observation()
        if facts:
            frame = frame.observe(watched, *(value.alias(name) for name, value in facts.items()))
        frame.write.mode("overwrite").options(**OPTIONS).parquet(where)
        return schema, dict(watched.get) if facts else {}

    def clear(self, name: str) -> None:
        """Removes a folder beside the stages, and what is in it."""
        self._fs.delete(self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}"), True)

    def facts(self, name: str) -> dict[str, Any]:
        """What was counted while a complete stage was written."""
        return {key: value or 0 for key, value in self._done[name]["facts"].items()}

    def done(self, name: str) -> bool:
        """Whether a stage is complete."""
        marker = self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}/_SUCCESS")
        return name in self._done and bool(self._fs.exists(marker))

    def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """A value of a few bytes that is remembered with the stages: computed once."""
        if name not in self._done:
            with translated(self.folder):
                self._done[name] = {"value": make()}
                self._write({"run": self.run, "stages": self._done})
        return self._done[name]["value"]

    def _read(self) -> dict[str, Any] | None:
        names = (
            MANIFEST,
            f".{MANIFEST}.new",
        )  # the second where a run was killed while it replaced the first
        paths = [self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}") for name in names]
        path = next((each for each in paths if self._fs.exists(each)), None)
        if path is None:
            return None
        stream = self._fs.open(path)
        try:
            text = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError:
            raise OutputError(f"{self.folder}/{MANIFEST} cannot be read: remove the work folder") from None
        return found

    def _write(self, content: dict[str, Any]) -> None:
        """The manifest, replaced as a whole."""
        new = self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/.{MANIFEST}.new")
        path = self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{MANIFEST}")
        stream = self._fs.create(new, True)
        stream.write(bytearray(json.dumps(content, indent=1, ensure_ascii=False).encode()))
        stream.close()
        self._fs.delete(path, False)
        self._fs.rename(new, path)
