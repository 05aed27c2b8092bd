"""An order of the documents that depends on their ids alone, and ids that are each used once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.columns import Hashes, Numbers, Texts
from neardup.errors import InputError


def hash_ids(
    ids: pa.Array, policy: str, renamed: Callable[[int, str], None] | None = None
) -> tuple[pa.Array, Hashes]:
    """The ids, made unique if asked, and a 64-bit hash of each: the order that no input order changes.

    `renamed` is told each document that got another id, and the id.
    """
    ranks = _hash_ids(ids)
    order = np.argsort(ranks)
    same = np.flatnonzero(ranks[order[1:]] == ranks[order[:-1]])
    if len(same) == 0:
        return ids, ranks
    repeated = _repeated(ids, order, same)
    if repeated and policy == "error":
        shown = ", ".join(repr(value) for value in list(repeated)[:3])
        raise InputError(
            f"{len(repeated)} ids stand for more than one document, {shown} among them: "
            "choose another --id-column, or have them renamed with --duplicate-ids rename"
        )
    if repeated:
        again = sorted(number for numbers in repeated.values() for number in numbers[1:])
        ids = _renamed(ids, repeated)
        if renamed is not None:
            for number in again:
                renamed(number, ids[number].as_py())
        return hash_ids(ids, "error")
    return ids, ranks


def _hash_ids(ids: pa.Array) -> Hashes:
    """The same hash for an id whether it stands among integers or strings."""
    texts = Texts.from_arrow(ids.cast(pa.large_string()))
    digests = np.empty((len(ids), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, 1, digests)
    return np.ascontiguousarray(digests[:, 0])


def _repeated(ids: pa.Array, order: Numbers, same: Numbers) -> dict[Any, list[int]]:
    """Ids that occur more than once, with the documents that have them."""
    found: dict[Any, list[int]] = {}
    for place in np.unique(np.concatenate([same, same + 1])):
        found.setdefault(ids[int(order[place])].as_py(), []).append(int(order[place]))
    return {value: sorted(numbers) for value, numbers in found.items() if len(numbers) > 1}


def _renamed(ids: pa.Array, repeated: dict[Any, list[int]]) -> pa.Array:
    """Ids as strings, where the second and later holders of an id have '#2', '#3' … appended."""
    values = ids.cast(pa.string()).to_pylist()
    taken = set(values)
    for value, numbers in repeated.items():
        count = 1
        for number in numbers[1:]:
            count += 1
            while f"{value}#{count}" in taken:
                count += 1
            values[number] = f"{value}#{count}"
            taken.add(values[number])
    return pa.array(values, pa.string())
