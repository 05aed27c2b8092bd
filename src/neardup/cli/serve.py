"""neardup serve: an index over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.errors import InputError, MissingExtra
from neardup.escapes import escape_controls
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.service.settings import RequestLimits

TOKENS = "tokens.json"
SCOPES = ("read", "write", "admin")


@click.command(cls=GroupedCommand)
@click.argument("folder", metavar="INDEX")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on.")
@options.count("--port", "Port to listen on; 0: any free one.", 8484, most=65535)
@options.flag("--share-port", "Let several servers of one PostgreSQL index listen on one port.")
@options.flag("--open-to-all", "Listen on other addresses than loopback without tokens.")
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name in the Host header that means this server; '*': any.",
)
@click.option(
    "--cors-origin", "origins", multiple=True, metavar="URL", help="An origin whose web pages may ask."
)
@click.option("--tls-cert", "certificate", metavar="FILE", help="Certificate for TLS (PEM).")
@click.option("--tls-key", "key", metavar="FILE", help="Key of the certificate (PEM).")
@grouped(
    "Tokens",
    click.option("--tokens", metavar="FILE", help="File of tokens.  [default: tokens.json in INDEX]"),
    click.option("--new-token", metavar="NAME", help="Make a token, print it, and exit."),
    click.option(
        "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), metavar="|".join(SCOPES),
        help="What the new token may do.  [default: read]",
    ),
    click.option(
        "--group", "groups", multiple=True, metavar="NAME",
        help="A group of the new token, which then sees the documents of its groups and public ones.",
    ),
    click.option("--id-prefix", default="", metavar="TEXT", help="Start of the ids that the new token writes."),
    options.flag("--list-tokens", "List the tokens, and exit."),
    click.option("--revoke-token", metavar="NAME", help="Remove a token, and exit."),
)  # fmt: skip
@grouped(
    "Limits",
    options.count("--max-body", "Megabytes of a JSON body.", 16, least=1),
    options.count("--max-stream", "Megabytes of an NDJSON body.", 4096, least=1),
    options.count("--max-text", "Characters of a text.", 1_000_000, least=1),
    options.count("--max-batch", "Documents of a JSON body.", 1000, least=1),
    options.count("--max-queue", "Requests that wait; more are answered with 503.", 512, least=1),
    click.option(
        "--timeout", type=click.FloatRange(0.1), default=30.0, metavar="SECONDS", help="Time for an answer."
    ),
)
@grouped(
    "Resources",
    options.count("--threads", "Threads that answer.  [default: all processors]", least=1),
)
def command(folder: str, **values: Any) -> None:
    """Answer questions about INDEX over HTTP: near-duplicates found, checked, added and deleted.

    INDEX is a folder, or the address of a PostgreSQL database. The server listens on this machine alone, unless --host
    says otherwise and a token exists. SIGTERM stops it after what is under way; SIGHUP reads the tokens again.

    \b
    Examples:
      neardup serve news.index
      neardup serve news.index --new-token crawler --scope read --scope write
      neardup serve news.index --host 0.0.0.0 --allow-host near.example --tls-cert cert.pem --tls-key key.pem
    """
    _check_extra()
    tokens = _token_file(folder, values.pop("tokens"))
    asked = {name: values.pop(name) for name in ("new_token", "list_tokens", "revoke_token")}
    made = {name: values.pop(name) for name in ("scopes", "groups", "id_prefix")}
    if any(asked.values()):
        _manage(tokens, **asked, **made)
        return
    if any(made.values()):
        raise InputError("--scope, --group and --id-prefix describe a new token: give --new-token NAME too.")
    _serve(folder, tokens, values)


def _check_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(str(error.name), "serve", "neardup serve") from error


def _token_file(folder: str, given: str | None) -> Path | None:
    """The file of tokens: a database has no folder for one."""
    if given is not None:
        return Path(given)
    return Path(folder) / TOKENS if Path(folder).is_dir() else None


def _manage(
    path: Path | None,
    new_token: str | None,
    list_tokens: bool,
    revoke_token: str | None,
    scopes: tuple[str, ...],
    groups: tuple[str, ...],
    id_prefix: str,
) -> None:
    """Make, list or revoke tokens."""
    from neardup.service import tokens

    if path is None:
        raise InputError("INDEX is no folder that could have a file of tokens: give --tokens FILE.")
    if revoke_token:
        tokens.revoke_token(path, revoke_token)
        click.echo(f"{revoke_token} is revoked; running servers need a SIGHUP.", err=True)
    if new_token:
        click.echo(tokens.new_token(path, new_token, scopes or ("read",), groups or None, id_prefix))
        click.echo("The token is shown this once; running servers need a SIGHUP.", err=True)
    if list_tokens:
        known = tokens.read_tokens(path)
        for one in known:
            groups_shown = "all documents" if one.groups is None else "groups " + ", ".join(one.groups)
            prefix = f"; ids begin with {one.prefix!r}" if one.prefix else ""
            line = f"{one.name}  {', '.join(one.scopes)}  {groups_shown}{prefix}  {one.created}"
            click.echo(escape_controls(line))
        if not known:
            click.echo(counted(0, "token"))


def _serve(folder: str, tokens: Path | None, values: dict[str, Any]) -> None:
    from neardup.index.index import Index
    from neardup.service.server import serve
    from neardup.service.settings import Settings
    from neardup.workers import checked_threads

    limits = _limits(values)
    paths: dict[str, Any] = {
        name: None if values[name] is None else Path(values[name]) for name in ("certificate", "key")
    }
    same = {name: values[name] for name in ("host", "port", "share_port", "open_to_all")}
    settings = Settings(
        **same,
        **paths,
        tokens=tokens,
        allowed_hosts=values["allowed_hosts"],
        origins=values["origins"],
        threads=checked_threads(values["threads"]),
        limits=limits,
    )
    with Index(folder) as index:
        serve(index, settings)


def _limits(values: dict[str, Any]) -> RequestLimits:
    from neardup.service.settings import MEGABYTE, RequestLimits

    return RequestLimits(
        body=values["max_body"] * MEGABYTE,
        stream=values["max_stream"] * MEGABYTE,
        text=values["max_text"],
        batch=values["max_batch"],
        seconds=values["timeout"],
        queue=values["max_queue"],
        head_seconds=min(RequestLimits.head_seconds, values["timeout"]),
    )
