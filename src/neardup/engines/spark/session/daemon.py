"""The daemon that Spark forks Python workers from, with kernels preloaded so that workers need not load them.

Sessions that neardup starts set `spark.python.daemon.module` to this module. It loads what every run needs, one second
of CPU time, and continues as Spark's own daemon.
"""

from __future__ import annotations

import gc


def load_kernels() -> None:
    """Loads the packages and compiled kernels of the default plan, by signing one text."""
    import pandas  # noqa: F401 (Spark's workers import it)
    import pyarrow as pa

    from neardup.columns import Texts
    from neardup.engines.core.represent import describe, represent
    from neardup.engines.spark import run  # noqa: F401
    from neardup.registry import get_method

    texts = Texts.from_arrow(pa.array(["a text of some words that is long enough"], pa.large_string()))
    represent(get_method("minhash").plan(), texts)
    describe(texts)
    gc.collect()
    gc.freeze()  # workers keep all of it


if __name__ == "__main__":
    from pyspark.daemon import manager

    load_kernels()
    manager()
