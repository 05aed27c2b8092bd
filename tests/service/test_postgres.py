"""Two servers over one PostgreSQL index answer alike: what one has acknowledged, the other finds at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import OPTIONS, Serving, story

import neardup

sys.path.insert(0, str(Path(__file__).parent.parent / "index"))
from postgres import Server, missing


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Serving]]:
    if reason := missing():
        pytest.skip(reason)
    database = Server()
    try:
        folder = tmp_path_factory.mktemp("segments")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(folder))
            neardup.Index(database.url("service"), **OPTIONS).close()
            with ThreadPoolExecutor(2) as pool:
                made = list(pool.map(lambda _: Serving(database.url("service")), range(2)))
            yield made
            assert [server.stop() for server in made] == [0, 0]
    finally:
        database.stop()


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
