"""How a server starts and ends: what it refuses, tokens, TLS, signals, queues."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from serving import Serving, make_index, story

import neardup
from neardup.cli import group
from neardup.errors import InputError
from neardup.service.batcher import Batcher
from neardup.service.problems import Problem
from neardup.service.replays import NEWEST, Replays, replay_key
from neardup.service.settings import Settings, is_loopback
from neardup.service.tokens import AccessTokens, new_token, read_tokens, revoke_token


def certificate(folder: Path) -> tuple[Path, Path]:
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_a_server_with_tls_and_tokens_obeys_signals(tmp_path: Path) -> None:
    try:
        cert, key = certificate(tmp_path)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not installed")
    index = make_index(tmp_path / "news.index", [{"id": "a", "text": story(1)}])
    made = CliRunner().invoke(group, ["serve", str(index), "--new-token", "first", "--scope", "admin"])
    token = made.stdout.strip()
    assert made.exit_code == 0 and token.startswith("ndt_")
    assert token not in (index / "tokens.json").read_text()
    assert (index / "tokens.json").stat().st_mode & 0o077 == 0
    server = Serving(index, "--tls-cert", str(cert), "--tls-key", str(key), tls=True)
    context = ssl.create_default_context(cafile=str(cert))
    with neardup.Client(server.url, token=token, verify=context) as client:
        assert client.query(story(1))[0].id == "a"
        second = new_token(index / "tokens.json", "second", ["read"])
        revoke_token(index / "tokens.json", "first")
        server.process.send_signal(signal.SIGHUP)
        assert server.wait_for("tokens-reloaded")[0]["tokens"] == 1
        with pytest.raises(neardup.errors.ServiceError, match="401"):
            client.info()
        (index / "tokens.json").write_text("{")
        server.process.send_signal(signal.SIGHUP)
        assert server.wait_for("tokens-not-reloaded")
        with neardup.Client(server.url, token=second, verify=context) as other:
            assert other.info()["documents"] == 1
            (index / "tokens.json").unlink()
            server.process.send_signal(signal.SIGHUP)
            assert server.wait_for("tokens-reloaded", 2)[1]["tokens"] == 0
            with pytest.raises(neardup.errors.ServiceError, match="401"):
                other.info()  # a server that had tokens never opens
    assert server.stop() == 0


def test_a_stop_finishes_what_is_under_way(tmp_path: Path) -> None:
    server = Serving(make_index(tmp_path / "news.index"))
    answers: list[httpx.Response] = []
    sent = threading.Event()

    def body() -> object:
        for n in range(400):
            yield json.dumps({"id": n, "text": story(n, 5)}).encode() + b"\n"
            if n == 200:
                sent.set()
                time.sleep(0.8)

    def post() -> None:
        headers = {"content-type": "application/x-ndjson"}
        answers.append(server.client().post("/v1/documents", content=body(), headers=headers))

    thread = threading.Thread(target=post)
    thread.start()
    assert sent.wait(20)
    time.sleep(0.2)
    server.process.send_signal(signal.SIGTERM)
    thread.join(30)
    assert server.process.wait(30) == 0
    assert answers[0].status_code == 200
    assert json.loads(answers[0].text.splitlines()[-1]) == {"counts": {"new": 400}}
    with neardup.Index(tmp_path / "news.index") as index:
        assert len(index) == 400


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--host", "0.0.0.0"], "no token exists"),
        (["--host", "192.0.2.1"], "no token exists"),
        (["--host", "0.0.0.0", "--open-to-all"], "--allow-host"),
        (["--tls-cert", "cert.pem"], "--tls-key"),
        (["--tls-cert", "cert.pem", "--tls-key", "key.pem"], "does not exist"),
        (["--scope", "read"], "--new-token"),
        (["--new-token", "bad name"], "token name"),
        (["--new-token", "n", "--scope", "write", "--group", "g"], "--id-prefix"),
        (["--new-token", "n", "--scope", "admin", "--group", "g"], "admin"),
        (["--revoke-token", "nobody"], "no token nobody"),
        (["--host", "192.0.2.1", "--open-to-all"], "cannot be listened on"),
    ],
)
def test_what_cannot_be_served_safely_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    index = make_index(tmp_path / "news.index")
    made = CliRunner().invoke(group, ["serve", str(index), "--port", "0", *arguments])
    assert isinstance(made.exception, InputError)
    assert message in str(made.exception)


def test_loopback_and_hosts() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(
        map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "", "127.0.0.1.example.org"))
    )
    assert Settings("near.example", allowed_hosts=("Other.example",)).hosts == {
        "near.example",
        "other.example",
    }


def test_tokens_are_listed_without_their_secrets(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    secret = new_token(path, "one", ["read", "write"], ["a"], "a/")
    assert AccessTokens(path).caller(secret).groups == {"a"}
    assert AccessTokens(path).caller(secret + "x") is None
    with pytest.raises(InputError, match="exists"):
        new_token(path, "one", ["read"])
    shown = CliRunner().invoke(group, ["serve", "x", "--tokens", str(path), "--list-tokens"]).output
    assert "one  read, write  groups a; ids begin with 'a/'" in shown and secret not in shown
    new_token(path, "two", ["read"], ["\x1b[2J\nthree  admin"])
    listed = CliRunner().invoke(group, ["serve", "x", "--tokens", str(path), "--list-tokens"]).output
    assert len(listed.splitlines()) == 2 and "\x1b" not in listed
    for bad in (
        '{"tokens": [{}]}',
        "[]",
        '{"tokens": 1}',
        '{"tokens": [{"name": "a", "sha256": "", "scopes": []}]}',
    ):
        path.write_text(bad)
        with pytest.raises(InputError):
            read_tokens(path)


def test_the_queue_is_bounded_and_batches_grow_with_the_load() -> None:
    sizes: list[int] = []
    gate = threading.Event()

    def run(asked: object) -> list[int]:
        gate.wait(10)
        sizes.append(len(asked))
        return list(asked)

    async def main() -> None:
        batcher = Batcher("test", run, threads=1, documents=8, queue=20)
        first = [asyncio.create_task(batcher.ask(n, 1)) for n in range(21)]
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match="waiting") as refused:
            await batcher.ask(99, 1)
        assert refused.value.status == 503 and refused.value.headers["retry-after"] == "1"
        first[5].cancel()
        gate.set()
        found = await asyncio.gather(*first, return_exceptions=True)
        assert [value for n, value in enumerate(found) if n != 5] == [n for n in range(21) if n != 5]
        await batcher.close()
        with pytest.raises(Problem, match="stopping"):
            await batcher.ask(1, 1)

    asyncio.run(main())
    assert sizes[0] == 1 and sizes[1] == 8 and sum(sizes) == 20


def test_a_batch_waits_two_milliseconds_at_the_most() -> None:
    async def main() -> float:
        batcher = Batcher("test", list, threads=1, documents=8, queue=20)
        await asyncio.gather(*(batcher.ask(n, 1) for n in range(5)))
        begin = asyncio.get_running_loop().time()
        await batcher.ask(1, 1)
        return asyncio.get_running_loop().time() - begin

    assert min(asyncio.run(main()) for _ in range(5)) < 0.02


def test_an_error_of_a_batch_reaches_every_request() -> None:
    def run(asked: object) -> list[int]:
        raise ValueError("broken")

    async def main() -> None:
        batcher = Batcher("test", run, threads=2, documents=8, queue=20)
        found = await asyncio.gather(*(batcher.ask(n, 1) for n in range(5)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError] * 5

    asyncio.run(main())


class Blobs:
    """The part of a truth that replays use."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def blob(self, name: str) -> bytes | None:
        return self.data.get(name)

    def set_blob(self, name: str, data: bytes) -> None:
        self.data[name] = data


