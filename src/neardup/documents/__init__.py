"""Documents in and out: readers that stream and skip bad records, writers that copy records byte for byte.

    sources = open_inputs(["corpus/"])
    text, id = choose_columns(sources[0].names(), text=None, id=None, source=sources[0].name)
    for batch in sources[0].read([text, id], problems := Problems()):
        texts, ids = document_texts(batch, text, problems), document_ids(batch, id)

Formats: parquet, jsonl, csv, tsv, text files, lines of text, mail, WARC, and tables in memory.
"""

from neardup.documents.document_columns import (
    choose_columns,
    document_ids,
    document_texts,
    joined_ids,
    page_text,
    plain_column,
)
from neardup.documents.inputs import Inputs, open_inputs
from neardup.documents.joined import join_tables
from neardup.documents.limits import LIMITS, Limits, size_in_bytes
from neardup.documents.problems import Problem, Problems
from neardup.documents.source import BATCH_BYTES, BATCH_ROWS, Batch, Source, stamp, watched
from neardup.documents.writers import (
    OutputLayout,
    Writer,
    fitted,
    open_writer,
    output_format,
    output_layout,
    unified_schema,
)

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "Batch",
    "Inputs",
    "LIMITS",
    "Limits",
    "OutputLayout",
    "Problem",
    "Problems",
    "Source",
    "Writer",
    "choose_columns",
    "document_ids",
    "document_texts",
    "fitted",
    "join_tables",
    "joined_ids",
    "open_inputs",
    "open_writer",
    "output_format",
    "output_layout",
    "page_text",
    "plain_column",
    "size_in_bytes",
    "stamp",
    "unified_schema",
    "watched",
]
