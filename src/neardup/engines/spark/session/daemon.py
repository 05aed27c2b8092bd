"""The process that Spark's Python workers are forked from, with kernels loaded: else each worker would load its own.

Spark starts it by `spark.python.daemon.module`, which sessions of ours set. It loads what any run needs, a second of
CPU time, and goes on as Spark's own daemon.
"""

from __future__ import annotations

import gc


def load_kernels() -> None:
    """Loads the packages and compiled kernels of the usual plan, by looking at one text."""
    import pandas  # noqa: F401 (Spark's workers import it)
    import pyarrow as pa

    from neardup.columns import Texts
    from neardup.engines.core.represent import describe, sign
    from neardup.engines.spark import run  # noqa: F401
    from neardup.registry import get_method

    texts = Texts.from_arrow(pa.array(["a text of some words that is long enough"], pa.large_string()))
    sign(get_method("minhash").plan(), texts)
    describe(texts)
    gc.collect()
    gc.freeze()  # none of this is garbage, in any worker


if __name__ == "__main__":
    from pyspark.daemon import manager

    load_kernels()
    manager()