def test_replays_are_bounded_in_number_age_and_size() -> None:
    now, blobs = [1000.0], Blobs()
    replays = Replays(lambda: now[0])
    keys = [replay_key(f"k{n}", "me", b"body") for n in range(60_000)]
    entry = keys[0].entry
    mine = [key for key in keys if key.entry == entry]
    assert len(mine) > NEWEST + 5
    for n, key in enumerate(mine):
        replays.remember(blobs, key, [{"id": n, "status": "new"}])
    assert len(blobs.data) == 1
    assert replays.find(blobs, mine[-1]) == [{"id": len(mine) - 1, "status": "new"}]
    assert replays.find(blobs, mine[-NEWEST]) is not None and replays.find(blobs, mine[-NEWEST - 1]) is None
    with pytest.raises(Problem, match="another body"):
        replays.find(blobs, replay_key(f"k{keys.index(mine[-1])}", "me", b"other"))
    assert replay_key("k", "me", b"a") != replay_key("k", "you", b"a")
    replays.remember(blobs, mine[0], [{"id": "x" * 1000, "status": "new"}] * 300)
    assert replays.find(blobs, mine[-1]) is None and replays.find(blobs, mine[0]) is not None
    now[0] += 25 * 3600
    assert replays.find(blobs, mine[0]) is None


def test_a_client_repeats_a_request_with_its_key() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["idempotency-key"])
        if len(seen) == 1:
            raise httpx.ReadError("lost")
        if len(seen) == 2:
            return httpx.Response(503, headers={"retry-after": "0"}, json={})
        return httpx.Response(200, json={"results": [{"id": "a", "status": "new", "later": 1}]})

    with neardup.Client("http://server", transport=httpx.MockTransport(answer)) as client:
        assert [one.status for one in client.add({"id": "a", "text": "t"})] == ["new"]
        assert len(seen) == 3 and len(set(seen)) == 1
        client.add({"id": "a", "text": "t"})
        assert seen[3] != seen[0]


def test_a_client_sends_many_documents_in_batches() -> None:
    sizes: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        documents = json.loads(request.content)["documents"]
        sizes.append(len(documents))
        return httpx.Response(
            200, json={"results": [{"id": one["id"], "status": "new"} for one in documents]}
        )

    with neardup.Client("http://server", transport=httpx.MockTransport(answer)) as client:
        stored = client.add({"id": n, "text": "t"} for n in range(1200))
        assert [one.id for one in stored] == list(range(1200)) and sizes == [500, 500, 200]
        assert client.add([]) == []
        with pytest.raises(InputError, match="not int"):
            client.add([1])


def test_a_client_says_what_cannot_be_sent() -> None:
    for token in ("ndt_…", "a\r\nX: y", "", "a b"):
        with pytest.raises(InputError, match="The token has characters"):
            neardup.Client("http://server", token=token)
    pages = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>"))
    with neardup.Client("http://server", transport=pages) as client:
        for value in ({"text": "a", "quality": float("nan")}, {"text": "a", "time": object()}):
            with pytest.raises(InputError, match="a text or a dict, not int"):
                client.query(5)
            with pytest.raises(InputError, match="a text or a dict, not bytes"):
                client.add(b"text")
            with pytest.raises(InputError, match="JSON cannot have"):
                client.add(value)
        with pytest.raises(neardup.errors.ServiceError, match="not one of neardup serve"):
            client.query("a")
