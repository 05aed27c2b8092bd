"""Near-duplicate detection for text, as one sentence.

documents → text → features → weights → signatures → candidates → verified pairs → clusters → what to keep.
"""

__version__ = "0.1.0"
