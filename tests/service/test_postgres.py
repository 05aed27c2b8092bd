"""Servers over one PostgreSQL index answer alike: what one has acknowledged, the others find in their next answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest
from serving import OPTIONS, Serving, edited, story

import neardup

sys.path.insert(0, str(Path(__file__).parent.parent / "index"))
from postgres import Server, missing

ROUNDS = 32


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    if reason := missing():
        pytest.skip(reason)
    made = Server()
    yield made
    made.stop()


def start(database: Server, name: str, folder: Path, *arguments: str) -> Serving:
    """A server with derived files of its own, as on another machine."""
    return Serving(database.url(name), *arguments, environment={"XDG_CACHE_HOME": str(folder)})


@pytest.fixture(scope="module")
def servers(database: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Serving]]:
    neardup.Index(database.url("service"), **OPTIONS, segments=tmp_path_factory.mktemp("made")).close()
    folders = [tmp_path_factory.mktemp("segments") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda folder: start(database, "service", folder), folders))
    yield made
    assert [server.stop() for server in made] == [0, 0]
    assert not any(server.events("bug") for server in made)


def test_what_one_server_acknowledged_the_other_finds_at_once(servers: list[Serving]) -> None:
    clients = [neardup.Client(server.url) for server in servers]
    for n in range(20):
        one, other = clients[n % 2], clients[1 - n % 2]
        one.add({"id": f"d{n}", "text": story(n)})
        assert [match.id for match in other.query(story(n))] == [f"d{n}"]
        assert one.query(story(n)) == other.query(story(n))
    assert clients[0].delete("d3")
    assert clients[1].query(story(3)) == []
    for client in clients:
        client.close()


def test_one_text_sent_to_both_is_new_once(servers: list[Serving]) -> None:
    def add(n: int) -> str:
        with neardup.Client(servers[n % 2].url) as client:
            return client.add_if_new(story(500)).status

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(add, range(6))) == ["duplicate"] * 5 + ["new"]


def test_an_idempotency_key_holds_on_every_server(servers: list[Serving]) -> None:
    headers = {"idempotency-key": "shared"}
    found = [
        server.post("/v1/documents", {"text": story(600)}, headers=headers).content for server in servers
    ]
    assert found[0] == found[1]


@pytest.fixture
def sharing(database: Server, tmp_path: Path) -> Iterator[list[Serving]]:
    """Two processes that listen on one port."""
    neardup.Index(database.url("sharing"), **OPTIONS, segments=tmp_path / "made").close()
    first = start(database, "sharing", tmp_path / "first", "--share-port")
    second = start(database, "sharing", tmp_path / "second", "--share-port", "--port", str(first.port))
    assert first.port == second.port
    yield [first, second]
    for server in (first, second):
        if server.process.poll() is None:
            assert server.stop() == 0
        assert not server.events("bug")


def answered_by(servers: list[Serving], request_id: str) -> int:
    """Which of the servers logged the request."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for number, server in enumerate(servers):
            if any(entry["request_id"] == request_id for entry in server.events("request")):
                return number
        time.sleep(0.02)
    raise AssertionError(f"nobody answered {request_id}")


def test_processes_on_one_port_answer_alike_without_delay(sharing: list[Serving]) -> None:
    delays = []
    for n in range(ROUNDS):
        with (
            sharing[0].client() as one,
            sharing[0].client() as other,
        ):  # the system chooses who takes a connection
            added = one.post(
                "/v1/documents", json={"id": n, "text": story(n)}, headers={"x-request-id": f"add-{n}"}
            )
            begin = time.perf_counter()
            found = other.post(
                "/v1/query", json={"text": edited(story(n))}, headers={"x-request-id": f"ask-{n}"}
            )
            delays.append(time.perf_counter() - begin)
        assert added.status_code == 200
        assert [match["id"] for match in found.json()["results"][0]["matches"]] == [n]
    pairs = [(answered_by(sharing, f"add-{n}"), answered_by(sharing, f"ask-{n}")) for n in range(ROUNDS)]
    crossed = [delay for delay, (one, other) in zip(delays, pairs, strict=True) if one != other]
    print(f"\n{len(crossed)} of {ROUNDS} by the other process, {1000 * median(crossed):.1f} ms in the median")
    assert {number for pair in pairs for number in pair} == {0, 1} and len(crossed) >= ROUNDS // 8

    def add(n: int) -> str:
        with neardup.Client(sharing[0].url) as client:
            return client.add_if_new(edited(story(900), n)).status

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(add, range(16))) == ["duplicate"] * 15 + ["new"]


def test_a_killed_process_leaves_its_port_to_the_other(sharing: list[Serving]) -> None:
    sharing[0].kill()
    for n in range(20):
        with neardup.Client(sharing[1].url) as client:
            assert client.add({"id": f"alone-{n}", "text": story(1000 + n)})[0].status == "new"
            assert client.query(story(1000 + n))[0].id == f"alone-{n}"


def test_a_database_that_is_gone_for_a_while_is_said_and_found_again(
    database: Server, servers: list[Serving]
) -> None:
    with neardup.Client(servers[0].url) as client:
        client.add({"id": "before", "text": story(700)})
    database.kill()
    for server in servers:
        for path, value in (
            ("/v1/query", {"text": story(700)}),
            ("/v1/documents", {"id": "meanwhile", "text": story(701)}),
        ):
            answer = server.post(path, value)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "10"), answer.text
            assert str(database.folder) not in answer.text
        assert server.http.get("/healthz").status_code == 200
        assert server.http.get("/readyz").status_code == 503
    database.start()
    for n, server in enumerate(servers):
        assert (
            server.post("/v1/query", {"text": story(700)}).json()["results"][0]["matches"][0]["id"]
            == "before"
        )
        assert server.post("/v1/documents", {"id": f"after-{n}", "text": story(702 + n)}).status_code == 200
