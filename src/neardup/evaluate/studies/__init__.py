"""The papers' tables and figures on data that one has: ours beside theirs, one short script each."""
