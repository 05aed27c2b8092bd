"""The pipeline as Apache Spark jobs, with the kernels and the results of the local engine.

    run                   the stages in order, each a parquet folder that a later run resumes from
    documents             input rows → chunks: id hashes, text digests, attributes, texts, representations
    copies                exact copies, and ids used by more than one document
    frequencies/          document frequencies: counts, lookups of large tables, clusters of a first pass
    signatures            representations of distinct texts that need document frequencies
    candidates/           candidate pairs: bands with hot_buckets, hamming tables, prefix filter, blocks of all pairs
    candidate_components  documents that candidate pairs connect, verified together
    components            connected components of pairs
    verify                the similarity of candidate pairs
    decide                clusters and the documents to keep; cluster_block is what one task decides
    shuffle/              packed_blocks, side_files, stages on disk, Arrow batches in and out of kernels
    session/              the Spark session, the workers' daemon, Spark's exceptions as errors of neardup
    io/                   files as DataFrames, columns, fingerprints of inputs, results as DataFrames

Spark distributes, shuffles, retries and stores. A document is identified by its id hash, the 64-bit hash of its id that
breaks ties in the local engine, and located by its place: a chunk of the first stage, and a row in it. The result does
not depend on partitions or the number of tasks.
"""
