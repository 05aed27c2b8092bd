"""The cost of very many documents on a cluster, from measured costs of a document and simulated copies and buckets.

    python benchmarks/spark_model.py [--documents 1e9 1e10] [--machines 50] [--cores 16] [--seed 1]

Costs of a document are those that benchmarks/spark.py measured. How documents repeat each other is simulated:
exact copies and near-duplicates in groups whose sizes follow a power law, the largest of them a fixed share of the
corpus; and templates, whose pages agree in a band with probability (share of the template)^rows, all of them with the
same key: the hot buckets. Buckets of more than 10,000 members are drawn and placed one by one, others counted by size.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BANDS, ROWS = 17, 4  # minhash at threshold 0.7
LIMIT, PIVOTS = 32, 4
ENTRY, PAIR = 24, 36  # bytes of a key, an id hash and a place; of a pair in a packed block
TASK = 64 << 20  # bytes that a task receives
HOT = 128  # members in one sending task above which a bucket is hot
HEADS, SPREAD = 33, 32  # members that go to the task of a hot bucket; least number of tasks for the others


@dataclass(frozen=True)
class Costs:
    """CPU microseconds and bytes of a document of 2.7 kB, measured on 1,000,000 of them."""

    sign: float = 43.6  # read, hash, sign, write
    send_keys: float = 11.2  # copies and candidates
    reread: float = 13.0  # texts, to select those of candidate pairs
    measure: float = 87.0  # a document of a candidate pair: text sent, features, pairs measured, decided
    text: float = 2700.0
    stored: float = 2990.0
    identity: float = 50.0  # shuffled to find copies


@dataclass(frozen=True)
class Corpus:
    """How documents repeat each other."""

    copies: float = 0.25  # of all documents
    most_copied: float = 1e-3  # the share of one text
    near: float = 0.2  # share of distinct texts that are near-duplicates
    largest: float = 1e-4  # the share of the largest group of near-duplicates
    exponent: float = 2.3  # of the sizes of groups
    agree: float = 0.85  # similarity within a group
    templates: tuple[tuple[float, float], ...] = (
        (1e-2, 0.6),
        (1e-3, 0.8),
        (1e-3, 0.6),
    )  # share of pages; of a page


def group_sizes(
    total: float, largest: float, exponent: float, random: np.random.Generator, first: int = 0
) -> tuple[NDArray, NDArray]:
    """Sizes of groups, and how many groups have each: a power law.

    All groups together hold about `total` documents, the `first` ones of each not counted.
    """
    sizes = np.unique(np.geomspace(2, max(largest, 3), 400).astype(np.int64))
    widths = np.diff(np.append(sizes, sizes[-1] + 1))
    share = widths * sizes.astype(float) ** -exponent
    expected = share * total / (share * (sizes - first)).sum()
    counts = random.poisson(np.minimum(expected, 1e15))
    counts[-1] = max(counts[-1], 1)
    return sizes, counts


def pairs_of(sizes: NDArray) -> NDArray:
    """Pairs compared in buckets of the given sizes."""
    every = sizes * (sizes - 1) / 2
    return np.where(sizes <= LIMIT, every, PIVOTS * (sizes - PIVOTS) + PIVOTS * (PIVOTS - 1) / 2)


@dataclass
class Simulated:
    """A simulated corpus: distinct texts, pairs, measured documents, the fullest task with and without the split."""

    distinct_texts: float
    pairs: float
    measured: float
    largest_copy: float
    largest_bucket: float
    tasks: int
    average: float
    fullest_if_whole: float
    fullest: float


def simulate(n: float, corpus: Corpus, random: np.random.Generator) -> Simulated:
    """One draw of a corpus of n documents."""
    copy_sizes, copy_counts = group_sizes(corpus.copies * n, corpus.most_copied * n, 2.0, random, 1)
    distinct_texts = n - float(((copy_sizes - 1) * copy_counts).sum())
    sizes, counts = group_sizes(
        corpus.near * distinct_texts, corpus.largest * distinct_texts, corpus.exponent, random
    )
    band = (2 * corpus.agree / (1 + corpus.agree)) ** ROWS  # a member has the group's commonest key
    pairs = float((np.minimum(pairs_of(sizes * band) * BANDS, sizes * (sizes - 1) / 2) * counts).sum())
    measured = float((sizes * counts).sum())
    hot = []
    for share, part in corpus.templates:
        members = random.binomial(int(share * distinct_texts), part**ROWS, BANDS)
        hot += members.tolist()
        pairs += float(pairs_of(members).sum())
        measured += share * distinct_texts * (1 - (1 - part**ROWS) ** BANDS)
    large = sizes > 10_000
    each = np.repeat(sizes[large], np.minimum(counts[large], 100_000))
    hot += random.binomial(np.tile(each, BANDS), band).tolist()
    total = distinct_texts * BANDS
    tasks = max(1, int(-(-total * ENTRY // TASK)))
    whole, spread = np.full(tasks, total / tasks), np.full(tasks, total / tasks)
    at = random.integers(0, tasks, len(hot))
    np.add.at(whole, at, hot)
    for where, members in zip(at.tolist(), hot, strict=True):
        local = members / tasks  # as many tasks send as receive
        if local <= HOT:
            spread[where] += members
            continue
        wide = int(min(max(local / 4, SPREAD), tasks))
        spread[where] += (HEADS + 1) * tasks
        spread[(where + np.arange(wide)) % tasks] += members / wide
    least = min(measured, distinct_texts)
    return Simulated(
        distinct_texts, pairs, least, float(copy_sizes[copy_counts > 0].max()), float(max(hot, default=0)), tasks,
        total / tasks * ENTRY, float(whole.max()) * ENTRY, float(spread.max()) * ENTRY,
    )  # fmt: skip


def show(n: float, machines: int, cores: int, found: Simulated, costs: Costs) -> None:
    """Prints the figures of one size."""
    keys = found.distinct_texts * BANDS * ENTRY
    sent = {
        "copies": n * costs.identity,
        "keys": keys,
        "pairs": 2 * found.pairs * PAIR,
        "texts": found.measured * costs.text,
        "clusters": found.measured * 150,
    }
    each = n * (costs.sign + costs.reread) + found.distinct_texts * costs.send_keys
    seconds = 1e-6 * (each + found.measured * costs.measure)
    stored = n * costs.stored
    network = machines * 1.25e9 / 2  # 10 Gbit/s each, half of it used
    disk = machines * 1e9 / 2
    print(f"{n:.0e} documents ({n * costs.text / 1e12:.1f} TB): {found.distinct_texts:.2e} distinct texts")
    print(f"  most copied text {found.largest_copy:.1e}, largest bucket {found.largest_bucket:.1e}")
    print(f"  candidate pairs {found.pairs:.1e}, documents in them {found.measured:.1e}")
    print("  shuffled: " + ", ".join(f"{name} {size / 1e12:.2f} TB" for name, size in sent.items()))
    print(
        f"  keys in {found.tasks:,} tasks of {found.average / 1e6:.0f} MB; the fullest {found.fullest / 1e6:.0f} MB,"
    )
    print(f"    without the split of hot buckets {found.fullest_if_whole / 1e6:,.0f} MB")
    cpu, wire, disks = seconds / (machines * cores), sum(sent.values()) / network, 3 * stored / disk
    where = f"{machines} machines of {cores} cores"
    print(f"  CPU {seconds / 3600:,.0f} hours; on {where} {cpu / 60:.0f} minutes of computing,")
    print(f"    {wire / 60:.0f} on the network and {disks / 60:.0f} on disks of 1 GB/s, at the same time")


def main() -> None:
    """Prints the cost of each number of documents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=float, nargs="+", default=[1e9, 1e10])
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    hot = Corpus(templates=((0.2, 0.9), *Corpus().templates))  # a fifth of all pages have one template
    for name, corpus in (("As it comes", Corpus()), ("A fifth of all pages in one template", hot)):
        print(name)
        for n in given.documents:
            show(n, given.machines, given.cores, simulate(n, corpus, random), Costs())


if __name__ == "__main__":
    main()
