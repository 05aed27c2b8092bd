"""What `dedup` and `pairs` share: run a plan over the inputs of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from neardup.api import with_statistics
from neardup.cli.options import column_options, reading_options
from neardup.cli.show import TerminalProgress
from neardup.documents import Inputs, open_inputs
from neardup.engines.local import Run, Settings, run
from neardup.plan import Plan
from neardup.workers import checked_threads


@contextmanager
def run_command(
    plan: Plan, inputs: Sequence[str], values: dict[str, Any], check: Callable[[Inputs], None] | None = None
) -> Iterator[Run]:
    """The finished run, while its texts are still on disk; `check` sees the inputs before anything is read."""
    threads = checked_threads(values["threads"])
    _limit_arrow(threads)
    columns = column_options(values)
    settings = Settings(threads, values["strict"], values["work_dir"])
    plan, statistics = with_statistics(plan, values["stats"], values["stats_group"])
    sources = open_inputs(list(inputs), **reading_options(values))
    if check is not None:
        check(sources)
    with TerminalProgress() as progress:
        for note in sources.notes:
            progress.note(note)
        finished = run(plan, sources, columns, settings, progress, statistics)
        try:
            yield finished
        finally:
            finished.corpus.spool.close()


def _limit_arrow(threads: int) -> None:
    """Arrow's own pools keep to the number of threads that the user gave."""
    import pyarrow as pa

    pa.set_cpu_count(threads)
    pa.set_io_thread_count(max(threads, 1))
