"""What Prometheus reads at /metrics. Labels are routes and states, never ids: their number is bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        known: Any = {"registry": self.registry, "namespace": "neardup"}
        self.requests = Counter(
            "requests", "Requests by route and status.", ["method", "route", "status"], **known
        )
        self.seconds = Histogram(
            "request_seconds", "Time to answer.", ["method", "route"], buckets=SECONDS, **known
        )
        self.under_way = Gauge("requests_under_way", "Requests that are being answered.", **known)
        self.documents = Counter(
            "documents", "Documents of changes by what became of them.", ["status"], **known
        )
        self.batches = Histogram(
            "batch_documents", "Documents of a batch.", ["queue"], buckets=SIZES, **known
        )
        self.waiting = Gauge("queue_requests", "Requests that wait.", ["queue"], **known)
        self.indexed = Gauge("index_documents", "Documents of the index.", **known)
        self.buffered = Gauge("buffered_bytes", "Bytes of bodies in memory.", **known)
        self.logs_lost = Gauge("log_lines_lost", "Log lines that nobody read in time.", **known)
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        ProcessCollector(registry=self.registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; what it is counted in is looked up once for each route and status."""
        found = self._answered.get((method, route, status))
        if found is None:
            requests, times = (
                self.requests.labels(method, route, str(status)),
                self.seconds.labels(method, route),
            )
            found = self._answered[method, route, status] = requests, times
        found[0].inc()
        found[1].observe(seconds)

    def watch(self, gauge: Gauge, value: Callable[[], float]) -> None:
        """A gauge whose value is asked for when it is read."""
        gauge.set_function(value)

    def page(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self.registry)
