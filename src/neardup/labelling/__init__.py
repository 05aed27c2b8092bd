"""Labels made by people: what they judged, who judges what next, and how far they agree.

settings      the protocol: two phases, pairs alone or five labels; judges for an item, honey pots, guidelines
answers       the answers that judges choose from, and the labels that they mean
schema        the tables of a label store, one SQLite file
store         the label store: judgements are only added; an acknowledged one survives a kill
states        the state of an item, from its judgements
assignment    the item that a judge gets next
quality       progress, agreement and honey pots
tags          whole clusters labelled at once
transfer      tables of labels that evaluate, tune and learn read, written and read
pair_samples  pairs to label
suggestion    the pairs whose labels help most
detector      a detector from the labels, scored on held-out labels before and after
"""
