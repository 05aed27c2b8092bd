"""Studios for tests: one in this process without a network, and one that listens, with browsers that watch it."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from browsers import VIOLATIONS
from neardup.cli import main
from neardup.studio.app import Studio, make_app
from neardup.studio.app_server import StudioServer, open_socket
from neardup.studio.app_session import Sessions
from neardup.studio.app_target import open_target

ARTICLES = Path(__file__).parent.parent.parent / "examples" / "articles.jsonl"
TOKEN = "token-of-the-tests"


def deduplicate(folder: Path, source: Path = ARTICLES, *options: str) -> Path:
    """A result of dedup."""
    main(["dedup", str(source), "-o", str(folder), *options])
    return folder


class Client(TestClient):
    """Requests to a studio of its own: as a browser that has opened it, with the token of its forms."""

    def __init__(self, target: Path | str, *, login: bool = True, **options: Any) -> None:
        self.studio = Studio(open_target(str(target), **options), Sessions(8486, TOKEN))
        super().__init__(
            make_app(self.studio), base_url="http://127.0.0.1:8486", raise_server_exceptions=False
        )
        self.csrf = ""
        if login:
            self.get("/", params={"token": TOKEN})
            self.csrf = self.studio.sessions.find(self.cookie_header()).csrf

    def cookie_header(self) -> str:
        return "; ".join(f"{one.name}={one.value}" for one in self.cookies.jar)

    def send_form(self, path: str, **fields: Any) -> Any:
        """The answer to a form, as a browser sends it."""
        headers = {"origin": "http://127.0.0.1:8486", "sec-fetch-site": "same-origin"}
        return self.post(path, data={"csrf": self.csrf, **fields}, headers=headers)


class Running:
    """A studio that listens, in a thread of this process."""

    def __init__(self, target: Path | str, port: int = 0, **options: Any) -> None:
        made, listens = open_socket(port), threading.Event()
        self.port = made.getsockname()[1]
        self.studio = Studio(open_target(str(target), **options), Sessions(self.port, TOKEN))
        self.url = f"http://127.0.0.1:{self.port}"
        self.start = f"{self.url}/?token={TOKEN}"
        self._server = StudioServer(self.studio, lambda address: listens.set())
        self._server.capture_signals = threading.Lock  # type: ignore[method-assign,assignment]  # of the main thread
        self._thread = threading.Thread(target=self._server.run, args=([made],), daemon=True)
        self._thread.start()
        assert listens.wait(60)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)


class Visitor:
    """A browser of its own that has opened a studio; whatever goes wrong in it fails the test at the end."""

    def __init__(
        self,
        browser: Any,
        start: str,
        *,
        width: int = 1280,
        scheme: str = "light",
        name: str = "",
        refused: tuple[int, ...] = (),
        **more: Any,
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **more
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.events: list[str] = []
        self.page.on("dialog", lambda one: (self.events.append(f"dialog {one.message}"), one.dismiss()))
        expected = [
            f"Failed to load resource: the server responded with a status of {one}" for one in refused
        ]
        self.page.on("console", lambda one: self._logged(one.text, expected))
        self.page.on("pageerror", lambda one: self.events.append(f"error {one}"))
        self.page.on("popup", lambda one: self.events.append("popup"))
        self._origin = re.match(r"http://[^/]+", start).group()  # type: ignore[union-attr]
        self.page.on("request", lambda one: self._requested(one.url))
        self.page.add_init_script(VIOLATIONS)
        self.page.goto(start)
        if name:
            self.page.goto(f"{self._origin}/you")
            self.page.get_by_label("Your name").fill(name)
            self.page.get_by_role("button", name="Save").click()
            self.page.wait_for_url("**/review**")

    def _logged(self, text: str, expected: list[str]) -> None:
        if not any(text.startswith(one) for one in expected):
            self.events.append(f"console {text}")

    def _requested(self, address: str) -> None:
        if not address.startswith(self._origin + "/"):
            self.events.append(f"request {address}")

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *error: object) -> None:
        self.page.wait_for_timeout(50)
        self.context.close()
        if error[0] is None:
            assert self.events == []
