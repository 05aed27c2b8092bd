"""Who may ask a studio: the token, the Host and Origin headers, sessions, the tokens of forms, and the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from studios import TOKEN, Client


@pytest.fixture(scope="module")
def client(clean: Path) -> Client:
    return Client(clean)


def test_the_address_with_the_token_opens_the_studio(clean: Path) -> None:
    stranger = Client(clean, login=False)
    assert stranger.get("/review").status_code == 401
    assert stranger.get("/", params={"token": TOKEN[:-1]}).status_code == 401
    assert (
        stranger.get("/review", params={"token": TOKEN}).status_code == 401
    )  # the first page alone takes it
    opened = stranger.get("/", params={"token": TOKEN})
    assert opened.status_code == 200 and "token" not in str(opened.url)
    assert stranger.get("/review").status_code == 200


def test_cookies_of_sessions_are_closed_to_scripts_and_other_sites(clean: Path) -> None:
    answer = Client(clean, login=False).get("/", params={"token": TOKEN}, follow_redirects=False)
    made = answer.headers.get_list("set-cookie")
    assert len(made) == 2 and all("HttpOnly" in one and "SameSite=Lax" in one for one in made)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8486", "", "127.0.0.1@evil.example"]
)
def test_other_hosts_are_refused(client: Client, host: str) -> None:
    assert client.get("/review", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8486"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_sites_are_refused(client: Client, headers: dict[str, str]) -> None:
    answer = client.post("/you", data={"csrf": client.csrf, "name": "Mallory"}, headers=headers)
    assert answer.status_code == 403 and "another site" in answer.text
    assert "Mallory" not in client.get("/you").text


@pytest.mark.parametrize("csrf", ["", "x", None])
def test_a_form_needs_the_token_of_its_session(client: Client, csrf: Any) -> None:
    data = {"name": "Mallory"} | ({} if csrf is None else {"csrf": csrf})
    assert client.post("/you", data=data).status_code == 403
    assert "Mallory" not in client.get("/you").text


def test_a_token_of_another_session_is_refused(clean: Path, client: Client) -> None:
    other = Client(clean)
    assert other.csrf != client.csrf
    assert client.post("/you", data={"csrf": other.csrf, "name": "Mallory"}).status_code == 403


def test_every_answer_forbids_what_it_does_not_need(client: Client, clean: Path) -> None:
    stranger = Client(clean, login=False)
    answers = [
        client.get("/review"),
        client.get("/none"),
        client.get("/static/keys.js"),
        stranger.get("/review"),
    ]
    answers += [client.put("/review"), client.get("/review", headers={"host": "evil.example"})]
    assert [one.status_code for one in answers] == [200, 404, 200, 401, 405, 421]
    for one in answers:
        policy = one.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        )
        assert one.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["none.js", "..%2Fapp.py", "%2e%2e/app.py", "keys.js%00", "style.css"])
def test_files_of_the_package_alone_are_served(client: Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_what_is_too_large_or_unreadable_is_refused(client: Client) -> None:
    assert client.get("/review", params={"q": "x" * 40_000}).status_code == 431
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/you", content=b"csrf=%ff\xff", headers=form).status_code == 400
    assert client.post("/you", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    assert client.get("/%ff").status_code == 400


def test_names_are_cleaned_and_shown_as_text(clean: Path) -> None:
    client = Client(clean)
    page = client.send_form("/you", name="  <b>Ada</b>\x00\n" + "x" * 100)
    assert page.status_code == 200 and "&lt;b&gt;Ada&lt;/b&gt; x" in page.text and "<b>" not in page.text
    assert "x" * 60 not in page.text
    assert client.send_form("/you", name=" \x00 ").status_code == 422


def test_a_name_outlives_its_session(clean: Path) -> None:
    client = Client(clean)
    client.send_form("/you", name="Ada Łovelace; x=1")
    again = client.get("/", params={"token": TOKEN})
    assert "Ada Łovelace; x=1" in again.text
