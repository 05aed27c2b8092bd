"""What the server reports about itself: the index, its health, its metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

import neardup
from neardup.service import models
from neardup.service.core import Service
from neardup.service.described import ERRORS
from neardup.service.handlers import in_time, json_response, visitor
from neardup.service.problems import Problem

router = APIRouter(responses=ERRORS)


@router.get("/v1/info", summary="What the index is.", responses={200: {"model": models.Info}})
async def info(request: Request) -> Response:
    """Counts are for tokens that see every document: they would reveal how many are hidden."""
    service, caller = visitor(request, "read")
    index, limits = service.index, service.settings.limits
    known: dict[str, Any] = {
        "method": index.plan.method,
        "threshold": index.plan.threshold,
        "store": index.store,
        "plan": index.plan.digest,
        "version": neardup.__version__,
        "limits": {name: getattr(limits, name) for name in ("body", "stream", "text", "batch", "seconds")},
    }
    if caller.groups is None:
        found = await in_time(service, service.single(index.info))
        known |= {name: found[name] for name in ("documents", "segments", "statistics")}
    return json_response(known)


@router.get("/healthz", summary="The process runs.", responses={200: {"model": models.State}})
async def healthz() -> Response:
    """Answered without a token."""
    return json_response({"status": "ok"})


@router.get("/readyz", summary="The index answers.", responses={200: {"model": models.State}})
async def readyz(request: Request) -> Response:
    """Answered without a token; 503 while the server stops, or if the index cannot be read."""
    service: Service = request.app.state.service
    if service.stopping:
        raise Problem("stopping", "The server is stopping.")
    await in_time(service, service.single(lambda: service.index.version))
    return json_response({"status": "ready"})


@router.get("/metrics", summary="Metrics for Prometheus.", response_class=Response)
async def metrics(request: Request) -> Response:
    """For tokens with the scope admin."""
    service, _ = visitor(request, "admin")
    service.metrics.indexed.set(await in_time(service, service.single(len, service.index)))
    return Response(service.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")
