"""What a crawler, an indexer and a result page do about near-duplicates: fingerprints followed, decided on, folded."""
