"""What the service answers: a real server, asked by httpx and by neardup's own clients."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from serving import Serving, edited, make_index, story

import neardup
from neardup.errors import ServiceError


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("service")
    stored = [{"id": f"old-{n}", "text": story(n)} for n in range(20)]
    stored += [{"id": f"many-{n}", "text": edited(story(900, 200), n)} for n in range(30)]
    serving = Serving(make_index(folder / "news.index", stored), "--max-text", "100000", "--max-batch", "200")
    yield serving
    assert serving.stop() == 0


@pytest.fixture(scope="module")
def client(server: Serving) -> Iterator[neardup.Client]:
    with neardup.Client(server.url) as made:
        yield made


def test_answers_are_those_of_the_library(server: Serving, client: neardup.Client) -> None:
    index = neardup.Index(Path(server.command[4]))
    for text in (story(3), edited(story(3)), edited(story(900, 200), 77), "nothing like it", ""):
        expected = index.query(text)
        found = client.query(text, limit=1000)
        assert [(m.id, m.similarity, m.containment, m.relation) for m in found] == [
            (m.id, m.similarity, m.containment, m.relation) for m in expected
        ]
        assert client.check(text).status == index.check(text).status
    index.close()


def test_many_documents_are_answered_in_order(server: Serving) -> None:
    asked = [{"id": n, "text": story(n)} for n in range(150)]
    rows = server.post("/v1/query", {"documents": asked}).json()["results"]
    assert [row["id"] for row in rows] == list(range(150))
    assert [[match["id"] for match in row["matches"]] for row in rows[:21]] == [
        *([f"old-{n}"] for n in range(20)),
        [],
    ]
    lines = server.lines("/v1/query?limit=5", asked)
    assert lines[:-1] == [{**row, "more": False} for row in rows]
    assert lines[-1] == {"counts": {"answered": 150}}


def test_limit_and_threshold(server: Serving) -> None:
    asked = {"text": story(900, 200)}
    few = server.post("/v1/query", {**asked, "limit": 3}).json()["results"][0]
    assert len(few["matches"]) == 3 and few["more"]
    every = server.post("/v1/query", {**asked, "limit": 1000}).json()["results"][0]
    assert len(every["matches"]) == 30 and not every["more"]
    assert every["matches"][:3] == few["matches"]
    above = server.post("/v1/query", {**asked, "threshold": 0.999}).json()["results"][0]["matches"]
    assert all(match["similarity"] >= 0.999 for match in above)
    low = server.post("/v1/query", {**asked, "threshold": 0.1})
    assert low.status_code == 422 and "0.5" in low.json()["detail"]


def test_shared_passages(server: Serving, client: neardup.Client) -> None:
    text = "Something new in front. " + story(5)
    match = client.query(text, explain=True)[0]
    assert match.id == "old-5"
    for passage in match.passages:
        assert text[passage["start"] : passage["end"]] == passage["text"]
        assert passage["text"].strip() in story(5)
    assert sum(passage["tokens"] for passage in match.passages) > 50


def test_documents_are_added_replaced_read_and_deleted(client: neardup.Client) -> None:
    names = [
        "a/b",
        "a b",
        "é\u202e",
        "../../etc/passwd",
        "x?y#z",
        "%2F",
        ".",
        "..",
        "\x00\n\x1b[31m",
        17,
        "-1",
    ]
    stored = client.add([{"id": name, "text": story(2000 + n)} for n, name in enumerate(names)])
    assert [(one.id, one.status) for one in stored] == [(name, "new") for name in names]
    again = client.add([{"id": name, "text": story(2000 + n)} for n, name in enumerate(names)])
    assert {one.status for one in again} == {"unchanged"}
    assert client.add({"id": "a/b", "text": story(2100)})[0].status == "replaced"
    for n, name in enumerate(names):
        found = client.get(name)
        assert found is not None and found["id"] == name
        assert found["text"] == story(2100 if n == 0 else 2000 + n)
        assert client.delete(name) and not client.delete(name)
        assert client.get(name) is None


def test_attributes_are_stored(client: neardup.Client) -> None:
    attributes = {"access": ["b", "a"], "quality": 0.5, "time": 12.0, "url": "https://example.org/é"}
    client.add({"id": "attributes", "text": story(2200), **attributes})
    found = client.get("attributes")
    assert found is not None
    assert {name: found[name] for name in attributes} == {**attributes, "access": ["a", "b"]}
    assert client.add({"id": "attributes", "text": story(2200), **attributes})[0].status == "unchanged"
    assert client.add({"id": "attributes", "text": story(2200)})[0].status == "replaced"


def test_only_one_of_many_clients_adds_a_text(server: Serving) -> None:
    for trial in range(5):
        text, start = story(3000 + trial), threading.Barrier(8)

        def add(n: int, text: str = text, start: threading.Barrier = start) -> tuple[str, object]:
            with neardup.Client(server.url) as one:
                start.wait()
                stored = one.add_if_new(edited(text, n) if n % 2 else text)
                return stored.status, stored.duplicate_of or stored.id

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(add, range(8)))
        assert Counter(status for status, _ in found) == {"new": 1, "duplicate": 7}
        assert len({name for _, name in found}) == 1


def test_new_in_a_batch_means_new_to_the_documents_before_it(server: Serving) -> None:
    texts = [story(3100), edited(story(3100)), story(3101), story(3100), edited(story(3101), 5), ""]
    asked = [{"id": f"batch-{n}", "text": text} for n, text in enumerate(texts)]
    rows = server.post("/v1/documents?if_new=true", {"documents": asked}).json()["results"]
    assert [row["status"] for row in rows] == ["new", "duplicate", "new", "duplicate", "duplicate", "new"]
    assert [row.get("duplicate_of") for row in rows] == [None, "batch-0", None, "batch-0", "batch-2", None]
    assert [row.get("relation") for row in rows][3] == "copy"
    single = neardup.compare(texts[1], texts[0], method="minhash", threshold=0.5, ngram=2)
    assert rows[1]["similarity"] == pytest.approx(single.similarity)
    lines = server.lines("/v1/documents?if_new=true", asked)
    assert [line.get("status") for line in lines[:-1]] == [
        "unchanged", "duplicate", "unchanged", "duplicate", "duplicate", "unchanged",
    ]  # fmt: skip


def test_a_replaced_document_makes_no_duplicates(server: Serving) -> None:
    server.post("/v1/documents", {"id": "moving", "text": story(3200)})
    asked = [{"id": "moving", "text": story(3201)}, {"id": "late", "text": story(3200)}]
    rows = server.post("/v1/documents?if_new=true", {"documents": asked}).json()["results"]
    assert [row["status"] for row in rows] == ["replaced", "new"]


def test_lines_are_stored_and_bad_ones_reported(server: Serving) -> None:
    good = [{"id": f"line-{n}", "text": story(4000 + n, 5)} for n in range(1500)]
    data = b"\n".join(json.dumps(one).encode() for one in good[:700])
    data += b'\n{"id": 1}\n\n  \nnot json\n{"text": NaN}\n' + b'{"text": "' + b"a" * 100_001 + b'"}\n'
    data += b"\n".join(json.dumps(one).encode() for one in good[700:])
    for body, encoding in ((data, "identity"), (gzip.compress(data), "gzip")):
        headers = {"content-type": "application/x-ndjson", "content-encoding": encoding}
        answer = server.http.post("/v1/documents", content=body, headers=headers)
        rows = [json.loads(line) for line in answer.text.splitlines()]
        expected = "new" if encoding == "identity" else "unchanged"
        assert rows[-1] == {"counts": {"error": 4, expected: 1500}}
        assert [row["line"] for row in rows[:-1] if "error" in row] == [701, 702, 703, 704]
        kinds = [row["error"].rpartition(":")[2] for row in rows[:-1] if "error" in row]
        assert kinds == ["invalid-request", "malformed-json", "invalid-request", "text-too-long"]
        assert [row["id"] for row in rows[:-1] if "id" in row] == [one["id"] for one in good]


def test_a_batch_is_stored_as_a_whole_or_not_at_all(server: Serving, client: neardup.Client) -> None:
    for bad in (
        {"id": "x"},
        {"id": "whole-0", "text": "twice"},
        {"text": "a" * 100_001},
        {"text": "t", "id": 1.5},
    ):
        answer = server.post("/v1/documents", {"documents": [{"id": "whole-0", "text": story(4600)}, bad]})
        assert answer.status_code in (413, 422)
        assert client.get("whole-0") is None


def test_an_idempotency_key_is_answered_once(server: Serving) -> None:
    headers = {"idempotency-key": "key-1"}
    first = server.post("/v1/documents?if_new=true", {"text": story(4700)}, headers=headers)
    assert first.json()["counts"]["new"] == 1
    again = server.post("/v1/documents?if_new=true", {"text": story(4700)}, headers=headers)
    assert again.content == first.content
    other = server.post("/v1/documents?if_new=true", {"text": story(4701)}, headers=headers)
    assert other.status_code == 422 and other.json()["type"].endswith(":key-reused")
    assert server.post("/v1/documents", {"text": story(4700)}, headers=headers).status_code == 422
    lines = [{"text": story(4710 + n, 5)} for n in range(1200)]
    stored = server.lines("/v1/documents", lines, headers={"idempotency-key": "key-2"})
    assert server.lines("/v1/documents", lines, headers={"idempotency-key": "key-2"}) == stored


def test_a_key_in_use_at_the_same_time_is_answered_once(server: Serving) -> None:
    def add(_: int) -> bytes:
        return server.post(
            "/v1/documents", {"text": story(4800)}, headers={"idempotency-key": "same"}
        ).content

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(add, range(6)))) == 1


def test_a_cluster_comes_page_by_page(server: Serving, client: neardup.Client) -> None:
    path, pages, found = "/v1/clusters/many-0?limit=7", 0, []
    cursor = ""
    while True:
        page = server.http.get(path + cursor).json()
        assert page["id"] == "many-0"
        found += page["matches"]
        pages += 1
        if page["next"] is None:
            break
        cursor = "&cursor=" + quote(page["next"])
    assert pages == 5
    assert sorted(match["id"] for match in found) == sorted(f"many-{n}" for n in range(1, 30))
    assert [match["similarity"] for match in found] == sorted((m["similarity"] for m in found), reverse=True)
    assert [match.id for match in client.cluster("many-0")] == [match["id"] for match in found]
    assert server.http.get("/v1/clusters/nobody").status_code == 404
    assert server.http.get("/v1/clusters/many-0?cursor=abc").status_code == 422


def test_two_texts_are_compared(client: neardup.Client) -> None:
    left, right = story(1), edited(story(1))
    found = client.compare(left, right, explain=True)
    expected = neardup.compare(left, right, method="minhash", threshold=0.5, ngram=2)
    assert found["similarity"] == pytest.approx(expected.similarity)
    assert found["relation"] == expected.relation and found["near_duplicates"]
    assert found["passages"]


def test_the_server_tells_about_itself(server: Serving, client: neardup.Client) -> None:
    info = client.info()
    assert info["method"] == "minhash" and info["documents"] >= 50 and info["limits"]["text"] == 100_000
    assert server.http.get("/healthz").json() == {"status": "ok"}
    assert server.http.get("/readyz").json() == {"status": "ready"}
    page = server.http.get("/metrics").text
    assert 'neardup_requests_total{method="POST",route="/v1/query",status="200"}' in page
    assert "neardup_index_documents" in page


def test_logs_have_ids_and_timings_but_no_text(server: Serving) -> None:
    text = "Unmistakable words of a document"
    answer = server.post(
        "/v1/documents", {"id": "logged", "text": text}, headers={"x-request-id": "req-1.a_b"}
    )
    assert answer.headers["x-request-id"] == "req-1.a_b"
    server.http.get("/v1/documents/" + quote("evil\x1b[2J\n{}"))
    server.post("/v1/query", {"text": text, "wrong": text})
    own = server.post("/v1/query", {"text": text}, headers={"x-request-id": "bad id\x07"})
    assert own.headers["x-request-id"] != "bad id\x07"
    server.wait_for("request", len(server.events("request")) + 1, 0.3)
    assert not server.events("not json")
    entry = next(one for one in server.events("request") if one["request_id"] == "req-1.a_b")
    assert entry["status"] == 200 and entry["ms"] > 0 and entry["documents"] == 1
    assert "Unmistakable" not in json.dumps(server.log) and "evil" not in json.dumps(server.log)


def test_errors_are_problems_with_the_id_of_the_request(server: Serving, client: neardup.Client) -> None:
    answer = server.http.get("/v1/documents/nobody")
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert {"type", "title", "status", "detail"} <= problem.keys()
    with pytest.raises(ServiceError, match=r"422, invalid-request: .*request") as raised:
        client.query("text", threshold=0.01)
    assert raised.value.status == 422 and raised.value.kind == "invalid-request"


def test_the_asynchronous_client_does_the_same(server: Serving) -> None:
    async def run() -> None:
        async with neardup.AsyncClient(server.url) as client:
            stored = await client.add([{"id": f"async-{n}", "text": story(5000 + n)} for n in range(3)])
            assert [one.status for one in stored] == ["new"] * 3
            found = await asyncio.gather(*(client.query(story(5000 + n)) for n in range(3)))
            assert [matches[0].id for matches in found] == ["async-0", "async-1", "async-2"]
            assert (await client.check([story(5000), "new words here"]))[1].status == "new"
            assert (await client.add_if_new(story(5001))).duplicate_of == "async-1"
            assert await client.get("async-0") and await client.delete("async-0")
            assert await client.get("async-0") is None
            assert [match.id for match in await client.cluster("many-1")][:1]
            assert (await client.compare("a b", "a b"))["relation"] == "copy"
            assert (await client.info())["method"] == "minhash"

    asyncio.run(run())


def test_a_client_without_a_server_says_so() -> None:
    with (
        neardup.Client("http://127.0.0.1:9", retries=1) as client,
        pytest.raises(ServiceError, match="unreachable"),
    ):
        client.info()


def test_every_example_of_the_description_is_answered(server: Serving) -> None:
    described = server.http.get("/v1/openapi.json").json()
    tried = 0
    for path, operations in described["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for name, example in content.get("examples", {}).items():
                answer = server.post(path, example["value"])
                assert answer.status_code == 200, (path, name, answer.text)
                tried += 1
            assert "summary" in operation
    assert tried >= 7
