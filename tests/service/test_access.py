"""A token that is bound to groups gets the answers, word for word, of an index without the documents it may not see."""

from __future__ import annotations

import asyncio
import io
import json
import random
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import OPTIONS, edited, story

from neardup.index import matches
from neardup.index.index import Index
from neardup.service.app import make_app
from neardup.service.core import Service
from neardup.service.logs import Log
from neardup.service.settings import Settings
from neardup.service.tokens import AccessTokens, new_token

GROUPS = ("staff", "board", "press")
MINE = {"staff", "press"}
METHODS: tuple[dict[str, Any], ...] = (
    OPTIONS,
    {"method": "hybrid"},
    {"method": "super_shingles"},
)


class Local:
    """A service without a network, and its answers as bytes."""

    def __init__(
        self, folder: Path, tokens: Path, documents: list[dict[str, Any]], options: dict[str, Any] = OPTIONS
    ) -> None:
        self.index = Index(folder, **options)
        self.service = Service(self.index, Settings(tokens=tokens), AccessTokens(tokens), Log(io.StringIO()))
        self.app = make_app(self.service)
        self.documents = documents

    async def ask(self, client: httpx.AsyncClient, token: str, step: tuple[str, str, Any]) -> tuple[int, str]:
        method, path, value = step
        headers = {"authorization": f"Bearer {token}", "x-request-id": "same"}
        if isinstance(value, bytes):
            headers["content-type"] = "application/x-ndjson"
            answer = await client.request(method, path, content=value, headers=headers)
        else:
            answer = await client.request(method, path, json=value, headers=headers)
        return answer.status_code, answer.text

    async def run(self, admin: str, token: str, steps: list[tuple[str, str, Any]]) -> list[tuple[int, str]]:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            status, text = await self.ask(
                client, admin, ("POST", "/v1/documents", {"documents": self.documents})
            )
            assert status == 200, text
            answers = [await self.ask(client, token, step) for step in steps]
        await self.service.close()
        return answers


def corpus(rng: random.Random) -> list[dict[str, Any]]:
    """Documents of which many are near-duplicates across groups."""
    texts = [story(n) for n in range(6)]
    found = []
    for n in range(60):
        access = rng.choice([None, *([g] for g in GROUPS), ["board", "staff"], []])
        text = rng.choice(texts)
        text = text if rng.random() < 0.3 else edited(text, rng.randrange(20))
        found.append({"id": f"{rng.choice(['', 'staff/'])}{n}", "text": text, "access": access})
    return found


def visible(document: dict[str, Any]) -> bool:
    return document["access"] is None or bool(MINE & set(document["access"]))


