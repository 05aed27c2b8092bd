"""Evaluation on labelled documents: scores, curves, intervals, errors to inspect, quality floors, studies."""
