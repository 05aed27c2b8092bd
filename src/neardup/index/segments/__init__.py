"""Segments: what an index finds candidates with; derived from the truth, and rebuilt where they are damaged."""
