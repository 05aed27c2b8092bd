"""The peers: who they are, what they need, and which function runs each.

Only this file is read outside the peers' own environments; the functions' modules import their library
inside the function, so that the list can be read where none is installed.
"""

from __future__ import annotations

from dataclasses import dataclass

ARROW = ("numpy>=2", "pyarrow>=18")


@dataclass(frozen=True)
class Environment:
    """A virtual environment: what pip installs, what is imported before the clock starts, which Python."""

    name: str
    requirements: tuple[str, ...]
    imports: tuple[str, ...] = ()
    python: str = ""  # ours


@dataclass(frozen=True)
class Peer:
    """One way of using a peer: a function of the module, run in the environment of that name."""

    name: str
    module: str
    function: str
    says: str
    threads: tuple[int, ...] = (1,)  # numbers of threads that it can make use of
    slow: bool = False  # a minute or more for 20,000 documents: run once, and not on larger corpora


@dataclass(frozen=True)
class IndexPeer:
    """A peer whose index is asked one text at a time (peers/indexes.py)."""

    name: str
    environment: str
    says: str
    most: int = 1 << 62  # documents: more would take hours


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment("rensa", ("rensa==0.5.0", *ARROW), ("rensa",)),
        Environment("fastsketchlsh", ("fastsketchlsh==1.0.1", *ARROW), ("FastSketchLSH",)),
        Environment("gaoya", ("gaoya==0.2.2", *ARROW), ("gaoya.minhash",)),
        Environment("pydivsufsort", ("pydivsufsort==0.0.20", *ARROW), ("pydivsufsort",)),
        Environment("datasketch", ("datasketch==2.0.0", "xxhash==4.1.0", *ARROW), ("datasketch", "xxhash")),
        Environment(
            "datasketch-redis",
            ("datasketch==2.0.0", "xxhash==4.1.0", "redis==8.1.0", *ARROW),
            ("datasketch", "xxhash", "redis"),
        ),
        Environment(
            "datasketch-fastapi",
            ("datasketch==2.0.0", "xxhash==4.1.0", "redis==8.1.0", "fastapi>=0.115", "uvicorn>=0.34", *ARROW),
            ("datasketch", "xxhash", "redis", "fastapi"),
        ),
        Environment("textdedup", ("text-dedup==0.4.0", *ARROW), python="3.12"),
        Environment("datatrove", ("datatrove[io,processing]==0.10.1", "spacy==3.8.18", *ARROW)),
    )
}

SIGNED = "pairs and clusters, verified by signature"
UNVERIFIED = "clusters and kept documents, not verified"
PEERS = {
    peer.name: peer
    for peer in (
        Peer("shingles", "rensa", "shingles", "no peer: reading and Python 5-grams alone"),
        Peer("rensa", "rensa", "pairs", f"RMinHash + LSH: {SIGNED}", (1, 2)),
        Peer("rensa-matrix", "rensa", "matrix", "digest matrix: flags only, not verified", (1, 2)),
        Peer("fastsketchlsh", "fastsketchlsh", "pairs", f"FastSimilaritySketch + LSH: {SIGNED}", (1, 2)),
        Peer("gaoya", "gaoya", "pairs", f"MinHashStringIndex: {SIGNED}", (1, 2)),
        Peer("datasketch-xxh32", "datasketch", "fast", f"bulk MinHash + LSH: {SIGNED}"),
        Peer("datasketch", "datasketch", "bulk", f"the same with its default hash: {SIGNED}"),
        Peer("text-dedup-xxh3", "textdedup", "fast", f"its command: {UNVERIFIED}", slow=True),
        Peer("text-dedup", "textdedup", "default", f"the same, default hash: {UNVERIFIED}", slow=True),
        Peer("datatrove-split", "datatrove", "split", f"words by str.split: {UNVERIFIED}", slow=True),
        Peer("datatrove", "datatrove", "default", f"words by spaCy, its default: {UNVERIFIED}", slow=True),
    )
}
INDEX_PEERS = {
    peer.name: peer
    for peer in (
        IndexPeer("rensa", "rensa", "RMinHashLSH in memory: not verified"),
        IndexPeer("gaoya", "gaoya", "MinHashStringIndex in memory: verified by signature"),
        IndexPeer("datasketch", "datasketch", "MinHashLSH in memory: not verified"),
        IndexPeer("datasketch-redis", "datasketch-redis", "MinHashLSH in Redis: not verified", most=100_000),
    )
}
