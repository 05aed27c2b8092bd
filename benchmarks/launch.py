"""Run one command and write what it cost: `python launch.py COSTS.json COMMAND...`; its exit code is ours.

A process of its own, and a small one, because Linux counts the memory of the process that starts a command
in the command's peak. The costs are those of the command and of all the children it waited for.
"""

import json
import os
import sys
import time
from contextlib import suppress


def come_first() -> None:
    """Other programs on the machine wait, where Linux groups processes by session and we have the right to it."""
    with suppress(OSError), open("/proc/self/autogroup", "w") as group:  # noqa: PTH123
        group.write("-20")


def main() -> int:
    """Run the command; write wall and CPU seconds and the largest process's peak memory."""
    come_first()
    start = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    _, status, usage = os.wait4(pid, 0)
    costs = {
        "wall": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "rss_mb": usage.ru_maxrss / 1024,
    }
    with open(sys.argv[1], "w") as out:  # noqa: PTH123 - pathlib would double the size of this process
        json.dump(costs, out)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
