"""Training: labelled documents → pairs → loss → weights → threshold and probability → a model."""
