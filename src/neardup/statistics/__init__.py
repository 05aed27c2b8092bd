"""Document frequencies: in how many distinct texts, or other units, each feature occurs.

frequencies  tables of frequencies: mergeable, frozen, named by a digest
counters     counting in bounded memory: exactly, with sorted runs on disk, or by a sketch
units        the unit of document frequency: texts, clusters, or values of a column
file         the file format: one parquet file; not imported here, because most commands need no pyarrow.parquet
"""

from neardup.statistics.counters import Counter, Sketch
from neardup.statistics.frequencies import (
    Frequencies,
    Statistics,
    add_up,
    count_features,
    count_unsorted,
    merge,
)
from neardup.statistics.units import parse_df_unit, unit_column

__all__ = [
    "Counter",
    "Frequencies",
    "Sketch",
    "Statistics",
    "add_up",
    "count_features",
    "count_unsorted",
    "merge",
    "parse_df_unit",
    "unit_column",
]
