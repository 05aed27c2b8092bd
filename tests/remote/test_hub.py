"""hf:// by huggingface_hub and a server on loopback that answers as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from sentences import overlapping

TEXTS = overlapping(random.Random(6), 20)
LINES = "".join(json.dumps({"text": text}) + "\n" for text in [*TEXTS, *TEXTS]).encode()
REPO = "someone/news"
COMMIT = "0" * 40


FILES = {
    "data/a.jsonl": LINES,
    "data/more/b.jsonl": LINES[: LINES.index(b"\n") + 1],
    "README.md": b"# News",
}


class Hub(BaseHTTPRequestHandler):
    """A dataset of two files."""

    def log_message(self, *arguments: Any) -> None:
        pass

    def _entry(self, name: str) -> dict[str, Any]:
        data = FILES[name]
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def _entries(self, below: str) -> list[dict[str, Any]]:
        names = [name for name in FILES if name.startswith(below)]
        folders = {"/".join(name.split("/")[:k]) for name in names for k in range(1, name.count("/") + 1)}
        inside = [folder for folder in sorted(folders) if folder.startswith(f"{below}/") or not below]
        return [{"type": "directory", "path": folder, "size": 0, "oid": "d"} for folder in inside] + [
            self._entry(name) for name in names
        ]

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if not path.removeprefix("/api").startswith(f"/datasets/{REPO}"):
            return self._send(404, {"error": "Repository not found"}, **{"X-Error-Code": "RepoNotFound"})
        if "/tree/" in path:
            below = path.partition("/tree/")[2].partition("/")[2]
            return self._send(200, self._entries(below))
        if "/resolve/" in path:
            return self._download(path.partition("/resolve/")[2].partition("/")[2])
        about = {"id": REPO, "sha": COMMIT, "siblings": [{"rfilename": name} for name in FILES]}
        return self._send(200, {**about, "private": False, "tags": [], "downloads": 0, "likes": 0})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        try:
            asked = json.loads(body)["paths"]
        except ValueError:
            asked = parse_qs(body)["paths"]
        asked = [asked] if isinstance(asked, str) else asked
        self._send(200, [one for one in self._entries("") if one["path"] in asked])

    def _download(self, name: str) -> None:
        if name not in FILES:
            return self._send(404, {"error": "Entry not found"}, **{"X-Error-Code": "EntryNotFound"})
        data, asked = FILES[name], self.headers.get("Range")
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
        if not asked:
            return self._send(200, data, **headers)
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last) + 1 if last else len(data)]
        headers["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
        return self._send(206, part, **headers)

    def _send(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture(scope="module")
def hub():
    pytest.importorskip("huggingface_hub")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def command(hub: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: the client reads the hub's address when it is imported."""
    env = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(folder / "home"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    program = [sys.executable, "-m", "neardup", *words]
    return subprocess.run(program, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_datasets_of_the_hub_are_read(hub, tmp_path):
    done = command(hub, tmp_path, "dedup", f"hf://datasets/{REPO}/data", "-o", "clean", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["documents"] == 41, report["problems"]
    assert report["inputs"] == ["a.jsonl", "more/b.jsonl"]
    done = command(hub, tmp_path, "dedup", f"hf://datasets/{REPO}/data/none.jsonl", "-o", "out")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "does not exist" in done.stderr
