"""Document frequencies: in how many distinct texts, or other units, each feature occurs.

frequencies  tables of frequencies: mergeable, frozen, named by a digest
counters     counting in bounded memory: exactly, with sorted runs on disk, or by a sketch
units        the unit of document frequency: what counts once
file         the file format: one parquet file
"""

from typing import TYPE_CHECKING, Any

from neardup.statistics.counters import Counter, Sketch
from neardup.statistics.frequencies import Frequencies, Statistics, add_up, count_features, merge
from neardup.statistics.units import host_of, parse_df_unit, unit_column, units_by_value

if TYPE_CHECKING:
    from neardup.statistics.file import (
        check_target,
        load_statistics,
        read_header,
        save_statistics,
        write_statistics,
    )

__all__ = [
    "Counter",
    "Frequencies",
    "Sketch",
    "Statistics",
    "add_up",
    "check_target",
    "count_features",
    "host_of",
    "load_statistics",
    "merge",
    "parse_df_unit",
    "read_header",
    "save_statistics",
    "unit_column",
    "units_by_value",
    "write_statistics",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from neardup.statistics import file  # it imports pyarrow.parquet, which most commands do not need

    return getattr(file, name)
