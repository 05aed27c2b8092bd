"""The index of documents by fingerprint: new documents checked against it, pages tracked, result lists collapsed."""
