"""Requests drawn from the OpenAPI description, right ones and wrong ones: no answer is a 500, each is as described."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Serving, make_index, story

from neardup.service import models

REQUESTS = 10  # of an example
ANSWERS = {
    ("post", "/v1/documents"): models.StoredAnswer, ("get", "/v1/documents/{id}"): models.IndexedDocument,
    ("delete", "/v1/documents/{id}"): models.Deleted, ("post", "/v1/query"): models.QueryAnswer,
    ("post", "/v1/check"): models.CheckAnswer, ("get", "/v1/clusters/{id}"): models.Cluster,
    ("post", "/v1/compare"): models.Compared, ("get", "/v1/info"): models.Info, ("get", "/healthz"): models.State,
    ("get", "/readyz"): models.State,
}  # fmt: skip
IDS = st.one_of(st.sampled_from(["a", "b", "c", "1", "é/ü", ".."]), st.text(min_size=1, max_size=8))
WORDS = st.one_of(
    st.builds(lambda n, m: story(n, 20)[: 40 * m], st.integers(0, 5), st.integers(1, 9)), st.text(max_size=60)
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def values(schema: dict[str, Any], known: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Values of a schema; now and then one that is none."""
    return st.one_of(*[_fitting(schema, known, name)] * 15, JUNK)


def _fitting(schema: dict[str, Any], known: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _fitting(known[schema["$ref"].rpartition("/")[2]], known, name)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return st.one_of(*(_fitting(one, known, name) for one in schema[several]))
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        required = set(schema.get("required", ()))
        fields = {field: values(one, known, field) for field, one in schema["properties"].items()}
        return st.fixed_dictionaries(
            {field: one for field, one in fields.items() if field in required},
            optional={field: one for field, one in fields.items() if field not in required},
        )
    low, high = schema.get("minimum"), schema.get("maximum")
    simple = {
        "object": st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
        "string": {"id": IDS, "text": WORDS, "left": WORDS, "right": WORDS}.get(name, st.text(max_size=20)),
        "integer": st.integers(low, high)
        if low is None or high is None or high - low < 1e6
        else st.integers(-9, 9),
        "number": st.floats(low, high, allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if kind == "array":
        least, most = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
        return st.lists(values(schema["items"], known, name), min_size=least, max_size=most)
    return simple.get(kind, JUNK)


def calls(described: dict[str, Any]) -> st.SearchStrategy[tuple[str, str, str, dict[str, Any], Any]]:
    """An operation, and everything that it is called with."""
    known = described["components"]["schemas"]
    found = []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            asked = {
                one["name"]: values(one["schema"], known, one["name"])
                for one in operation.get("parameters", ())
                if one["in"] == "query"
            }
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = st.none() if content is None else values(content["schema"], known)
            parameters = st.fixed_dictionaries({}, optional=asked)
            found.append(st.tuples(st.just(method), st.just(path), IDS, parameters, body))
    return st.one_of(*found)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("schema")
    serving = Serving(make_index(folder / "news.index", [{"id": "a", "text": story(1, 20)}]))
    yield serving
    assert serving.stop() == 0
    assert not serving.events("bug")


def ask(server: Serving, call: tuple[str, str, str, dict[str, Any], Any]) -> int:
    method, path, name, parameters, body = call
    asked = {key: str(value).encode("utf-8", "replace").decode() for key, value in parameters.items()}
    encoded = quote(name.encode("utf-8", "replace"), safe="").replace(".", "%2E")
    content = None if method != "post" else json.dumps(body).encode()
    headers = {} if content is None else {"content-type": "application/json"}
    url = path.replace("{id}", encoded)
    answer = server.http.request(method, url, params=asked, content=content, headers=headers)
    if answer.status_code == 200:
        model = ANSWERS.get((method, path))
        if model is not None:
            model.model_validate_json(answer.content)
    else:
        assert 400 <= answer.status_code < 500, (call, answer.status_code, answer.text)
        assert models.ProblemAnswer.model_validate_json(answer.content).status == answer.status_code
    return answer.status_code


def run(server: Serving, examples: int) -> Counter[int]:
    statuses: Counter[int] = Counter()
    described = server.http.get("/v1/openapi.json").json()

    @settings(max_examples=examples)
    @given(st.lists(calls(described), min_size=REQUESTS, max_size=REQUESTS))
    def check(several: list[Any]) -> None:
        statuses.update(ask(server, call) for call in several)

    check()
    return statuses


def test_every_path_is_described(server: Serving) -> None:
    described = server.http.get("/v1/openapi.json").json()
    assert {(m, path) for path, one in described["paths"].items() for m in one} == {
        *ANSWERS,
        ("get", "/metrics"),
    }


def test_requests_of_the_description(server: Serving) -> None:
    statuses = run(server, int(os.environ.get("NEARDUP_SERVICE_EXAMPLES", "30")))
    assert statuses[200] > 0.2 * statuses.total() and statuses[422] > 0


@pytest.mark.slow
def test_twenty_thousand_requests_of_the_description(server: Serving) -> None:
    statuses = run(server, 2000)
    assert statuses.total() >= 20_000
