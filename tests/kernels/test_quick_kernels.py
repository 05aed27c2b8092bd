"""Machine code of an earlier process gives the results of Numba, without Numba; damaged or missing, Numba is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup.kernels import machine_code, shipped
from neardup.kernels.machine_code import key_of

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled in this run"
)
PROGRAM = """
import json, os, sys
from pathlib import Path
from neardup import kernels
from neardup.kernels import machine_code, shipped
kernels.start_quickly()
machine_code.folders = lambda: [Path(sys.argv[1])]
if "BROUGHT" in os.environ:
    shipped.FOLDER = Path(os.environ["BROUGHT"])
import neardup
texts = [f"text {n % 7} of the harbour and the town that is in the news of the day {n % 5}" for n in range(40)]
found = {}
for method in sys.argv[2].split(","):
    pairs = neardup.pairs([*texts, "ключ и замок " * 9, "鍵と錠前の話" * 9], method=method, threads=2)
    found[method] = [pairs.num_rows, sorted(map(str, pairs.to_pylist()))]
print(json.dumps({"found": found, "numba": "numba" in sys.modules}))
"""


def run(folder: Path, methods: str, **variables: str) -> dict[str, Any]:
    """What a fresh process finds, and whether it had to import Numba."""
    command = [sys.executable, "-c", PROGRAM, str(folder), methods]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "methods",
    [
        "minhash,spotsigs",
        pytest.param("simhash,imatch,super_shingles,cosine", marks=pytest.mark.slow),
        pytest.param("rare_phrases,andd,spotsigs_lsh", marks=pytest.mark.slow),
    ],
)
def test_machine_code_gives_the_results_of_numba(tmp_path: Path, methods: str) -> None:
    plain = run(tmp_path / "unused", methods, NEARDUP_QUICK_START="0")
    assert plain["numba"] and not (tmp_path / "unused").exists()
    first = run(tmp_path / "code", methods)
    assert first["numba"] and list((tmp_path / "code").glob("*.code"))
    second = run(tmp_path / "code", methods)
    assert not second["numba"]
    assert plain["found"] == first["found"] == second["found"]


def test_damaged_machine_code_is_not_used(tmp_path: Path) -> None:
    first = run(tmp_path, "minhash")
    for path in tmp_path.glob("*.code"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    again = run(tmp_path, "minhash")
    assert again["numba"] and again["found"] == first["found"]
    for path in tmp_path.glob("*.code"):
        path.write_bytes(path.read_bytes()[:40])
    assert run(tmp_path, "minhash")["found"] == first["found"]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = run(tmp_path / "file" / "folder", "minhash")
    assert found["numba"]


def test_files_are_private_and_old_ones_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "folders", lambda: [tmp_path])
    for number in range(6):
        monkeypatch.setattr(machine_code, "machine", lambda number=number: f"machine{number}")
        machine_code.store("kernel", {"key": {"object": b"code", "wrapper": "w", "environments": {}}})
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [f"kernel.machine{n}.code" for n in range(2, 6)]
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    assert machine_code.stored("kernel")["key"]["object"] == b"code"


def test_keys_tell_types_apart_that_numba_tells_apart() -> None:
    flat = np.zeros(6)
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    square = np.zeros((2, 3))
    odd = np.zeros(49, np.uint8)[1:].view(np.float64)
    values: list[Any] = [
        flat, frozen, flat[::2], square, square.T, odd, flat.astype(np.float32), np.zeros(6, np.int64), 1, 1.0, True,
        np.uint64(1), np.int64(1), (flat, 1), (flat, 1.0), (frozen, 1),
    ]  # fmt: skip
    keys = [key_of((value,)) for value in values]
    assert None not in keys and len(set(keys)) == len(keys)
    for other in (
        None,
        "text",
        1 << 63,
        -(1 << 63) - 1,
        [1],
        flat.astype(">f8"),
        np.array([None]),
        np.zeros(2, "S3"),
    ):
        found = key_of((other,))
        assert found is None or found not in keys


def brought(code: Path, folder: Path, **requirements: str) -> None:
    """A folder as a wheel brings it, from machine code that was kept."""
    folder.mkdir()
    level = shipped.best_level(set(shipped.LEVELS))
    for path in code.glob("*.code"):
        kernel = path.name.removesuffix(".code").rpartition(".")[0]
        (folder / f"{kernel}.{level}.code").write_bytes(path.read_bytes())
    manifest = {"requirements": {**shipped.requirements(), **requirements}, "levels": [level]}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.skipif(
    shipped.best_level(set(shipped.LEVELS)) is None, reason="not an x86-64 processor of level 3"
)
def test_machine_code_of_a_wheel_needs_no_numba_if_it_fits(tmp_path: Path) -> None:
    first = run(tmp_path / "code", "minhash")
    brought(tmp_path / "code", tmp_path / "wheel")
    brought(tmp_path / "code", tmp_path / "other", numba="another version")
    with_wheel = run(tmp_path / "empty", "minhash", BROUGHT=str(tmp_path / "wheel"))
    assert not with_wheel["numba"] and not (tmp_path / "empty").exists()
    with_other = run(tmp_path / "unfit", "minhash", BROUGHT=str(tmp_path / "other"))
    assert with_other["numba"] and list((tmp_path / "unfit").glob("*.code"))
    for path in (tmp_path / "wheel").glob("*.code"):
        path.write_bytes(path.read_bytes()[:-1])
    damaged = run(tmp_path / "damaged", "minhash", BROUGHT=str(tmp_path / "wheel"))
    assert damaged["numba"]
    assert first["found"] == with_wheel["found"] == with_other["found"] == damaged["found"]


def test_the_widest_level_that_a_processor_has_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite import binding

    for features, level in (
        (shipped.LEVELS["x86-64-v4"], "x86-64-v4"),
        (shipped.LEVELS["x86-64-v4"][:-1], "x86-64-v3"),
        (shipped.LEVELS["x86-64-v3"][1:], None),
    ):
        monkeypatch.setattr(
            binding, "get_host_cpu_features", lambda found=features: dict.fromkeys(found, True)
        )
        assert shipped.best_level(set(shipped.LEVELS)) == level
        assert shipped.best_level({"x86-64-v4"}) == (level if level == "x86-64-v4" else None)


def test_changed_kernels_are_another_requirement(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = shipped._digest(tmp_path / "a.py")
    (tmp_path / "a.py").write_text("2")
    assert shipped._digest(tmp_path / "a.py") != before
