"""How much each feature counts: reweight, drop or combine, after frequencies, position or phrases."""
