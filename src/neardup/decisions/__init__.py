"""What people decided about clusters: stored at once, applied by a later run.

store   a file of decisions (SQLite): who, when, about which documents; an undo is a row of its own
rules   from an action of a person to the documents that stay, and what the others duplicate
"""
