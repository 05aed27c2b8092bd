"""A cluster: the stages of the local engine as Apache Spark jobs, with the same kernels and the same result.

    session       a Spark session that is set up for us, and clear words where one cannot be
    loading       files as a DataFrame, with ids and positions
    inputs        the name by which a DataFrame is known again
    meaning       which columns of a DataFrame mean what
    stages        parquet folders with a manifest: what is complete is not computed again
    arrow         how kernels meet Spark: Arrow batches in and out, ranks as signed integers
    parcels       what documents send each other, packed: Spark moves bytes, and no rows
    shelf         texts, facts and features in files, where workers share a file system
    daemon        the process that workers are forked from
    documents     ids, digests, texts and keys, in chunks
    copies        exact copies, and ids that are not each used once
    statistics    document frequencies, counted in parts; `answers` are those that chunks ask for, where there are too
                  many for every worker; `stories` clusters of a first run that count once; `counting` has the stages
    signatures    what the plan sees of contents, where something had to be counted first
    edges         candidate pairs from keys, linear in the size of a bucket; `crowds` are buckets of very many
    joins         candidate pairs of the methods that need no keys: `near` fingerprints, `exact` joins, a `grid`
    families      documents that candidate pairs connect; `components` connects them
    verification  the similarity of pairs
    deciding      clusters, and what stays of them; `portion` is what one task decides
    running       all of it in order

Spark owns distribution, shuffles, retries and storage. Documents are known by their rank, the 64-bit hash of their id
that the local engine orders them by, and found by their place: the chunk of the first stage, which is on disk before
anybody asks, and the row in it. So nothing depends on how rows are spread.
"""
