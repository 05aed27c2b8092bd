"""Studies: the papers' tables and figures, reproduced with our figures beside theirs."""
