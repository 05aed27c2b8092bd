"""Hostile inputs for every reader, pages, models and state, for as long as you like:  make fuzz  or

    python tools/fuzz.py [TARGET...] --inputs 1000000 --seconds 600
    python tools/fuzz.py --replay fuzz-findings/jsonl-1a2b3c4d
    python tools/fuzz.py --atheris jsonl -max_total_time=600    # guided by coverage; pip install 'neardup[fuzz]'

Each target runs in a process of its own with a cap on memory. A finding is an exception that is not ours, a crash, more
than 5 s for one input, or more memory than the cap; the input is saved in fuzz-findings/ and the run continues.
The exit code is 1 if there was any. Input k of seed s is always the same.
"""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

HANG = 5.0  # CPU seconds for one input
MEMORY = 2 << 30  # bytes beyond what the idle process has
HEAD = struct.Struct("<QQ")  # how many inputs were done, and the length of the one being tried
ROOM = 1 << 20
FINDINGS = Path("fuzz-findings")


class Hang(BaseException):
    """One input took too long; not an Exception, so that no reader catches it."""


def worker(target: str, seed: int, first: int, last: int, until: float, shared: str) -> None:
    """Run the inputs `first` to `last`; the one at hand is in the shared file, should the process die of it."""
    from fuzzing import targets
    from fuzzing.mutate import mutated

    with open(shared, "r+b") as file:  # noqa: PTH123
        board = mmap.mmap(file.fileno(), ROOM)
    seeds = targets.corpus(target)
    for data in seeds:
        targets.run(target, data)  # compiles, imports and allocates before memory is capped
    _cap_memory()
    signal.signal(signal.SIGPROF, _hang)
    for number in range(first, last):
        data = mutated(seeds, Random(seed << 40 | number))
        board[HEAD.size : HEAD.size + len(data)] = data
        board[: HEAD.size] = HEAD.pack(number, len(data))
        signal.setitimer(signal.ITIMER_PROF, HANG)
        try:
            targets.run(target, data)
        except (Exception, Hang) as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            save(target, data, "".join(traceback.format_exception(error)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        if number % 64 == 0 and time.time() > until:
            break
    board[: HEAD.size] = HEAD.pack(number + 1, 0)


def _cap_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def _hang(number: int, frame: object) -> None:
    raise Hang


def save(target: str, data: bytes, why: str) -> None:
    """Keep an input and what it did."""
    FINDINGS.mkdir(exist_ok=True)
    name = f"{target}-{hashlib.sha256(data).hexdigest()[:8]}"
    (FINDINGS / name).write_bytes(data)
    (FINDINGS / f"{name}.txt").write_text(why, encoding="utf-8", errors="replace")


def campaign(target: str, options: argparse.Namespace) -> tuple[int, int]:
    """The number of inputs that were tried, and of findings among them."""
    before = found(target)
    until = time.time() + options.seconds
    with tempfile.NamedTemporaryFile(prefix="neardup-fuzz-board-") as board:
        board.truncate(ROOM)
        first, last = options.first, options.first + options.inputs
        while first < last and time.time() < until:
            arguments = [target, str(options.seed), str(first), str(last), str(until), board.name]
            process = subprocess.Popen([sys.executable, __file__, "--worker", *arguments])
            done, size, data = watch(process, board.name)
            if process.returncode == 0:
                first = done
                break
            if size == 0 and done == 0:
                raise SystemExit(f"{target}: the corpus itself fails; see above")
            save(
                target,
                data,
                f"the process ended with code {process.returncode} (negative: signal; -9: no end)",
            )
            first = done + 1
    return first - options.first, len(found(target) - before)


def watch(process: subprocess.Popen[bytes], board: str) -> tuple[int, int, bytes]:
    """How far the process came; one that makes no progress in compiled code is ended."""
    last, since = -1, 0.0
    while True:
        try:
            process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            number = read_board(board)[0]
            used = cpu_seconds(process.pid)  # not of the clock: the machine may be busy with other things
            if number != last:
                last, since = number, used
            elif used - since > 6 * HANG:
                process.kill()
            continue
        return read_board(board)


def cpu_seconds(process: int) -> float:
    """What a process has used so far; 0 where it has gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_board(board: str) -> tuple[int, int, bytes]:
    """The number, length and bytes of the input at hand."""
    content = Path(board).read_bytes()
    number, size = HEAD.unpack_from(content)
    return number, size, content[HEAD.size : HEAD.size + size]


def found(target: str) -> set[str]:
    """The findings of a target so far."""
    return {path.name for path in FINDINGS.glob(f"{target}-*") if path.suffix != ".txt"}


def with_atheris(target: str, arguments: list[str]) -> None:
    """Guided by coverage of the Python code, until stopped; what covers more is kept in fuzz-findings."""
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(include=["neardup.documents", "neardup.text"]):
        from fuzzing import targets

    kept = FINDINGS / f"covers-{target}"
    kept.mkdir(parents=True, exist_ok=True)
    folders = [str(kept), str(HERE / "fuzzing" / "corpus" / target)]
    atheris.Setup([__file__, *arguments, *folders], lambda data: targets.run(target, data))
    atheris.Fuzz()


def main() -> None:
    """Run what the command line asks for."""
    if sys.argv[1:2] == ["--worker"]:
        target, seed, first, last, until, board = sys.argv[2:]
        worker(target, int(seed), int(first), int(last), float(until), board)
        return
    if sys.argv[1:2] == ["--atheris"]:  # before anything is imported that is to be instrumented
        with_atheris(sys.argv[2], sys.argv[3:])
        return
    from fuzzing.targets import TARGETS, run

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--inputs", type=int, default=100_000, help="for each target (default 100,000)")
    parser.add_argument("--seconds", type=float, default=1e9, help="the most for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--replay", nargs="*", default=[], metavar="FILE", help="try saved inputs again")
    options = parser.parse_args()
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"unknown: {' '.join(unknown)}; targets are {', '.join(TARGETS)}")
    for path in options.replay:
        run(Path(path).name.partition("-")[0], Path(path).read_bytes())
    if options.replay:
        return
    findings = 0
    for target in options.targets or TARGETS:
        start = time.monotonic()
        tried, bad = campaign(target, options)
        findings += bad
        print(
            f"{target:<12}{tried:>10,} inputs{time.monotonic() - start:>8.0f} s{bad:>5} findings", flush=True
        )
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
