"""Engines run a plan: `local` on one machine, streaming."""
