"""Learning what makes documents near-duplicates from a few labelled ones: pairs → loss → weights → a model."""
