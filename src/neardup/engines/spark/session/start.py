"""The start of Spark: a master that can be one, and the reason in one sentence where it does not start."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from neardup.engines.spark.session.failures import first_words
from neardup.errors import NeardupError, ParameterError

MASTERS = re.compile(
    r"local|local\[([1-9]\d*|\*)(, *\d+)?\]|local-cluster\[\d+, *\d+, *\d+\]"
    r"|spark://[^,/]+:\d+(,[^,/]+:\d+)*|yarn|k8s://.+"
)
PATIENCE = 10.0  # seconds in which a master must answer
GAVE_UP = re.compile(r"All masters are unresponsive|Initial job has not accepted any resources")
# An exception's words, or what a JVM says that cannot even begin.
REASON = re.compile(
    r"^((?:Invalid|Unrecognized|Improperly) .+)|[\w.$]*(?:Exception|Error): (\S.*)", re.MULTILINE
)
# What Spark always says when it starts.
NOISE = re.compile(
    rb"Using incubator modules|default log4j profile|default log level|adjust logging level"
    rb"|Setting Spark log level|NativeCodeLoader: Unable to load"
)


class SparkError(NeardupError):
    """Spark cannot be started, or cannot do what is asked."""


def check_master(master: str | None) -> None:
    """Refuses what Spark cannot run on, before it is started: by its form, or because nobody answers there."""
    if master is None:
        return
    if MASTERS.fullmatch(master) is None:
        allowed = "local[*], local[N], spark://HOST:PORT, yarn or k8s://ADDRESS"
        raise ParameterError("master", "the Spark engine", allowed, master)
    if not master.startswith("spark://"):
        return
    said = [_unanswered(address) for address in master.removeprefix("spark://").split(",")]
    if None not in said:
        raise SparkError(f"Spark does not start on {master}: {'; '.join(str(each) for each in said)}")


def _unanswered(address: str) -> str | None:
    """Why nothing can be sent to HOST:PORT; None where it can."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        return f"{address} cannot be reached ({getattr(error, 'strerror', None) or error})"
    return None


def reason(error: Exception, said: str) -> str:
    """What Spark gives as its reason, in what it raised or in what it said while it started."""
    if found := GAVE_UP.search(said):
        return found[0]
    for text in (str(error), said):
        if matched := REASON.search(text):
            return (matched[1] or matched[2]).strip()
    return first_words(error)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Lets Ctrl-C wait until Spark has started, for a JVM that nobody has taken hold of yet would live on.

    The second Ctrl-C does not wait.
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
    """What is written to standard output and error while Spark starts: held back, and let go once it runs.

    The JVM keeps the pipe: what it says later goes on to standard error, line by line as it comes.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._held: bytearray | None = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while data := os.read(self._read, 1 << 16):
            with self._lock:
                if self._held is None:
                    _tell(data)
                else:
                    self._held += data

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Takes what this process and those that it starts write."""
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

    def let_go(self) -> None:
        """Tells what was held back, but for what is always said, and all that follows."""
        with self._lock:
            lines = bytes(self._held or b"").splitlines(keepends=True)
            _tell(b"".join(line for line in lines if not NOISE.search(line)))
            self._held = None

    def text(self) -> str:
        """What was held back; the last words of a JVM that ended are waited for."""
        self._thread.join(1.0)
        with self._lock:
            return bytes(self._held or b"").decode(errors="replace")


def _tell(data: bytes) -> None:
    while data:
        data = data[os.write(2, data) :]
