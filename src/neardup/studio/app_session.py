"""Who uses the studio: the token of the address that the command prints, sessions in cookies, and names of people."""

from __future__ import annotations

import getpass
import secrets
import threading
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, unquote

__all__ = ["LONGEST_NAME", "Session", "Sessions", "clean_name"]

MOST = 1000  # sessions; the oldest one ends
LONGEST_NAME = 60  # characters of a person's name
YEAR = 365 * 24 * 3600


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Session:
    """A browser that has opened the address with the token."""

    name: str  # of the person
    key: str = field(default_factory=_secret, repr=False)
    csrf: str = field(default_factory=_secret, repr=False)  # in every form


class Sessions:
    """All sessions of a studio, in memory: they end with it."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.token = token or _secret()
        # Browsers send the cookies of a host to all its ports: two studios must not end each other's sessions.
        self._cookie, self._judge = f"neardup_studio_{port}", "neardup_name"
        self._known: dict[str, Session] = {}
        self._lock = threading.Lock()

    def opened(self, token: str, cookies: str) -> Session | None:
        """A new session, if the token is right."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        made = Session(clean_name(unquote(_cookies(cookies).get(self._judge, ""))) or user_name())
        with self._lock:
            self._known[made.key] = made
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        return made

    def find(self, cookies: str) -> Session | None:
        """The session of a request's cookies."""
        return self._known.get(_cookies(cookies).get(self._cookie, ""))

    def cookies(self, session: Session) -> list[str]:
        """The values of Set-Cookie headers for a session; the name outlives it."""
        rules = "Path=/; HttpOnly; SameSite=Lax"
        return [
            f"{self._cookie}={session.key}; {rules}",
            f"{self._judge}={quote(session.name, safe='')}; {rules}; Max-Age={YEAR}",
        ]


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(header).items()}
    except CookieError:
        return {}


def clean_name(name: str) -> str:
    """A person's name on one line, within the longest one; empty if nothing can be seen of it."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())[
        :LONGEST_NAME
    ].strip()


def user_name() -> str:
    """The name of the user of this machine."""
    try:
        return clean_name(getpass.getuser()) or "reviewer"
    except (OSError, KeyError, ImportError):
        return "reviewer"
