"""The learned model and what applying it needs: k-grams, their features, the weight stage, the model file."""
