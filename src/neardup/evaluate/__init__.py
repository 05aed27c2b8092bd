"""How good a method is on labelled documents: scores, curves, errors to look at, and floors that must hold."""
