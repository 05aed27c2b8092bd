"""The steps that every engine calls: pure functions over columns, without files, threads or a cluster.

documents   which columns mean what, and a batch of them as the texts that are compared
represent   texts to digests, features, signatures and keys, in chunks of about a megabyte
identity    ids to id hashes, and documents to the distinct texts they are copies of
rounds      candidate pairs in the order in which they are compared, linear in a hot bucket
compare     what the check of a plan compares of a document
decide      measured pairs to clusters, and to what stays of them
tables      decisions as the tables that are written
report      counts of a run as the report that is written
progress    the seconds of each stage, and who is shown them
"""
