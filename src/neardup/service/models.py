"""What requests and answers are made of, as OpenAPI describes them; every example is tried by the tests."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

MOST_MATCHES = 1000
MOST_EXPLAINED = 20
HARBOUR = "The harbour council voted on Tuesday to widen the northern berth for container ships."

Group = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1, strict=True)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=512)]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Strict(BaseModel):
    """A model that refuses names it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Document(Strict):
    """A document: its text, and what decisions know of it."""

    id: Name | Int64 | None = Field(
        default=None, description="Without an id, the server makes one.", examples=["news/17"]
    )
    text: str = Field(description="The text that is compared.", examples=[HARBOUR])
    fields: dict[str, str] = Field(
        default_factory=dict, description="Further columns, for an index that compares them."
    )
    access: list[Group] | None = Field(
        default=None, max_length=64, description="Groups with access; null: everybody.", examples=[["staff"]]
    )
    quality: float | None = Field(default=None, allow_inf_nan=False)
    time: float | None = Field(default=None, allow_inf_nan=False, description="Seconds since 1970.")
    url: str | None = Field(default=None, max_length=4096)


class DocumentBatch(Strict):
    """Several documents, stored as a whole or not at all."""

    documents: list[Document] = Field(min_length=1)


class QueryOptions(Strict):
    """How near-duplicates are looked up."""

    threshold: Threshold | None = Field(
        default=None, description="A higher threshold than that of the index."
    )
    limit: int = Field(default=100, ge=1, le=MOST_MATCHES, description="The most matches of a document.")
    explain: bool = Field(
        default=False, description=f"Add shared passages; of {MOST_EXPLAINED} matches at most."
    )


class SingleQuery(QueryOptions, Document):
    """A question about one document."""


class BatchQuery(QueryOptions, DocumentBatch):
    """A question about several documents."""


class SharedPassage(Strict):
    """A passage of the asked text that the indexed document has too."""

    start: int = Field(description="Of the first character in the asked text, in Unicode form NFC.")
    end: int
    tokens: int
    text: str


class Match(Strict):
    """An indexed document that a document is a near-duplicate of."""

    id: str | int
    similarity: float | None = Field(description="null: the method measures nothing.")
    containment: float | None
    relation: Literal["copy", "near-duplicate", "contains", "contained"] | None
    probability: float | None = Field(default=None, description="Of methods that learned from labels.")
    passages: list[SharedPassage] | None = Field(default=None, description="With explain.")


class QueryResult(Strict):
    """The matches of one document, best first."""

    id: str | int | None = Field(description="The id that the request gave.")
    matches: list[Match]
    more: bool = Field(description="Whether the document has more matches than the limit.")


class QueryAnswer(Strict):
    """The matches of each document, in the order of the request."""

    results: list[QueryResult]


class CheckResult(Strict):
    """Whether a document is new to the index."""

    id: str | int | None
    status: Literal["new", "copy", "near-duplicate"]
    duplicate_of: str | int | None
    matches: list[Match]
    more: bool


class CheckAnswer(Strict):
    """Whether each document is new, in the order of the request."""

    results: list[CheckResult]


class StoredResult(Strict):
    """What became of a document."""

    id: str | int
    status: Literal["new", "replaced", "unchanged", "duplicate"]
    duplicate_of: str | int | None = None
    relation: str | None = None
    similarity: float | None = None


class StoredCounts(Strict):
    """How many documents became what."""

    new: int = 0
    replaced: int = 0
    unchanged: int = 0
    duplicate: int = 0
    error: int = Field(default=0, description="Lines of NDJSON that are no documents.")


class StoredAnswer(Strict):
    """What became of each document; all of it is durable."""

    results: list[StoredResult]
    counts: StoredCounts


class IndexedDocument(Strict):
    """A stored document."""

    id: str | int
    text: str | None = Field(description="null: the index does not store texts.")
    fields: dict[str, str]
    characters: int
    tokens: int
    access: list[str] | None
    quality: float | None
    time: float | None
    url: str | None


class Deleted(Strict):
    """The number of documents that were deleted."""

    deleted: int


class Cluster(Strict):
    """The near-duplicates of an indexed document, best first, a page at a time."""

    id: str | int
    matches: list[Match]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")


class TextPair(Strict):
    """Two texts to compare."""

    left: str = Field(examples=[HARBOUR])
    right: str = Field(examples=[HARBOUR.replace("Tuesday", "Monday")])
    explain: bool = False


class Compared(Strict):
    """How two texts relate, as the index measures it."""

    similarity: float
    containment: float
    shared: int = Field(description="Distinct features that both have.")
    near_duplicates: bool = Field(description="Whether they reach the threshold of the index.")
    relation: str | None
    passages: list[SharedPassage] | None = None


class Info(Strict):
    """What the index is. A token that is bound to groups does not learn how much it cannot see."""

    method: str
    threshold: float
    store: Literal["text", "features", "signatures"]
    plan: str = Field(description="The digest of the plan.")
    version: str = Field(description="The version of neardup.")
    limits: dict[str, float]
    documents: int | None = Field(default=None, description="For tokens that see every document.")
    segments: int | None = None
    statistics: str | None = None


class State(Strict):
    """Whether the server can answer."""

    status: Literal["ok", "ready"]


class InvalidValue(Strict):
    """A value that cannot be used."""

    place: str
    message: str


class ProblemAnswer(BaseModel):
    """Why a request was not answered."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[InvalidValue] | None = None
