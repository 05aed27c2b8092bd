"""What a server is started with: where it listens, who may ask, and how much it takes."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from neardup.errors import InputError, ParameterError

MEGABYTE = 1 << 20
LARGEST_HEAD = 32 << 10  # bytes of a path and its headers


@dataclass(frozen=True)
class RequestLimits:
    """How much a request may bring, and how long it may take."""

    body: int = 16 * MEGABYTE  # bytes of a JSON body, also after decompression
    stream: int = 4096 * MEGABYTE  # bytes of an NDJSON body, also after decompression
    text: int = 1_000_000  # characters of a text
    batch: int = 1000  # documents of a JSON body
    seconds: float = 30.0  # for an answer, and for the next bytes of a body
    queue: int = 512  # requests that wait
    buffered: int = 256 * MEGABYTE  # bytes of all bodies in memory
    connections: int = 1024
    head_seconds: float = 10.0  # for the head of a request

    def __post_init__(self) -> None:
        """Refuses limits under which nothing could be answered."""
        for name, value in vars(self).items():
            if value <= 0:
                raise ParameterError(name, "serve", "positive", value)


@dataclass(frozen=True)
class Settings:
    """How a server is started."""

    host: str = "127.0.0.1"
    port: int = 8484
    tokens: Path | None = None  # the file of tokens; None: none is needed
    open_to_all: bool = False  # listen elsewhere without tokens
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()  # of pages that may ask (CORS)
    certificate: Path | None = None
    key: Path | None = None
    threads: int = 2
    share_port: bool = False
    limits: RequestLimits = field(default_factory=RequestLimits)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The names in a Host header that mean this server."""
        names = {"localhost", "127.0.0.1", "::1"} if is_loopback(self.host) else set[str]()
        if not _is_wildcard(self.host):
            names.add(self.host.strip("[]").lower())
        return frozenset(names | {name.strip("[]").lower() for name in self.allowed_hosts})

    def check(self, has_tokens: bool) -> None:
        """Refuse to listen beyond this machine without tokens, and with half of what TLS needs."""
        if not is_loopback(self.host) and not has_tokens and not self.open_to_all:
            raise InputError(
                f"{self.host} can be reached from other machines, and no token exists: make one with --new-token NAME, "
                "or give --open-to-all."
            )
        if (self.certificate is None) != (self.key is None):
            raise InputError("TLS needs two files: give both --tls-cert and --tls-key.")
        if self.certificate is not None and self.key is not None:
            check_tls(self.certificate, self.key)
        if _is_wildcard(self.host) and not self.allowed_hosts:
            raise InputError(
                f"{self.host} has no name to compare a Host header with: give --allow-host NAME, the name that clients "
                "use."
            )


def check_tls(certificate: Path, key: Path) -> None:
    """Refuse files that TLS cannot use: before anything is opened, and without a question for a passphrase."""
    for path in (certificate, key):
        if not path.is_file():
            raise InputError(f"{path}: the file for TLS does not exist.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as problem:
        reason = "it is no key in PEM form, or has a passphrase"
        if problem.reason == "KEY_VALUES_MISMATCH":
            reason = "it is the key of another certificate"
        elif "-----BEGIN CERTIFICATE-----" not in certificate.read_text("ascii", "replace"):
            raise InputError(f"{certificate}: the file is no certificate in PEM form.") from problem
        raise InputError(f"{key}: the key does not fit {certificate}: {reason}.") from problem
    except OSError as problem:
        raise InputError(
            f"{certificate}, {key}: a file for TLS cannot be read ({problem.strerror})."
        ) from problem


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return not host
