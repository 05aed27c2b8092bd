"""The `neardup` command: one thin file per subcommand, loaded when it is called.

Exit codes: 0 done (bad records among good ones are counted, not fatal), 1 an error of ours, 2 the run was impossible
(one line says why), 3 stopped by the guard of `dedup`, 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import gc
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, ClassVar

import click

from neardup import __version__, kernels
from neardup.errors import NeardupError, ParameterError, nearest_name, quoted_names
from neardup.escapes import escape_controls

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # options of glibc's mallopt
COMMANDS = {
    "dedup": "Remove or mark the near-duplicates of a corpus.",
    "report": "Write a page about the result of dedup, riskiest removals first.",
    "studio": "Review and label in the browser.",
    "passages": "Find passages that occur more than once, and remove or mask them.",
    "sources": "Count how much each source copies from each other one.",
    "pairs": "List the pairs of near-duplicates of a corpus.",
    "compare": "Show how similar two documents are, and their shared passages.",
    "learn": "Learn a similarity from labelled documents.",
    "evaluate": "Score methods on labelled documents.",
    "sample": "Draw pairs of documents to judge.",
    "tune": "Choose a method and threshold by labels, or show the recall and cost of bands.",
    "fingerprints": "Summarize the fingerprints of a corpus, and suggest a distance.",
    "track": "Report which pages changed since the last visit.",
    "index": "Keep an index of documents, and check new documents against it.",
    "serve": "Answer questions about an index over HTTP.",
    "links": "Add the links of crawled pages as columns, to compare as fields.",
    "collapse": "Fold the near-duplicates of a result list.",
    "stats": "Count document frequencies for the weights of methods.",
    "study": "Reproduce the papers' tables, ours beside theirs.",
    "methods": "List the methods, or the options of one.",
}


class LazyGroup(click.Group):
    """A group that imports a command's file only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"neardup.cli.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + nearest_name(args[0], COMMANDS), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="neardup")
def group() -> None:
    """Near-duplicate detection for text.

    documents → text → features → weights → signatures → candidates → verified pairs → clusters → what to keep

    \b
    Examples:
      neardup dedup corpus.parquet -o clean
      neardup pairs news.jsonl -o pairs.parquet --threshold 0.8
      neardup compare a.txt b.txt
    """


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; an error that a user can correct is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal shows ? for a character that it does not have
            stream.reconfigure(errors="replace")
    if arguments is None and sys.argv[1:2] != ["serve"]:  # which answers single questions for a long time
        kernels.start_quickly()
        _collect_seldom()
        _reuse_memory()
        os.environ.setdefault(
            "OPENBLAS_NUM_THREADS", "1"
        )  # others would only wait, for 0.1 s of processor time
    _stop_at_signals()
    try:
        _run(arguments)
    except (click.Abort, KeyboardInterrupt):
        _stop("stopped; nothing was written", 130, own_process=arguments is None)
    except Stopped as stop:
        _stop(
            f"stopped by {stop.name}; nothing was written", 128 + stop.number, own_process=arguments is None
        )


def _run(arguments: list[str] | None) -> None:
    """Runs the command, and says in one line what went wrong; a signal may come while it does."""
    try:
        _command(arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        raise
    except click.ClickException as error:
        _fail(_sentence(error), 2)
    except ParameterError as error:
        _fail(_about_option(error, sys.argv[1:] if arguments is None else arguments), 2)
    except NeardupError as error:
        _fail(str(error), 2)
    except SystemExit as stop:
        # Click exits with 1 when our output is not read to its end (`neardup … | head`): no failure.
        sys.exit(0 if stop.code == 1 else stop.code)
    except OSError as error:
        if error.errno == errno.EPIPE:
            sys.exit(0)
        _fail(f"{error.filename or 'standard output'} cannot be used: {error.strerror or error}", 2)
    except MemoryError:
        _fail(
            "out of memory; nothing was written: use less of it with --memory and --threads, or smaller files",
            2,
        )
    except Exception as error:
        if "can't start new thread" in str(error):
            _fail("the system starts no more threads; nothing was written: use fewer with --threads", 2)
        if os.environ.get("NEARDUP_TRACEBACK"):
            raise
        _fail(_bug(error), 1)


def _command(arguments: list[str] | None) -> None:
    """Runs the command; a signal that came inside a callback of Arrow, and became Arrow's error, ends it too."""
    try:
        group.main(args=arguments, prog_name="neardup", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except Exception:
        if Stopped.latest is not None:
            raise Stopped.latest from None
        raise


def _collect_seldom() -> None:
    """Has Python look for cycles of garbage a hundred times less often, and not at the end: imports leave none."""
    gc.set_threshold(100 * gc.get_threshold()[0], *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def _reuse_memory() -> None:
    """Has the C library keep some freed memory for the next chunk: the system would fill it with zeros every time."""
    with suppress(OSError, AttributeError, TypeError):  # not glibc
        set_option = ctypes.CDLL(None).mallopt
        set_option(_MMAP_THRESHOLD, 32 << 20)  # smaller blocks come from the heap …
        set_option(_TRIM_THRESHOLD, 64 << 20)  # … which keeps so much at its end


class Stopped(BaseException):
    """A signal that asks the process to end; like Ctrl-C it passes every handler of errors."""

    latest: ClassVar[Stopped | None] = None

    def __init__(self, number: int) -> None:
        self.number, self.name = number, signal.Signals(number).name


def _stop_at_signals() -> None:
    """Has SIGTERM and SIGHUP end a run in order; one that is ignored (nohup) stays ignored."""

    def stop(number: int, frame: object) -> None:
        Stopped.latest = Stopped(number)
        raise Stopped.latest

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        alone = threading.current_thread() is threading.main_thread()
        if alone and number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, stop)


def _bug(error: Exception) -> str:
    """The sentence about an error that is ours, with the place of it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename.rpartition(os.sep)[2]}:{place.lineno}"
    return (
        f"an error inside neardup, {type(error).__name__} at {where}: {str(error)[:200] or 'no message'}. "
        "Please report it; NEARDUP_TRACEBACK=1 shows the whole trace."
    )


def _sentence(error: click.ClickException) -> str:
    context: Any = getattr(error, "ctx", None)
    hint = f" Try '{context.command_path} --help'." if context is not None else ""
    message = error.format_message()
    value, between, choices = error.message.partition(" is not one of ")
    return message + (nearest_name(value.strip("'"), quoted_names(choices)) if between else "") + hint


def _about_option(error: ParameterError, words: list[str]) -> str:
    """The sentence of the error, about the option or the argument among these words that it concerns."""
    from neardup.registry import ALIASES, methods

    names = {"stats": "statistics", **ALIASES}
    for flag in (word.partition("=")[0] for word in words if word.startswith("--")):
        name = flag[2:].replace("-", "_")
        if names.get(name, name) == error.name:
            return error.for_option(flag, of_method=error.callable_name in methods())
    return error.for_argument() if error.value in words else str(error)


def _stop(message: str, code: int, own_process: bool) -> None:
    """Ends after a signal; in a process of its own at once: it could abort under threads that are inside Arrow."""
    if not own_process:
        _fail(message, code)
    with suppress(OSError):
        click.echo(f"neardup: {message}", err=True)
        sys.stderr.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def _fail(message: str, code: int) -> None:
    click.echo(f"neardup: {escape_controls(message)}", err=True)
    sys.exit(code)
