"""A process under the shim that forks a child for each session: imports and compiled kernels are loaded once.

Requests and replies are lines of JSON. A session says on a pipe which step it begins and which was acknowledged.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

WRITES, SYNCS, NAMES, READS = 1, 2, 4, 8  # classes of calls
ONCE, LASTING, KILL = 0, 1, 2  # how a call fails
LONGEST = 120.0  # seconds of a session

SOURCE = Path(__file__).with_name("shim.c")


@dataclass(frozen=True)
class Request:
    """A session to run: in a folder, from a pickled script, with a fault or a kill."""

    folder: str
    script: str
    record: str | None = None
    classes: int = WRITES | SYNCS | NAMES | READS  # of calls that are counted
    at: int = 0  # the number of the call that fails; 0: none
    error: int = 0
    mode: int = ONCE
    retry: bool = False  # a step that failed is tried once more, without faults, and the session goes on
    kill_after: float | None = None  # seconds


@dataclass(frozen=True)
class Reply:
    """What became of a session."""

    events: list[list[Any]]  # begin n | done n | error n kind sentence | calls n
    status: int  # of waitpid

    def last(self, kind: str) -> int:
        """The number of the last event of a kind, -1 without one."""
        return max((event[1] for event in self.events if event[0] == kind), default=-1)

    @property
    def errors(self) -> list[list[Any]]:
        """Steps that failed: number, kind, sentence."""
        return [event[1:] for event in self.events if event[0] == "error"]


def missing() -> str | None:
    """Why the shim cannot be used here, None if it can."""
    if sys.platform != "linux":
        return "recording file operations needs Linux"
    if shutil.which("cc") is None:
        return "recording file operations needs a C compiler (cc)"
    return None


class Server:
    """The process, seen from a test."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="neardup-shim-")
        library = Path(self._folder) / "shim.so"
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
        path = os.pathsep.join([str(SOURCE.parent.parent), *filter(None, sys.path)])
        environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": path, "SHIM": str(library)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "crashes.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, request: Request) -> Reply:
        """Runs a session to its end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)) + "\n")
        self._process.stdin.flush()
        return Reply(**json.loads(self._process.stdout.readline()))

    def stop(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)


# in the process ---------------------------------------------------------------------------------


def main() -> None:
    """Serves requests until the end of input."""
    shim = ctypes.CDLL(os.environ.pop("SHIM"))
    os.environ.pop("LD_PRELOAD")
    for line in sys.stdin:
        request = Request(**json.loads(line))
        _warm_up(pickle.loads(Path(request.script).read_bytes()).method)
        print(json.dumps(asdict(_fork(shim, request))), flush=True)


@cache
def _warm_up(method: str) -> None:
    """Loads what every session of a method loads."""
    from crashes.script import Script

    Script.made(method, 0, 12)


def _fork(shim: ctypes.CDLL, request: Request) -> Reply:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            _session(shim, request, writing)
        except BaseException:
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    os.close(writing)
    text = _listen(reading, child, request.kill_after)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    return Reply([json.loads(line) for line in text.decode().splitlines()], status)


def _listen(pipe: int, child: int, kill_after: float | None) -> bytes:
    """All that the child says; it is killed when its time is over."""
    text, end = b"", time.monotonic() + (LONGEST if kill_after is None else kill_after)
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            end += LONGEST
            continue
        data = os.read(pipe, 1 << 16)
        if not data:
            return text
        text += data


def _session(shim: ctypes.CDLL, request: Request, pipe: int) -> None:
    from crashes.script import Script, Session, small_limits
    from neardup.errors import NeardupError

    def say(*event: object) -> None:
        if event[0] in ("begin", "done"):
            shim.shim_mark(json.dumps(event).encode())
        os.write(pipe, (json.dumps(event) + "\n").encode())

    script: Script = pickle.loads(Path(request.script).read_bytes())
    record = None if request.record is None else request.record.encode()
    shim.shim_begin(str(Path(request.folder).parent).encode(), record)
    shim.shim_fail(request.classes, ctypes.c_long(request.at), request.error, request.mode)
    session = Session(Path(request.folder), script.method)
    with small_limits():
        for number, step in enumerate(script.steps):
            say("begin", number)
            try:
                session.perform(step)
            except NeardupError as error:
                say("error", number, type(error).__name__, str(error))
                if not request.retry:
                    os._exit(0)
                shim.shim_fail(request.classes, ctypes.c_long(0), 0, ONCE)
                session.perform(step)
            except Exception as error:
                say("error", number, type(error).__name__, traceback.format_exc())
                os._exit(1)
            say("done", number)
        say("calls", shim.shim_calls())
        session.close()
        shim.shim_mark(json.dumps(["closed", len(script.steps)]).encode())


if __name__ == "__main__":
    main()
