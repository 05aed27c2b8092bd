"""The start of Spark: checks of the master, captured log output, and the reason of a failure in one line."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from neardup.engines.spark.session.failures import first_line
from neardup.errors import NeardupError, ParameterError

MASTERS = re.compile(
    r"local|local\[([1-9]\d*|\*)(, *\d+)?\]|local-cluster\[\d+, *\d+, *\d+\]"
    r"|spark://[^,/]+:\d+(,[^,/]+:\d+)*|yarn|k8s://.+"
)
CONNECT_SECONDS = 10.0  # timeout of the connection to a master
GAVE_UP = re.compile(r"All masters are unresponsive|Initial job has not accepted any resources")
# The message of an exception, or of a JVM that rejects its options.
REASON = re.compile(
    r"^((?:Invalid|Unrecognized|Improperly) .+)|[\w.$]*(?:Exception|Error): (\S.*)", re.MULTILINE
)
# Log lines that every start of Spark prints.
NOISE = re.compile(
    rb"Using incubator modules|default log4j profile|default log level|adjust logging level"
    rb"|Setting Spark log level|NativeCodeLoader: Unable to load"
)


class SparkError(NeardupError):
    """Spark cannot be started, or cannot do what is asked."""


def check_master(master: str | None) -> None:
    """Raises for a malformed master URL or a standalone master that does not accept connections."""
    if master is None:
        return
    if MASTERS.fullmatch(master) is None:
        allowed = "local[*], local[N], spark://HOST:PORT, yarn or k8s://ADDRESS"
        raise ParameterError("master", "the Spark engine", allowed, master)
    if not master.startswith("spark://"):
        return
    said = [_connection_error(address) for address in master.removeprefix("spark://").split(",")]
    if None not in said:
        raise SparkError(f"Spark does not start on {master}: {'; '.join(str(each) for each in said)}")


def _connection_error(address: str) -> str | None:
    """Why HOST:PORT cannot be reached; None if it can."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        return f"{address} cannot be reached ({getattr(error, 'strerror', None) or error})"
    return None


def reason(error: Exception, said: str) -> str:
    """The reason of a failed start, from the exception or from the log."""
    if found := GAVE_UP.search(said):
        return found[0]
    for text in (str(error), said):
        if matched := REASON.search(text):
            return (matched[1] or matched[2]).strip()
    return first_line(error)


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Defers Ctrl-C until Spark has started: an interrupted start would leave the JVM running.

    A second Ctrl-C interrupts at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    asked: list[int] = []

    def wait(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is wait:  # Spark has a handler of its own
            signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


class StartLog:
    """Buffers standard output and error while Spark starts, and forwards them to standard error once it runs.

    The JVM keeps writing to the pipe; its later output is forwarded as it arrives.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._buffer: bytearray | None = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while data := os.read(self._read, 1 << 16):
            with self._lock:
                if self._buffer is None:
                    _write_stderr(data)
                else:
                    self._buffer += data

    @contextmanager
    def captured(self) -> Iterator[None]:
        """Redirects the output of this process and its children to the buffer."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        saved = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(self._write, number)
            os.close(self._write)
            yield
        finally:
            for number, old in zip((1, 2), saved, strict=True):
                os.dup2(old, number)
                os.close(old)

    def release(self) -> None:
        """Forwards the buffer without the lines of every start, and all later output."""
        with self._lock:
            lines = bytes(self._buffer or b"").splitlines(keepends=True)
            _write_stderr(b"".join(line for line in lines if not NOISE.search(line)))
            self._buffer = None

    def text(self) -> str:
        """The buffered output, including the last output of a JVM that has ended."""
        self._thread.join(1.0)
        with self._lock:
            return bytes(self._buffer or b"").decode(errors="replace")


def _write_stderr(data: bytes) -> None:
    while data:
        data = data[os.write(2, data) :]
