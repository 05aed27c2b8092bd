"""Passages that occur more than once in a corpus: windows of N tokens, grouped by hash, joined, verified on the text.

windows.py     texts to the hash and the position of every window     repeats.py   the windows that came again
runs.py        windows to runs, and runs to passages                  verify.py    hash collisions resolved
positions.py   tokens to bytes                                        run.py       all of it, in order
tables.py      passages, places, spans, who copies from whom          write.py     documents without their repeats
"""
