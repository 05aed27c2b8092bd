"""neardup inside other tools: one module for each, which needs that tool only where it is named after a block of it."""
