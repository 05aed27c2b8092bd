"""A server in trouble: a full disk, an index that another process writes, a taken port, files that cannot be used."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from serving import Serving, make_index, story
from test_start import certificate

import neardup
from neardup.cli import group
from neardup.errors import InputError, NeardupError, StorageError
from neardup.service.problems import problem_of
from neardup.service.tokens import AccessTokens, new_token, revoke_token

MEGABYTES = 12  # of the small disk
ON_SMALL_DISK = """mount -t tmpfs -o size="$1"m none "$2" && cp -r "$3"/. "$2" &&
    fallocate -l 3M "$2/filler" && shift 3 && exec "$@"
"""


def on_small_disk(index: Path, folder: Path) -> list[str]:
    """What starts a command that sees a small disk at the folder, with a copy of the index and a file of 3 MB."""
    unshare = ["unshare", "--mount", "--map-root-user"]
    tried = ["sh", "-c", 'mount -t tmpfs -o size=1m none "$0"', str(folder)]
    if not shutil.which("unshare") or subprocess.run([*unshare, *tried], capture_output=True).returncode:
        pytest.skip("this machine gives no disk of its own to a process (unshare --mount --map-root-user)")
    return [*unshare, "sh", "-c", ON_SMALL_DISK, "sh", str(MEGABYTES), str(folder), str(index)]


def test_a_full_disk_stops_additions_and_nothing_else(tmp_path: Path) -> None:
    index = make_index(tmp_path / "made", [{"id": "a", "text": story(1)}])
    disk = tmp_path / "disk"
    disk.mkdir()
    server = Serving(disk, before=on_small_disk(index, disk), environment={"TMPDIR": str(disk)})
    asked = "".join(json.dumps({"text": story(1), "id": n}) + "\n" for n in range(20_000)).encode()
    headers = {"content-type": "application/x-ndjson"}
    assert server.http.post("/v1/query", content=asked, headers=headers).status_code == 200
    stored = []
    for n in range(400):
        answer = server.post("/v1/documents", {"id": f"big-{n}", "text": story(100 + n, 5000)})
        if answer.status_code != 200:
            break
        stored.append(f"big-{n}")
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (507, "urn:neardup:problem:disk-full")
    assert str(disk) not in answer.text
    assert len(stored) > 20
    for _ in range(3):
        assert server.post("/v1/query", {"text": story(1)}).json()["results"][0]["matches"][0]["id"] == "a"
        assert server.http.get(f"/v1/documents/{stored[-1]}").status_code == 200
        assert server.http.get("/v1/documents/" + f"big-{len(stored)}").status_code == 404
        assert server.http.get("/readyz").status_code == 200
        assert server.post("/v1/documents", {"id": "more", "text": story(9, 5000)}).status_code == 507
    lines = server.http.post("/v1/query", content=asked, headers=headers)
    assert lines.status_code == 507 and lines.json()["done"]["answered"] > 0  # no room for the results
    Path(f"/proc/{server.process.pid}/root{disk}/filler").unlink()
    assert server.post("/v1/documents", {"id": "more", "text": story(9, 5000)}).status_code == 200
    for name in stored:
        assert server.http.get(f"/v1/documents/{name}").status_code == 200
    assert server.stop() == 0
    assert not server.events("bug") and not server.events("not json")
    assert any("disk is full" in one["message"] for one in server.events("refused"))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(28, "No space left on device"), 507),
        (StorageError("the disk"), 503),
        (ValueError("a bug"), 500),
    ],
)
def test_what_fails_has_a_status_of_its_own(error: Exception, status: int) -> None:
    wrapped = StorageError("a segment cannot be written")
    wrapped.__cause__ = error
    assert problem_of(error).status == status
    assert problem_of(wrapped).status == (507 if status == 507 else 503)


@pytest.mark.slow
def test_an_index_that_another_process_writes_answers_questions(tmp_path: Path) -> None:
    index = make_index(tmp_path / "news.index", [{"id": "a", "text": story(1)}])
    server = Serving(index)
    with (index / "writer.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answers: list[httpx.Response] = []
        adding = threading.Thread(
            target=lambda: answers.append(server.post("/v1/documents", {"id": "b", "text": story(2)}))
        )
        adding.start()
        while adding.is_alive():
            begin = time.monotonic()
            found = server.client().post("/v1/query", json={"text": story(1)})
            assert found.json()["results"][0]["matches"][0]["id"] == "a"
            assert time.monotonic() - begin < 5
            time.sleep(0.2)
    assert (answers[0].status_code, answers[0].json()["type"]) == (503, "urn:neardup:problem:index-busy")
    assert answers[0].headers["retry-after"] == "2"
    assert server.post("/v1/documents", {"id": "b", "text": story(2)}).status_code == 200
    assert server.stop() == 0


def refused(index: Path, *arguments: str) -> str:
    """The sentence of a server that does not start."""
    made = CliRunner().invoke(group, ["serve", str(index), *arguments])
    assert isinstance(made.exception, InputError), made.output
    return str(made.exception)


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    index = make_index(tmp_path / "news.index")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert (
            refused(index, "--port", str(port))
            == f"127.0.0.1:{port} cannot be listened on (Address already in use)."
        )


def test_files_that_tls_cannot_use_are_refused(tmp_path: Path) -> None:
    try:
        cert, key = certificate(tmp_path)
        (tmp_path / "other").mkdir()
        _, other = certificate(tmp_path / "other")
        closed = tmp_path / "closed.pem"
        subprocess.run(
            ["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", closed],
            check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not installed")
    index = make_index(tmp_path / "news.index")
    empty = tmp_path / "empty.pem"
    empty.touch()
    for files, sentence in (
        ((cert, other), "the key of another certificate"), ((cert, cert), "no key in PEM form"),
        ((cert, closed), "has a passphrase"), ((empty, key), "no certificate in PEM form"),
        ((key, key), "no certificate in PEM form"), ((cert, tmp_path), "does not exist"),
    ):  # fmt: skip
        said = refused(index, "--port", "0", "--tls-cert", str(files[0]), "--tls-key", str(files[1]))
        assert sentence in said and "\n" not in said


def test_a_handshake_that_does_not_come_ends(tmp_path: Path) -> None:
    try:
        cert, key = certificate(tmp_path)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not installed")
    files = ("--tls-cert", str(cert), "--tls-key", str(key))
    server = Serving(make_index(tmp_path / "news.index"), "--timeout", "2", *files, tls=True)
    begin = time.monotonic()
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(50)]
    held[0].sendall(b"\x16\x03\x01")
    for one in held:
        with suppress(ConnectionError):
            assert one.recv(100) == b""
        one.close()
    assert 1 < time.monotonic() - begin < 12
    with server.client(verify=ssl.create_default_context(cafile=str(cert))) as client:
        assert client.get("/readyz").status_code == 200
    assert server.stop() == 0 and not server.events("bug")


def test_a_file_of_tokens_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    secret = new_token(path, "one", ["read"])
    tokens = AccessTokens(path)
    for mode in (0o620, 0o602, 0o666):
        path.chmod(mode)
        with pytest.raises(InputError, match="others may write"):
            tokens.reload()
        with pytest.raises(InputError, match="others may write"):
            new_token(path, "two", ["read"])
        assert tokens.caller(secret) is not None  # as before
    path.chmod(0o644)
    assert tokens.reload() == 1


def test_a_file_without_tokens_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    assert not AccessTokens(path).required
    new_token(path, "one", ["read"])
    revoke_token(path, "one")
    again = AccessTokens(path)  # as a server that is started again
    assert again.required and len(again) == 0
    path.write_text(
        '{"tokens": [{"name": "a", "sha256": "%s", "scopes": ["read"], "groups": "staff"}]}' % ("0" * 64)
    )
    with pytest.raises(InputError, match="cannot be read"):
        AccessTokens(path)


def test_tokens_made_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    makers = [threading.Thread(target=new_token, args=(path, f"t{n}", ["read"])) for n in range(16)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(AccessTokens(path)) == 16


HEAD_OF_LINES = (
    b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def http_chunk(number: int) -> bytes:
    """A chunk of a body with one line."""
    line = json.dumps({"id": number, "text": story(number, 3)}).encode() + b"\n"
    return b"%x\r\n%s\r\n" % (len(line), line)


def test_a_stream_that_stops_in_the_middle_does_not_stop_a_stop(tmp_path: Path) -> None:
    """Whole chunks of lines are stored, the answer says so, and the server ends with 0."""
    server = Serving(make_index(tmp_path / "news.index"), "--timeout", "3")
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(HEAD_OF_LINES + b"".join(map(http_chunk, range(1500))))
        begin = time.monotonic()
        while server.http.get("/v1/info").json()["documents"] < 1000:
            assert time.monotonic() - begin < 20
            time.sleep(0.05)
        server.process.send_signal(signal.SIGTERM)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert server.process.wait(60) == 0
    assert b" 408 " in answer.partition(b"\r\n")[0] and b'"done": {"new": 1000}' in answer
    assert time.monotonic() - begin < 25
    assert not server.events("bug")


@pytest.mark.slow
def test_a_stream_without_an_end_is_cut_when_the_server_stops(tmp_path: Path) -> None:
    """A client that goes on sending is cut after 30 s; what was stored is there in whole chunks."""
    server = Serving(make_index(tmp_path / "news.index"))
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(HEAD_OF_LINES)
        begin, number = None, 0
        while server.process.poll() is None:
            try:
                connection.sendall(http_chunk(number))
            except ConnectionError:
                break
            number += 1
            if number == 1500:
                server.process.send_signal(signal.SIGTERM)
                begin = time.monotonic()
            time.sleep(0.001 if begin is None else 0.05)
        assert server.process.wait(60) == 0
    assert begin is not None and 25 < time.monotonic() - begin < 60
    assert not server.events("bug")
    with neardup.Index(tmp_path / "news.index") as index:
        assert len(index) >= 1000 and len(index) % 1000 == 0


def test_every_error_of_the_index_is_a_problem() -> None:
    kinds = {type.__name__ for type in NeardupError.__subclasses__()}
    assert {"StorageError", "InputError", "PlanError"} <= kinds
    for kind in NeardupError.__subclasses__():
        error = kind.__new__(kind)
        Exception.__init__(error, "a sentence")
        assert 400 <= problem_of(error).status < 508


def test_connections_leave_files_for_the_index(tmp_path: Path) -> None:
    """A process with few files takes fewer connections: the index needs some of them."""
    index = make_index(tmp_path / "news.index", [{"id": "a", "text": story(1)}])
    few = ["sh", "-c", 'ulimit -n 300 && exec "$@"', "sh"]
    server = Serving(index, before=few)
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(60)]
    answers = [one.recv(4096) for one in held[-5:]]
    assert all(b" 503 " in one and b"too many connections" in one for one in answers)
    for one in held:
        one.close()
    time.sleep(0.3)
    assert server.post("/v1/query", {"text": story(1)}).status_code == 200
    assert server.stop() == 0


def test_a_stop_and_start_between_requests_is_not_seen_by_a_client(tmp_path: Path) -> None:
    """A client repeats what a stopping server refuses, and gets its answer from the next one."""
    index = make_index(tmp_path / "news.index")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Serving(index, "--port", str(port))
    done, failed = [], []
    ended = threading.Event()

    def work() -> None:
        with neardup.Client(f"http://127.0.0.1:{port}", retries=12) as client:
            while not ended.is_set():
                try:
                    done.append(client.add({"id": len(done), "text": story(len(done), 5)})[0].status)
                except NeardupError as error:
                    failed.append(str(error))

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(1)
    assert server.stop() == 0
    server.start()
    time.sleep(1)
    ended.set()
    worker.join(60)
    assert not failed and set(done) == {"new"}
    assert server.http.get("/v1/info").json()["documents"] == len(done)
    assert server.stop() == 0
