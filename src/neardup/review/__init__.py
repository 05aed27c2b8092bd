"""What a finished run decided, read again for people: its evidence, its riskiest removals, and their texts.

finished     what a review reads: report, tables, documents and texts of a run
folder       … from the folder that `dedup` wrote
result       … from a result in memory
evidence     counts over all pairs and removals, in one pass each
removals     the removals to look at first
breakdown    documents by a column or by date
texts        texts of documents, by id
report       everything together, as a page
"""
