"""Random documents without texts, for tests of decisions and result lists; digests imply fingerprints."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from neardup.index.documents import FingerprintedDocument


def document_of(fingerprint: int | None, text: int | None, **attributes: Any) -> FingerprintedDocument:
    """A document whose digest implies its fingerprint, as that of a text does."""
    digest = None if text is None else f"{fingerprint} {text}".encode()
    return FingerprintedDocument(fingerprint=fingerprint, digest=digest, **attributes)


access = st.one_of(st.none(), st.frozensets(st.sampled_from("abc"), min_size=1))
documents = st.lists(
    st.builds(
        document_of,
        text=st.one_of(st.none(), st.integers(0, 2)),
        id=st.integers(),
        fingerprint=st.one_of(st.none(), st.sampled_from([0, 1, 3, 7, 15, 31, 63, 2**64 - 1, 2**63])),
        access=access,
        time=st.floats(0, 9),
        length=st.integers(0, 9),
        quality=st.one_of(st.none(), st.floats(0, 1)),
    ),
    max_size=14,
    unique_by=lambda document: document.id,
)
