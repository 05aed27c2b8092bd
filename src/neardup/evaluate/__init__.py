"""How good a method is, by labels that people gave: scores, thresholds, intervals, comparisons, costs."""