def requests(rng: random.Random, documents: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    steps: list[tuple[str, str, Any]] = [("GET", "/v1/info", None)]
    for n in range(60):
        text = rng.choice(documents)["text"]
        text = text if rng.random() < 0.5 else edited(text, rng.randrange(30))
        name = rng.choice(documents)["id"]
        path = name.replace("/", "%2F")
        mine = name if name.startswith("staff/") else f"staff/new-{n}"
        access = rng.choice([None, ["staff"], ["press"], ["press", "staff"], ["board"], []])
        body = {"id": mine, "text": text, "access": access}
        steps.append(
            rng.choice(
                [
                    ("POST", "/v1/query", {"text": text, "limit": rng.choice([1, 3, 100])}),
                    ("POST", "/v1/query", {"text": text, "explain": True, "limit": 2}),
                    (
                        "POST",
                        "/v1/check",
                        {"documents": [{"text": text, "id": name}, {"text": text, "access": access}]},
                    ),
                    ("POST", "/v1/check", json.dumps({"text": text}).encode()),
                    ("GET", f"/v1/documents/{path}", None),
                    ("GET", f"/v1/clusters/{path}?limit=2", None),
                    ("DELETE", f"/v1/documents/{path}", None),
                    ("POST", "/v1/documents", body),
                    ("POST", "/v1/documents", {**body, "id": name}),
                    ("POST", "/v1/documents?if_new=true", body),
                    ("POST", "/v1/documents?if_new=true", json.dumps({**body, "id": f"staff/l{n}"}).encode()),
                    ("POST", "/v1/compare", {"left": text, "right": documents[0]["text"]}),
                ]
            )
        )
    return steps


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 40))])
def test_answers_are_those_of_an_index_without_hidden_documents(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    documents = corpus(rng)
    tokens = tmp_path / "tokens.json"
    admin = new_token(tokens, "all", ["admin"])
    token = new_token(tokens, "mine", ["read", "write"], MINE, "staff/")
    options = METHODS[seed % len(METHODS)]
    whole = Local(tmp_path / "whole", tokens, documents, options)
    shown = [document for document in documents if visible(document)]
    seen = Local(tmp_path / "seen", tokens, shown, options)
    steps = requests(rng, documents)
    for document in documents:  # what was written meanwhile included
        path = document["id"].replace("/", "%2F")
        steps += [("GET", f"/v1/documents/{path}", None), ("GET", f"/v1/clusters/{path}", None)]
    answers = asyncio.run(whole.run(admin, token, steps))
    expected = asyncio.run(seen.run(admin, token, steps))
    for step, answer, other in zip(steps, answers, expected, strict=True):
        assert answer == other, step
    assert {status for status, _ in answers} >= {200, 403, 404}


def test_a_hidden_copy_makes_nobody_elses_document_a_duplicate(tmp_path: Path) -> None:
    """A document is kept if some of those with access to it do not see its copy (simhash thesis, 7.1.3)."""
    tokens = tmp_path / "tokens.json"
    admin = new_token(tokens, "all", ["admin"])
    local = Local(tmp_path / "index", tokens, [{"id": "secret", "text": story(1), "access": ["board"]}])
    cases = [(None, "new"), (["staff"], "new"), (["board"], "duplicate"), (["board", "staff"], "new")]
    steps: list[tuple[str, str, Any]] = []
    for n, (access, _) in enumerate(cases):
        body = {"id": f"n{n}", "text": story(1), "access": access}
        steps += [("POST", "/v1/documents?if_new=true", body), ("DELETE", f"/v1/documents/n{n}", None)]
    answers = asyncio.run(local.run(admin, admin, steps))
    assert [json.loads(text)["results"][0]["status"] for _, text in answers[::2]] == [
        status for _, status in cases
    ]


def test_an_id_of_a_hidden_document_is_new_even_if_nothing_would_change(tmp_path: Path) -> None:
    """*unchanged* would tell that a hidden document with the id has this very text."""
    tokens = tmp_path / "tokens.json"
    admin = new_token(tokens, "all", ["admin"])
    token = new_token(tokens, "mine", ["read", "write"], MINE, "staff/")
    hidden = [{"id": f"staff/{n}", "text": story(n), "access": []} for n in range(3)]
    local = Local(tmp_path / "index", tokens, hidden)
    steps: list[tuple[str, str, Any]] = [
        ("POST", "/v1/documents", hidden[0]),
        ("POST", "/v1/documents?if_new=true", hidden[1]),
        ("POST", "/v1/documents", json.dumps(hidden[2]).encode()),
        ("GET", "/v1/documents/staff%2F0", None),
    ]
    *added, found = asyncio.run(local.run(admin, token, steps))
    assert all('"status":"new"' in text.replace(" ", "") for _, text in added), added
    assert found[0] == 404


def test_hidden_candidates_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing takes longer than looking up, so that the time would tell how many hidden documents are alike."""
    compared: list[int] = []
    measured = matches._measured

    def counted(signer: Any, documents: Any, rows: Any, asked: Any, place: Any) -> Any:
        compared.append(len(asked))
        return measured(signer, documents, rows, asked, place)

    monkeypatch.setattr(matches, "_measured", counted)
    tokens = tmp_path / "tokens.json"
    admin = new_token(tokens, "all", ["admin"])
    token = new_token(tokens, "mine", ["read", "write"], MINE, "staff/")
    alike = [{"id": f"h{n}", "text": edited(story(1), n), "access": ["board"]} for n in range(40)]
    local = Local(tmp_path / "index", tokens, [*alike, {"id": "open", "text": edited(story(1), 99)}])
    asked = {"text": edited(story(1), 500), "id": "staff/new", "access": ["staff"]}
    steps = [("POST", path, asked) for path in ("/v1/query", "/v1/check", "/v1/documents?if_new=true")]
    answers = asyncio.run(local.run(admin, token, steps))
    assert [status for status, _ in answers] == [200, 200, 200]
    assert all('"open"' in text and '"h' not in text for _, text in answers)
    assert max(compared) == 1


def test_pages_may_ask_only_from_listed_origins(tmp_path: Path) -> None:
    index = Index(tmp_path / "index", **OPTIONS)
    settings = Settings(origins=("https://app.example",))
    app = make_app(Service(index, settings, AccessTokens(None), Log(io.StringIO())))

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = {
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type",
            }
            return [
                await client.options("/v1/query", headers={"origin": "https://app.example", **asked}),
                await client.options("/v1/query", headers={"origin": "https://evil.example", **asked}),
                await client.post("/v1/query", json={"text": "a"}, headers={"origin": "https://app.example"}),
                await client.post(
                    "/v1/query", json={"text": "a"}, headers={"origin": "https://evil.example"}
                ),
            ]

    listed, other, asked, refused = asyncio.run(run())
    assert (
        listed.status_code == 200 and listed.headers["access-control-allow-origin"] == "https://app.example"
    )
    assert "access-control-allow-credentials" not in listed.headers
    assert other.status_code == 400 and "access-control-allow-origin" not in other.headers
    assert asked.status_code == 200 and asked.headers["access-control-allow-origin"] == "https://app.example"
    assert refused.status_code == 403 and "access-control-allow-origin" not in refused.headers
    index.close()
