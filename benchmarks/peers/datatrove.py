"""datatrove 0.10: its four stages with the local executor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from peers.common import Found, Task
from settings import BANDS, NGRAM, NUM_PERM, ROWS


def cut_input(task: Task) -> tuple[int, int]:
    """One input file a worker, as it wants them; how many documents there are, and how many a file has.

    Ids become strings, because it takes an id of 0 for none.
    """
    table = pq.read_table(task.path)
    table = table.set_column(table.schema.get_field_index("id"), "id", table.column("id").cast(pa.string()))
    each = -(-table.num_rows // task.threads)
    (task.folder / "in").mkdir()
    for k in range(task.threads):
        pq.write_table(
            table.slice(k * each, each), task.folder / "in" / f"{k}.parquet", row_group_size=10_000
        )
    return table.num_rows, each


def run_stages(task: Task, tokenizer: Any) -> None:
    """Signatures, buckets, clusters, and the filtered documents written."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import dedup
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import ParquetReader
    from datatrove.pipeline.writers import ParquetWriter
    from datatrove.utils.hashing import HashConfig
    from loguru import logger

    logger.remove()
    config = MinhashConfig(
        n_grams=NGRAM, num_buckets=BANDS, hashes_per_bucket=ROWS, hash_config=HashConfig(precision=64)
    )
    here = {name: str(task.folder / name) for name in ("in", "signatures", "buckets", "remove", "out")}

    def documents() -> ParquetReader:
        return ParquetReader(here["in"], glob_pattern="*.parquet", doc_progress=False)

    sign = dedup.MinhashDedupSignature(here["signatures"], config=config, language=tokenizer)
    match = dedup.MinhashDedupBuckets(here["signatures"], here["buckets"], config=config)
    cluster = dedup.MinhashDedupCluster(here["buckets"], here["remove"], config=config, save_cluster_id=True)
    keep = dedup.MinhashDedupFilter(here["remove"])
    stages = {
        "read+shingle+sign": ([documents(), sign], task.threads),
        "index+query": ([match], BANDS),
        "cluster": ([cluster], 1),
        "filter+write": ([documents(), keep, ParquetWriter(here["out"])], task.threads),
    }
    for name, (pipeline, tasks) in stages.items():
        log = str(task.folder / f"log-{name}")
        with task.stage(name):
            LocalPipelineExecutor(pipeline, tasks=tasks, workers=task.threads, logging_dir=log).run()


def minhash(task: Task, tokenizer: Any, words: str) -> Found:
    """Clusters from its cluster files; it reports no pairs."""
    count, each = cut_input(task)
    run_stages(task, tokenizer)
    labels = np.arange(count)
    for file in sorted((task.folder / "remove").glob("*.clusters")):
        rows = np.frombuffer(file.read_bytes(), "<u4").reshape(-1, 2).astype(np.int64)
        labels[int(file.stem) * each + rows[:, 0]] = count + rows[:, 1]
    return {"labels": labels, "settings": f"{NUM_PERM} slots, {BANDS} x {ROWS}, {words}, not verified"}


def default(task: Task) -> Found:
    """Its default English tokeniser (a blank spaCy pipeline)."""
    return minhash(task, "eng", "spaCy words")


def split(task: Task) -> Found:
    """str.split for words: its own whitespace tokeniser is spaCy's and as slow as the default."""
    from datatrove.utils.word_tokenizers import WordTokenizer

    class Split(WordTokenizer):
        """Words between white space."""

        def word_tokenize(self, text: str) -> list[str]:
            """The words."""
            return text.split()

        def sent_tokenize(self, text: str) -> list[str]:
            """The lines, for sentences."""
            return text.splitlines()

        def span_tokenize(self, text: str) -> list[tuple[int, int]]:
            """One span, the whole text."""
            return [(0, len(text))]

    return minhash(task, Split(), "words by str.split")
