"""Amazon's and Google's object stores, by Arrow's clients: no further package is needed.

Credentials come from where their own tools take them: environment, profiles, the machine's role. Without any, a
public object is asked for without a signature.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs

from neardup.errors import InputError
from neardup.remote.retries import Final, one_line
from neardup.remote.stores import Status, tag_number

CONNECT, REQUEST = 10, 60  # seconds before a request counts as failed
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_PIECE = 8 << 20
OPEN = 16  # objects that stay open
FAILURES = (OSError, pa.ArrowInvalid)  # the second for a name that no bucket can have
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|InvalidAccessKeyId|HTTP (?:code |status )?40[13]"
)

_NO_HOST = re.compile(r"Could not resolve host", re.IGNORECASE)


class ArrowStore:
    """Objects of s3:// or gs://."""

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme
        self._regions: dict[str, Any] = {}
        self._files: dict[tuple[str, Status], Any] = {}

    @cached_property
    def _google(self) -> Any:
        self._require("GcsFileSystem")
        signed = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        endpoint = os.environ.get("STORAGE_EMULATOR_HOST", "")
        limit = timedelta(seconds=CONNECT)  # of the client's own attempts: its default is 15 minutes
        if not endpoint:
            return fs.GcsFileSystem(anonymous=not signed and not _google_login(), retry_time_limit=limit)
        kind, _, host = endpoint.rpartition("://")
        return fs.GcsFileSystem(
            anonymous=True, endpoint_override=host, scheme=kind or "http", retry_time_limit=limit
        )

    def _client(self, path: str) -> Any:
        if self._scheme == "gs":
            return self._google
        bucket = path.partition("/")[0]
        if bucket not in self._regions:
            self._regions[bucket] = self._amazon(bucket)
        return self._regions[bucket]

    def _amazon(self, bucket: str) -> Any:
        """A client for the region of a bucket."""
        self._require("S3FileSystem")
        endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "")
        kind, _, host = endpoint.rpartition("://")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if not region and not endpoint:
            try:
                region = fs.resolve_s3_region(bucket)
            except FAILURES as error:
                raise self._sentence(error, bucket) from None
        return fs.S3FileSystem(
            anonymous=not _amazon_login(),
            region=region or "us-east-1",
            endpoint_override=host or None,
            scheme=kind or "https",
            connect_timeout=CONNECT,
            request_timeout=REQUEST,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2),
        )

    def _require(self, name: str) -> None:
        if not hasattr(fs, name):
            raise InputError(
                f"this build of pyarrow has no client for {self._scheme}://: install one from PyPI"
            )

    def status(self, address: str) -> Status | None:
        """Size, and entity tag or time of change.

        The tag takes a second request: a listing has none, and an object that was written again within the resolution
        of the time would pass for the old one.
        """
        path = _path(address)
        try:
            info = self._client(path).get_file_info(path)
        except FAILURES as error:
            raise self._sentence(error, path) from None
        if info.type == fs.FileType.NotFound:
            self._require_bucket(path)
            raise FileNotFoundError("it does not exist")
        if info.type == fs.FileType.Directory:
            return None
        try:
            with self._client(path).open_input_stream(path) as stream:
                tag = (stream.metadata() or {}).get("ETag")
        except OSError as error:
            raise self._sentence(error, path) from None
        return Status(info.size, tag_number(tag.decode())) if tag else _status(info)

    def _require_bucket(self, path: str) -> None:
        """An object that is not found may be of a bucket that does not exist."""
        bucket = path.partition("/")[0]
        try:
            found = self._client(path).get_file_info(bucket).type
        except FAILURES as error:
            raise self._sentence(error, path) from None
        if found == fs.FileType.NotFound:
            raise FileNotFoundError(f"the bucket {bucket} does not exist")

    def read(self, address: str, start: int, size: int, known: Status) -> bytes:
        """A range, by one request."""
        path = _path(address)
        try:
            found: bytes = self._opened(path, known).read_at(size, start)
        except FAILURES as error:
            self._files.pop((path, known), None)
            raise self._sentence(error, path) from None
        return found

    def _opened(self, path: str, known: Status) -> Any:
        """The open object; opening takes a request for its size, and Google's client begins to fetch all of it."""
        file = self._files.get((path, known))
        if file is None:
            if len(self._files) >= OPEN:
                self._files.clear()  # a reader in another thread keeps its own
            file = self._files[path, known] = self._client(path).open_input_file(path)
        return file

    def list(self, folder: str) -> dict[str, Status]:
        """All objects below a prefix."""
        path = _path(folder).rstrip("/")
        try:
            found = self._client(path).get_file_info(
                fs.FileSelector(path, recursive=True, allow_not_found=True)
            )
        except FAILURES as error:
            raise self._sentence(error, path) from None
        if not found:
            self._require_bucket(path)
        return {
            f"{self._scheme}://{info.path}": _status(info) for info in found if info.type == fs.FileType.File
        }

    def upload(self, path: Path, address: str) -> None:
        """In parts; the object appears when the last one is there."""
        target = _path(address)
        try:
            with path.open("rb") as source, self._client(target).open_output_stream(target) as stream:
                while piece := source.read(_PIECE):
                    stream.write(piece)
        except FAILURES as error:
            raise self._sentence(error, target) from None

    def delete(self, address: str) -> None:
        """Remove an object."""
        path = _path(address)
        try:
            self._client(path).delete_file(path)
        except FileNotFoundError:
            pass
        except FAILURES as error:
            raise self._sentence(error, path) from None

    def _sentence(self, error: Exception, path: str) -> OSError:
        """The error in words that say what to do."""
        if isinstance(error, Final):
            return error
        if isinstance(error, pa.ArrowInvalid):
            return Final(f"not an address of {self._scheme}: {one_line(error)}")
        said, bucket = str(error), path.partition("/")[0]
        if (
            "NO_SUCH_BUCKET" in said
            or "Bucket does not exist" in said
            or ("does not exist" in said and "ucket" in said)
        ):
            return FileNotFoundError(f"the bucket {bucket} does not exist")
        if isinstance(error, FileNotFoundError) or "NO_SUCH_KEY" in said or "RESOURCE_NOT_FOUND" in said:
            return FileNotFoundError("it does not exist")
        if _DENIED.search(said):
            return PermissionError(self._denied())
        if _NO_HOST.search(said):
            return Final(f"the host of {self._scheme}://{bucket} cannot be found: is the network there?")
        return OSError(_short(said))

    def _denied(self) -> str:
        given = _amazon_login() if self._scheme == "s3" else _google_login()
        if given:
            return "the store refuses access with these credentials"
        how = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        if self._scheme == "gs":
            how = "GOOGLE_APPLICATION_CREDENTIALS"
        return f"the store refuses access, and no credentials were found: set {how}"


def _path(address: str) -> str:
    return address.partition("://")[2]


def _status(info: Any) -> Status:
    return Status(info.size, info.mtime_ns or 0)


def _amazon_login() -> bool:
    """Whether the usual places have credentials, or the machine may have a role."""
    names = (
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    )
    files = [
        os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        os.environ.get("AWS_CONFIG_FILE", "~/.aws/config"),
        "/sys/devices/virtual/dmi/id/product_uuid",
    ]
    if any(os.environ.get(name) for name in names) or any(
        Path(file).expanduser().exists() for file in files[:2]
    ):
        return True
    return _on_amazon(files[2])


def _on_amazon(path: str) -> bool:
    """Whether this is one of Amazon's machines, which may have a role."""
    try:
        return Path(path).read_text().lower().startswith("ec2")
    except OSError:
        return False


def _google_login() -> bool:
    known = Path("~/.config/gcloud/application_default_credentials.json").expanduser()
    return bool(os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")) or known.exists()


def _short(said: str) -> str:
    """A message of the clients without the name of the object, which the caller gives."""
    found = re.search(r"(?:AWS|Google) [Ee]rror[^:]*?(?:operation)?: *(.*)", said)
    return one_line(OSError(found[1] if found and found[1] else said))
