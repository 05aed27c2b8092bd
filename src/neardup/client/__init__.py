"""A client of `neardup serve`: the questions and changes of an index, from another process or machine.

    client = neardup.Client("http://127.0.0.1:8484", token="ndt_…")
    client.add([{"id": "a", "text": "…"}]); client.query("…"); client.add_if_new({"text": "…"})

Requests that can be repeated are: after a lost connection and when the server is overloaded. Every addition has an
idempotency key, so that a repeated one is answered like the first, and stores nothing twice.
"""

from neardup.client.answers import Checked, Match, Stored
from neardup.client.asynchronous import AsyncClient
from neardup.client.synchronous import Client

__all__ = ["AsyncClient", "Checked", "Client", "Match", "Stored"]
