"""Kernels are also plain Python: what compiled code does is what their source says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inputs import COMPILED

from neardup.kernels import tokens


@pytest.mark.skipif(not COMPILED, reason="this is that run")
def test_all_tests_of_kernels_pass_without_the_compiler() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "NEARDUP_EXAMPLES": "20"}
    here = str(Path(__file__).parent)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", here]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_compiler_is_on_or_off_as_asked() -> None:
    assert hasattr(tokens.tokenize, "py_func") == COMPILED
