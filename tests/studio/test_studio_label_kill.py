"""A studio that is killed while people judge has lost no judgement that it acknowledged."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
from crowds import ITEM, begin

from neardup.labelling.store import LabelStore

JUDGES = ("ann", "bob")


def judge_until_it_dies(address: str, name: str, acknowledged: list[tuple[int, str]]) -> None:
    origin = address.split("/?")[0]
    with httpx.Client(base_url=origin, follow_redirects=True, headers={"origin": origin}) as client:
        page = client.get(address).text
        page = client.get("/you").text
        csrf = re.search(r'name="csrf" value="(.*?)"', page).group(1)  # type: ignore[union-attr]
        client.post("/you", data={"csrf": csrf, "name": name})
        try:
            while (item := ITEM.search(client.get("/label/pairs").text)) is not None:
                data = {"csrf": csrf, "item": item.group(1), "role": "judge", "answer": "near"}
                if client.post("/label/judge", data=data, follow_redirects=False).status_code == 303:
                    acknowledged.append((int(item.group(1)), name))
        except httpx.HTTPError:
            return


def test_a_kill_loses_no_acknowledged_judgement(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clean"
    shutil.copytree(clean, folder)
    begin(folder, "five labels", 40, scheme="pairs", pair_judges="2", honey_share="0")
    command = [sys.executable, "-m", "neardup", "studio", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = next(line.strip() for line in process.stdout if "token=" in line)
        acknowledged: list[tuple[int, str]] = []
        threads = [
            threading.Thread(target=judge_until_it_dies, args=(address, name, acknowledged))
            for name in JUDGES
        ]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 12:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join(60)
    finally:
        process.kill()
        process.wait()
    store = LabelStore(folder / "labels.db")
    stored = set(store.rows("SELECT item, judge FROM standing"))
    assert 12 <= len(acknowledged) < 80 and set(acknowledged) <= stored
    assert len(stored) <= len(acknowledged) + len(JUDGES)  # what was on its way
    assert store.rows("PRAGMA integrity_check") == [("ok",)]
