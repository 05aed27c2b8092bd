"""Paragraphs, lines or sentences as what is compared: a run over units, and documents written back without repeats.

split.py    texts to units     source.py    a source whose rows are the units of another one's documents
write.py    documents without their repeated units, and a record of each
"""
