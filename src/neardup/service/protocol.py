"""HTTP/1.1 with limits that uvicorn leaves to a proxy: time for a head, time to read an answer, and connections."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from neardup.service.problems import Problem
from neardup.service.settings import LARGEST_HEAD

SLOWEST = 1024  # bytes a second of an answer that a client must read


class BoundedProtocol(H11Protocol):
    """Ends connections that send the head of a request or read an answer too slowly, and those beyond the limit."""

    head_seconds = 10.0
    answer_seconds = 30.0
    most = 1024

    def connection_made(self, transport: Any) -> None:
        """Start the clock of the first request."""
        super().connection_made(transport)
        self._head_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        if len(self.connections) > self.most:
            self._refuse(Problem("overloaded", "The server has too many connections. Try again later."))
            return
        self._start_clock()

    def _start_clock(self) -> None:
        self._stop_clock()
        self._head_timer = self.loop.call_later(self.head_seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def data_received(self, data: bytes) -> None:
        """Take data; the clock runs while the head of a request is incomplete."""
        if self.transport.is_closing():
            return
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_clock()
        elif self._head_timer is None and self._between():
            self._start_clock()

    def _between(self) -> bool:
        """Whether the connection waits for the rest of a head."""
        return self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_clock()
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not for ever: it holds a connection and an answer in memory."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        self._stop_waiting()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection; one whose last answer was not read does not end by itself."""
        super().timeout_keep_alive_handler()
        self._wait_for_reader()

    def _wait_for_reader(self) -> None:
        self._stop_waiting()
        unread = self.transport.get_write_buffer_size()
        self._answer_timer = self.loop.call_later(self.answer_seconds, self._check_reader, unread)

    def _check_reader(self, before: int) -> None:
        if self.transport.get_write_buffer_size() > before - SLOWEST * self.answer_seconds:
            self.transport.abort()
        else:
            self._wait_for_reader()

    def _stop_waiting(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self._refuse(Problem("body-timeout", "The head of the request did not arrive in time."))

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        too_large = self._head_timer is not None and len(self.conn.trailing_data[0]) > LARGEST_HEAD
        self._stop_clock()
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()  # an answer that breaks off is all that can be said
            return
        if too_large:
            self._refuse(Problem("head-too-large", f"The path and headers may have {LARGEST_HEAD:,} bytes."))
        else:
            self._refuse(Problem("malformed-request", "The request line or a header cannot be read."))

    def _refuse(self, problem: Problem) -> None:
        body = problem.body(uuid.uuid4().hex)
        head = [
            f"HTTP/1.1 {problem.status} {problem.title}",
            f"content-length: {len(body)}",
            "connection: close",
        ]
        head += [f"{name}: {value}" for name, value in problem.headers.items()]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        self.transport.close()
