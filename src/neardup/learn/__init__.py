"""Similarity learned from labelled documents: `training` learns a model from labels, `model` applies it."""
