"""Document frequencies: in how many contents each feature occurs. Mergeable, frozen, named by a digest.

frequencies  what is known, and what can be asked
counting     how it is counted with bounded memory: exactly, with sorted runs on disk, or by a sketch
"""

from neardup.statistics.counting import Counter, Sketch
from neardup.statistics.frequencies import Frequencies, Statistics, add_up, count_features, merge

__all__ = ["Counter", "Frequencies", "Sketch", "Statistics", "add_up", "count_features", "merge"]
