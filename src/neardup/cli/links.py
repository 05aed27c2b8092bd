"""neardup links: links and anchor texts of crawled pages as columns, for use as fields."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.plurals import counted


@click.command(cls=GroupedCommand)
@options.inputs
@options.output("FILE", "The parquet file to write.", remote=True)
@options.reading
@grouped("Input", options.value("--url-column NAME", "Column of URLs.", default="url"))
def command(inputs: tuple[str, ...], output: str, url_column: str, force: bool, **values: Any) -> None:
    """Add two columns to the HTML pages of INPUT: links, the URLs a page links to; anchors, the texts of links to it.

    Anchor texts come from the other pages of INPUT. As fields, both become features of a page: --fields
    links:value,anchors. A page thus gets features from other pages: leave out pages that not everybody may see.

    \b
    Examples:
      neardup links crawl.jsonl -o linked.parquet
      neardup dedup linked.parquet -o clean --method simhash --fields links:value,anchors --weights 'tfidf, fields(0.5)'
    """
    import pyarrow as pa

    from neardup.cli.support.pages import report_problems
    from neardup.documents import choose_columns, document_texts, fitted, plain_column, unified_schema
    from neardup.errors import InputError
    from neardup.index.links import link_columns
    from neardup.remote_output import output_file

    options.with_ending(output, ".parquet")
    pages = options.open_inputs(inputs, values)
    urls: list[Any] = []
    texts: list[Any] = []
    tables = []
    schema = unified_schema(pages.sources)
    for source in pages.sources:
        names = source.names()
        column, _ = choose_columns(names, text=pages.columns.text, id=pages.columns.id, source=source.name)
        if url_column not in names:
            raise InputError(
                f"{source.name}: no column {url_column!r} (--url-column); the columns are {', '.join(names)}"
            )
        for batch in source.read(None, pages.problems):
            texts += document_texts(batch, column, pages.problems).to_pylist()
            urls += [None if url is None else str(url) for url in plain_column(batch, url_column).to_pylist()]
            tables.append(fitted(batch.columns, None, schema))
    table = pa.Table.from_batches(tables, schema)
    kind = pa.list_(pa.string())
    for added, lists in zip(("links", "anchors"), link_columns(urls, texts), strict=True):
        place = table.schema.get_field_index(added)
        table = table.remove_column(place) if place >= 0 else table
        table = table.append_column(added, pa.array(lists, kind))
    with output_file(output, force=force) as target:
        import pyarrow.parquet as pq

        pq.write_table(table, target)
    report_problems(pages.problems)
    linked = sum(len(row) > 0 for row in table.column("anchors").to_pylist())
    click.echo(f"{counted(len(table), 'page')}, {linked:,} with links from other pages, written to {output}")
