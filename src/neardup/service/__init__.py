"""The service: an index over HTTP. `neardup serve` starts it; docs/service.md describes it.

A request passes the gate (Host, Origin, token), its body is read within limits, and its documents wait in a short
queue. Threads take what waits together: questions are looked up as one batch, changes are committed as one.
"""
