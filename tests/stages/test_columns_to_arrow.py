"""NumPy's columns as Arrow's, and how many bytes of them wait in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from neardup.columns import arrow_array
from neardup.engines.local.checkpoint.spill import SpilledRows

TYPES = st.sampled_from(
    [np.bool_, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]
)


@given(TYPES.flatmap(lambda kind: arrays.arrays(kind, st.integers(0, 40))), st.integers(1, 3))
def test_an_array_is_the_one_that_arrow_makes(values: Any, step: int) -> None:
    found = arrow_array(values[::step])
    found.validate(full=True)
    np.testing.assert_array_equal(found.to_numpy(zero_copy_only=False), values[::step])
    assert found.type == pa.array(values).type


@pytest.mark.parametrize("ids", [pa.array(["a", "bcd", None]), pa.array([1, 2, 3])])
def test_rows_that_wait_are_counted_in_bytes(ids: pa.Array) -> None:
    rows = SpilledRows("some", lambda name: None, most=1 << 10)
    key = pa.array(np.arange(3, dtype=np.uint64))
    batch = pa.record_batch({"id": ids, "key": key, "present": pa.array([True, False, True])})
    rows.add(batch)
    assert abs(rows._bytes - batch.nbytes) <= len(batch.schema)
    for _ in range((1 << 10) // batch.nbytes + 1):
        rows.add(batch)
    assert rows.segments
