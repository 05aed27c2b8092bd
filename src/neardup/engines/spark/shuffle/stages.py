"""Stages on disk: one parquet folder each, and a manifest of the run and its complete stages.

A stage is complete when Spark has written _SUCCESS and the manifest lists it. A run with the same plan and input
resumes after the last complete stage; any other run is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from pyspark.sql import Column, DataFrame, Observation, SparkSession

from neardup.checked_json import check_members
from neardup.engines.core.progress import Progress
from neardup.engines.spark.session.failures import first_line, translated
from neardup.errors import OutputError, ParameterError, PlanError

MANIFEST = "manifest.json"
NO_GLOB = "__globPaths__"  # Spark's option that reads a folder name literally
KNOWN = {"run": dict[str, str], "stages": dict[str, dict[str, Any]], "checksum": str}  # of a manifest
OTHERS = {"version": "another version of neardup", "columns": "other columns"}
# Rows are few and large: a task buffers one row group, so row groups are small. Values that compress well are
# compressed already.
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


def hadoop_path(folder: str | os.PathLike[str]) -> str:
    """A folder as a Hadoop path: with a scheme, nothing escaped."""
    name = os.fspath(folder)
    if re.fullmatch(r"file:(//)?[^/].*|file:/*", name):
        raise ParameterError("work_dir", "the Spark engine", "a path, or file:///PATH from the root on", name)
    if name.startswith("file:"):
        return f"file:///{name[len('file:') :].strip('/')}"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", name):
        return name.rstrip("/")
    return f"file://{Path(name).absolute()}"


class Stages:
    """The work folder of a run, on any storage that Spark writes to."""

    def __init__(
        self, spark: SparkSession, folder: str, run: dict[str, Any], progress: Progress | None = None
    ) -> None:
        self.spark, self.folder = spark, folder.rstrip("/")
        self._jvm = cast(Any, spark._jvm)
        self.run, self.progress = run, progress or Progress()
        with translated(self.folder):
            try:
                self._path = self._jvm.org.apache.hadoop.fs.Path(self.folder)
                self._fs = self._path.getFileSystem(spark._jsc.hadoopConfiguration())
            except Exception as error:  # any Java exception that Hadoop raises for the path
                raise OutputError(f"{self.folder} cannot be a work folder: {first_line(error)}") from None
            self._done = self._opened()

    def _opened(self) -> dict[str, Any]:
        """The complete stages in the folder; raises if they belong to another run."""
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
            what = " and ".join(OTHERS.get(name, f"another {name}") for name in different)
            raise PlanError(
                f"{self.folder} holds stages of another run ({what}): choose another work folder, or "
                "remove this one to start over."
            )
        return dict(known["stages"])

    def stage(
        self, name: str, make: Callable[[], DataFrame], metrics: Mapping[str, Column] | None = None
    ) -> DataFrame:
        """The stage's table, computed and written unless it is complete; `metrics` are observed while writing."""
        where = f"{self.folder}/{name}"
        if not self.done(name):
            self._forget(name)
            with translated(where):
                frame = make()  # may compute other stages first
                with self.progress.stage(name):
                    schema, known = self._made(frame, where, metrics or {})
            entry = {"seconds": round(self.progress.seconds[name], 3), "schema": schema, "metrics": known}
            self._done[name] = entry | {"size": self._size(name)}
            with translated(where):
                self._write({"run": self.run, "stages": self._done})
        read = self.spark.read.schema(self._done[name]["schema"])
        return read.option(NO_GLOB, "false").parquet(where)

    def _forget(self, name: str) -> None:
        """Drops an incomplete stage, and all later stages, which were computed from it."""
        if name in self._done:
            names = list(self._done)
            self._done = {each: self._done[each] for each in names[: names.index(name)]}
            self._write({"run": self.run, "stages": self._done})

    def _size(self, name: str) -> list[int]:
        """The number of files of a stage, and their total bytes."""
        found = self._fs.getContentSummary(self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}"))
        return [int(found.getFileCount()), int(found.getLength())]

    def _made(
        self, frame: DataFrame, where: str, metrics: Mapping[str, Column]
    ) -> tuple[str, dict[str, Any]]:
        """The schema and metrics of a stage, after it has been written."""
        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)
        watched = Observation()
        if metrics:
            frame = frame.observe(watched, *(value.alias(name) for name, value in metrics.items()))
        frame.write.mode("overwrite").options(**OPTIONS).parquet(where)
        return schema, dict(watched.get) if metrics else {}

    def clear(self, name: str) -> None:
        """Removes a folder inside the work folder."""
        self._fs.delete(self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}"), True)

    def metrics(self, name: str) -> dict[str, Any]:
        """The metrics that were observed while a complete stage was written."""
        return {key: value or 0 for key, value in self._done[name]["metrics"].items()}

    def done(self, name: str) -> bool:
        """Whether a stage is complete and none of its files has gone or changed size."""
        marker = self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}/_SUCCESS")
        known = name in self._done and bool(self._fs.exists(marker))
        return known and self._done[name]["size"] == self._size(name)

    def _read(self) -> dict[str, Any] | None:
        # The second exists alone if a run was killed while replacing the first.
        names = (MANIFEST, f".{MANIFEST}.new")
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
            found = check_members(json.loads(text), KNOWN)
            if found["checksum"] != _checksum(found):
                raise ValueError("it is not what was written")
        except (ValueError, RecursionError) as error:
            raise OutputError(
                f"{self.folder}/{MANIFEST} is damaged: {error}. Remove the work folder to start over."
            ) from None
        return found

    def _write(self, manifest: dict[str, Any]) -> None:
        """Replaces the manifest as a whole."""
        manifest = manifest | {"checksum": _checksum(manifest)}
        new = self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/.{MANIFEST}.new")
        path = self._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{MANIFEST}")
        stream = self._fs.create(new, True)
        stream.write(bytearray(json.dumps(manifest, indent=1, ensure_ascii=False).encode()))
        stream.close()
        self._fs.delete(path, False)
        self._fs.rename(new, path)


def _checksum(manifest: dict[str, Any]) -> str:
    """A digest of the run and the stages of a manifest: a damaged one would name wrong types and counts."""
    content = json.dumps([manifest["run"], manifest["stages"]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
