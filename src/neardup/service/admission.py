"""Documents of a request, checked against limits and against what their caller may write, each with an id."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from neardup.plan import Plan
from neardup.service.models import Document
from neardup.service.problems import Problem
from neardup.service.questions import check_fields
from neardup.service.settings import RequestLimits
from neardup.service.tokens import Caller


def check_texts(documents: Sequence[Document], plan: Plan, limits: RequestLimits) -> None:
    """Refuse texts that are too long, and fields that the index does not compare."""
    for document in documents:
        if len(document.text) + sum(map(len, document.fields.values())) > limits.text:
            raise Problem("text-too-long", f"A text may have {limits.text:,} characters.", limit=limits.text)
    check_fields(plan, documents)


def check_batch(documents: Sequence[Document], limits: RequestLimits) -> None:
    """Refuse a batch with more documents than the limit."""
    if len(documents) > limits.batch:
        raise Problem(
            "batch-too-large",
            f"A batch may have {limits.batch:,} documents; NDJSON has no limit.",
            limit=limits.batch,
        )


def check_id(name: str, caller: Caller) -> None:
    """Refuse an id that the caller may not write, whether or not a document has it."""
    if not name.startswith(caller.prefix):
        raise Problem("id-outside-prefix", "The ids that the token writes begin with its prefix.")


def admitted(documents: Sequence[Document], caller: Caller) -> list[Document]:
    """The documents with ids; those without get a random one, which reveals nothing about the index."""
    found = []
    for document in documents:
        if document.id is None:
            document = document.model_copy(update={"id": caller.prefix + uuid.uuid4().hex})
        check_id(str(document.id), caller)
        if (
            caller.groups is not None
            and document.access is not None
            and not caller.groups >= set(document.access)
        ):
            raise Problem("access-outside-groups", "The token may give access to its own groups.")
        found.append(document)
    return found


def check_repeats(documents: Sequence[Document]) -> None:
    """Refuse two documents with one id in a batch that is stored as a whole."""
    names = {str(document.id) for document in documents}
    if len(names) < len(documents):
        raise Problem(
            "invalid-request", "An id occurs twice in the batch: the order would decide what is stored."
        )
