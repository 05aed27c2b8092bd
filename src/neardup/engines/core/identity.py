"""Ids to id hashes, an order that no input order changes; and documents to the distinct texts they are copies of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.candidates.copies import collapse
from neardup.columns import Hashes, Numbers, Texts
from neardup.errors import InputError


def distinct_texts(digests: Hashes, id_hashes: Hashes) -> tuple[Numbers, Numbers]:
    """The representative of each distinct text, ascending; and for each document the place of its own among them."""
    everything = np.ones(len(digests), np.bool_)
    return np.unique(collapse(digests, id_hashes, everything), return_inverse=True)


def id_digests(ids: pa.Array) -> Hashes:
    """Two 64-bit hashes of each id, the same whether ids are stored as integers or strings."""
    texts = Texts.from_arrow(ids.cast(pa.large_string()))
    digests = np.empty((len(ids), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, 1, digests)
    return digests


def hash_ids(
    ids: pa.Array, policy: str, renamed: Callable[[int, str], None] | None = None
) -> tuple[pa.Array, Hashes]:
    """The ids, made unique if asked, and a 64-bit hash of each.

    `renamed` is called with each document that got another id, and the id.
    """
    hashes = np.ascontiguousarray(id_digests(ids)[:, 0])
    order = np.argsort(hashes)
    same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    if len(same) == 0:
        return ids, hashes
    repeated = _repeated(ids, order, same)
    if repeated and policy == "error":
        raise InputError(repeated_ids(len(repeated), [repr(value) for value in list(repeated)[:3]]))
    if repeated:
        again = sorted(number for numbers in repeated.values() for number in numbers[1:])
        ids = _renamed(ids, repeated)
        if renamed is not None:
            for number in again:
                renamed(number, ids[number].as_py())
        return hash_ids(ids, "error")
    return ids, hashes


def repeated_ids(count: int, examples: list[str]) -> str:
    """The message for ids that several documents share."""
    what = "1 id stands" if count == 1 else f"{count:,} ids stand"
    return (
        f"{what} for more than one document, for example {', '.join(examples)}: "
        "choose another --id-column, or rename them with --duplicate-ids rename"
    )


def _repeated(ids: pa.Array, order: Numbers, same: Numbers) -> dict[Any, list[int]]:
    """Ids that occur more than once, with the documents that have them."""
    found: dict[Any, list[int]] = {}
    for place in np.unique(np.concatenate([same, same + 1])):
        found.setdefault(ids[int(order[place])].as_py(), []).append(int(order[place]))
    return {value: sorted(numbers) for value, numbers in found.items() if len(numbers) > 1}


def _renamed(ids: pa.Array, repeated: dict[Any, list[int]]) -> pa.Array:
    """Ids as strings, where the second and later documents of an id have '#2', '#3' … appended."""
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
