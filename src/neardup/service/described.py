"""The description of the service (OpenAPI): bodies, examples and errors that handlers read by themselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from neardup.service import models
from neardup.service.models import HARBOUR
from neardup.service.problems import MEDIA_TYPE

Json = dict[str, Any]
SCHEMAS = "#/components/schemas/"
_DOCUMENT: Json = {"id": "news/17", "text": HARBOUR}
_OTHER: Json = {
    "id": "news/18",
    "text": HARBOUR.replace("Tuesday", "Monday"),
    "url": "https://news.example/18",
}
BATCH: dict[str, Json] = {
    "one document": _DOCUMENT,
    "a batch": {"documents": [_DOCUMENT, _OTHER]},
    "for a group": {
        "id": "board/3",
        "text": "Minutes of the closed meeting of the board.",
        "access": ["board"],
    },
}
QUERY: dict[str, Json] = {
    "one document": {"text": HARBOUR},
    "with shared passages": {"text": HARBOUR, "limit": 3, "explain": True},
    "a batch": {
        "documents": [{"text": HARBOUR}, {"id": "news/18", "text": "Another text."}],
        "threshold": 0.9,
    },
}
COMPARE: dict[str, Json] = {
    "two versions": {"left": HARBOUR, "right": HARBOUR.replace("Tuesday", "Monday"), "explain": True}
}
BODIES: tuple[type[BaseModel], ...] = (
    models.Document, models.DocumentBatch, models.SingleQuery, models.BatchQuery, models.TextPair,
)  # fmt: skip
ERRORS: dict[int | str, Json] = {
    "4XX": {"description": "The request cannot be answered.", "content": {MEDIA_TYPE: {}}},
    "5XX": {"description": "Try again later.", "content": {MEDIA_TYPE: {}}},
}


def body(examples: dict[str, Json], *kinds: type[BaseModel]) -> Json:
    """The description of a JSON body of one of these kinds, and of NDJSON where documents can be sent."""
    schemas = [{"$ref": SCHEMAS + kind.__name__} for kind in kinds]
    content: Json = {
        "application/json": {
            "schema": {"oneOf": schemas} if len(schemas) > 1 else schemas[0],
            "examples": {name: {"value": value} for name, value in examples.items()},
        }
    }
    if len(kinds) > 1:
        content["application/x-ndjson"] = {
            "schema": {"type": "string", "description": "A document a line; options in the query string."}
        }
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> Json:
    """The whole description, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        pairs: Any = [(kind, "validation") for kind in (*BODIES, models.ProblemAnswer)]
        _, found = models_json_schema(pairs, ref_template=SCHEMAS + "{model}")
        known = made.setdefault("components", {})
        known["schemas"] = {**found["$defs"], **known.get("schemas", {})}
        known["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        for operation in (one for path in made["paths"].values() for one in path.values()):
            operation["responses"].pop("422", None)  # FastAPI's own; ours is a 4XX like the others
            for status in ("4XX", "5XX"):
                content = {MEDIA_TYPE: {"schema": {"$ref": SCHEMAS + "ProblemAnswer"}}}
                operation["responses"][status]["content"] = content
        app.openapi_schema = made
    return app.openapi_schema
