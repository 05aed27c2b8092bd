"""A cluster: the stages of the local engine as Apache Spark jobs, with the same kernels and the same result.

    session      a Spark session that is set up for us, and clear words where one cannot be
    loading      files as a DataFrame, with ids and positions
    stages       parquet folders with a manifest: what is complete is not computed again
    arrow        how kernels meet Spark: Arrow batches in and out, ranks as signed integers, groups of rows
    documents    ids, digests and what the plan sees of each document
    statistics   document frequencies, counted in parts
    edges        candidate pairs from keys, linear in the size of a bucket
    joins        candidate pairs of the methods that need no keys: Hamming tables, exact joins
    verification the similarity of pairs
    components   connected components
    deciding     clusters, and what stays of them
    running      all of it in order

Spark owns distribution, shuffles, retries and storage. Documents are known by their rank, the 64-bit hash of
their id that the local engine orders them by; no stage numbers rows, so none depends on how they are spread.
"""
