"""Whole clusters of the run labelled at once: which documents belong together, and which stand apart."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.explain.excerpts import cut_middle, visible
from neardup.labelling.tags import tag_cluster, tagged_clusters, undo_tags
from neardup.pages.escaping import named, safe
from neardup.plurals import counted
from neardup.review.finished import floats, names_of
from neardup.studio.app_gate import Refusal
from neardup.studio.app_page import button, form, go, message
from neardup.studio.label_shared import has_store, label_page, run_of, store_of, studio_of

router = APIRouter()
MOST_CLUSTERS = 500  # chosen by the hash of their names
LARGEST = 60  # documents
MOST_CHARACTERS = 20_000


def clusters_of(request: Request) -> dict[str, list[str]]:
    """A sample of the run's clusters of 2 to LARGEST documents, in an order that does not depend on what they are."""
    kept = studio_of(request).kept
    if "clusters" not in kept:
        run, sizes = run_of(request), {}
        for batch in run.table("clusters", ("cluster", "size")):
            size = floats(batch, "size")
            names = names_of(batch, "cluster").to_pylist()
            sizes.update({name: n for name, n in zip(names, size.tolist(), strict=True) if 2 <= n <= LARGEST})
            if len(sizes) > 4 * MOST_CLUSTERS:
                sizes = dict(sorted(sizes.items(), key=_by_hash)[:MOST_CLUSTERS])
        chosen: dict[str, list[str]] = {
            name: [] for name, _ in sorted(sizes.items(), key=_by_hash)[:MOST_CLUSTERS]
        }
        for batch in run.table("clusters", ("id", "cluster")):
            ids, names = names_of(batch, "id").to_pylist(), names_of(batch, "cluster").to_pylist()
            for id, name in zip(ids, names, strict=True):
                if name in chosen:
                    chosen[name].append(id)
        kept["clusters"] = chosen
    found: dict[str, list[str]] = kept["clusters"]
    return found


def _by_hash(one: tuple[str, Any]) -> tuple[int, str]:
    return crc32(one[0].encode("utf-8", "replace")), one[0]


@router.get("/label/clusters")
def clusters(request: Request) -> Response:
    """The next cluster without tags."""
    if not has_store(request):
        return go("/label")
    store, every = store_of(request), clusters_of(request)
    tagged, skipped = tagged_clusters(store), _skipped(request)
    name = next((one for one in every if one not in tagged and one not in skipped), None)
    undo = form(request, "/label/clusters/undo", button("Undo", key="u", help="Withdraw your last cluster"))
    if name is None:
        words = f"{counted(len(tagged), 'cluster')} tagged, of {len(every):,} in the sample."
        body = f"<h1>No cluster to tag</h1>\n{message(words)}"
        return label_page(request, "Clusters", body + undo)
    ids = every[name]
    texts = run_of(request).texts(set(ids)).texts
    members = "".join(_member(k, id, texts.get(id)) for k, id in enumerate(ids))
    buttons = (
        button(
            "Save",
            key="Enter",
            name="do",
            value="save",
            class_="primary",
            help="Save: ticked documents belong together",
        )
        + button("All irrelevant", key="i", name="do", value="irrelevant")
        + button("Skip", key="k", name="do", value="skip")
    )
    hidden = {"cluster": name}
    body = (
        "<h1>Which documents belong together?</h1>\n<p>Untick a document that is not a near-duplicate of the others. "
        f"{counted(len(tagged), 'cluster')} tagged.</p>\n"
        + form(
            request,
            "/label/clusters",
            f'<ol class="members">{members}</ol><div class="row sticky">{buttons}</div>',
            hidden,
        )
        + undo
    )
    return label_page(request, "Clusters", body)


def _member(k: int, id: str, text: str | None) -> str:
    key = (
        f' data-key="{k + 1}" aria-keyshortcuts="{k + 1}" data-help="Tick or untick document {k + 1}"'
        if k < 9
        else ""
    )
    head, omitted, tail = cut_middle(visible((text or "")[:MOST_CHARACTERS]), 45, 15)
    gap = f' <span class="gap">{safe(omitted)}</span> ' if omitted else ""
    body = safe(head) + gap + safe(tail) if text else '<span class="gap">no text</span>'
    inside = f'<div class="text" dir="auto">{safe((text or "")[:MOST_CHARACTERS])}</div>'
    whole = f"<details><summary>Whole text</summary>{inside}</details>"
    return (
        f'<li><label><input type="checkbox" name="same" value="{k}" checked{key}> {named(id)}</label>'
        f'<div class="text" dir="auto">{body}</div>{whole if omitted else ""}</li>'
    )


def _skipped(request: Request) -> set[str]:
    """Clusters that this person has skipped, while the studio runs."""
    kept = studio_of(request).kept.setdefault("skipped clusters", {})
    found: set[str] = kept.setdefault(request.state.session.name, set())
    return found


@router.post("/label/clusters")
def tag(request: Request) -> Response:
    """Stores the tags of a cluster."""
    given, store = request.state.form, store_of(request)
    name, ids = given.one("cluster"), clusters_of(request).get(given.one("cluster"))
    if ids is None:
        raise Refusal(422, "The run has no cluster of this name in its sample.")
    if given.one("do") == "skip":
        _skipped(request).add(name)
        return go("/label/clusters")
    if given.one("do") == "irrelevant":
        tags = dict.fromkeys(ids, "irrelevant")
    else:
        same = set(given.all("same"))
        tags = {id: "same" if str(k) in same else "apart" for k, id in enumerate(ids)}
    tag_cluster(store, name, tags, request.state.session.name)
    return go("/label/clusters?said=tagged")


@router.post("/label/clusters/undo")
def undo(request: Request) -> Response:
    """Withdraws the tags of the last cluster."""
    found = undo_tags(store_of(request), request.state.session.name)
    return go(f"/label/clusters?said={'nothing' if found is None else 'untagged'}")
