"""What both kinds of clients share: settings, when a request is repeated, and errors."""

from __future__ import annotations

import random
import re
from typing import Any

from neardup.client.answers import Json
from neardup.client.requests import Call
from neardup.errors import InputError, MissingExtra, ServiceError

try:
    import httpx
except ImportError:  # said when a client is made
    httpx = None  # type: ignore[assignment]

__all__ = ["Connection", "httpx"]

AGAIN = (429, 502, 503, 504)
LONGEST_PAUSE = 10.0  # seconds between two attempts
NOT_OURS = "The answer is not one of neardup serve. Check the address."


class Connection:
    """What both clients share: settings, attempts, and errors."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int, settings: Json) -> None:
        if httpx is None:
            raise MissingExtra("httpx", "client", "neardup.Client")
        if token is not None and not re.fullmatch(r"[!-~]+", token):
            raise InputError("The token has characters that no token has: give it as --new-token printed it.")
        headers = {"user-agent": "neardup", **({"authorization": f"Bearer {token}"} if token else {})}
        self._retries = retries
        self._settings = {"base_url": url, "headers": headers, "timeout": timeout, **settings}

    def _pause(self, attempt: int, answer: httpx.Response | None) -> float:
        """Seconds before the next attempt: as the server says, or longer each time."""
        asked = answer.headers.get("retry-after", "") if answer is not None else ""
        wait = float(asked) if asked.isdigit() else 0.05 * 2**attempt
        return min(wait, LONGEST_PAUSE) * random.uniform(0.75, 1.25)

    def _again(self, attempt: int, answer: httpx.Response | None) -> bool:
        return attempt < self._retries and (answer is None or answer.status_code in AGAIN)

    def _value(self, call: Call, answer: httpx.Response) -> Any:
        if answer.status_code == 404 and call.missing:
            return None
        if not answer.is_success:
            raise error_of(answer)
        try:
            return call.read(answer.json())
        except (ValueError, KeyError, TypeError):
            raise ServiceError(answer.status_code, "unknown", NOT_OURS) from None


def error_of(answer: httpx.Response) -> ServiceError:
    """The error that an answer reports."""
    try:
        problem = answer.json()
        kind, detail = str(problem["type"]).rpartition(":")[2], str(problem["detail"])
        return ServiceError(answer.status_code, kind, detail, str(problem.get("request_id", "")))
    except (ValueError, KeyError, TypeError):
        return ServiceError(answer.status_code, "unknown", NOT_OURS)
