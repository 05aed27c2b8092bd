"""The page of the review: the queue and its filters beside one cluster, its documents, actions and texts."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from neardup.decisions.store import Decision
from neardup.explain.passages import shared_passages
from neardup.pages.escaping import named, safe, shortened_name
from neardup.pages.graphs import ClusterGraph, Link, Node, cluster_graph
from neardup.pages.parts import figure_text
from neardup.pages.removal_list import INDIRECT, RELATIONS
from neardup.pages.side_by_side import LEGEND, Caption, one_text, side_by_side
from neardup.plan import Plan
from neardup.plurals import counted
from neardup.studio.app_page import button, exact, form, link, message
from neardup.studio.review_cluster import ShownCluster, ShownDocument, groups_of
from neardup.studio.review_filters import filter_panel
from neardup.studio.review_index import ClusterRow, Filters, ReviewIndex

__all__ = ["cluster_view", "did", "empty_view"]

BEFORE, AFTER = 3, 9  # clusters of the queue around the current one
DRAWN = 40  # documents of a picture
NO_TEXT = "The text was not found."
WORDS = {
    "confirm": "confirmed",
    "keep": "kept instead",
    "restore": "restored",
    "separate": "not the same",
    "split": "split off",
    "skip": "skipped",
    "undo": "taken back",
}


def did(one: Decision) -> str:
    """What a decision did, in words."""
    about = ", ".join(shortened_name(name, 40) for name in one.documents[:3])
    more = f" and {len(one.documents) - 3:,} more" if len(one.documents) > 3 else ""
    return f"{WORDS.get(one.action, one.action)}{': ' + about if about else ''}{more}"


def cluster_view(
    request: Request,
    index: ReviewIndex,
    plan: Plan,
    cluster: ShownCluster,
    filters: Filters,
    *,
    asked: str = "",
    notice: str = "",
) -> str:
    """The HTML of the page's main part; `notice` is HTML above the cluster."""
    selected = cluster.selected(asked)
    whole = request.query_params.get("whole") == "1"
    toggle = address(filters, cluster=cluster.row.name, doc=selected.id, whole="" if whole else 1)
    press = link(toggle, "Shorter texts" if whole else "Whole texts", key="w", class_="button")
    neighbours = index.near(filters, cluster.row.risk, before=BEFORE, after=AFTER)
    before = [one for one in neighbours if one.risk < cluster.row.risk]
    after = [one for one in neighbours if one.risk > cluster.row.risk]
    queue = _queue([*before, cluster.row, *after], cluster.row, filters)
    head = _head(index, cluster, filters, before[-1] if before else None, after[0] if after else None)
    return (
        f'<div class="review"><aside aria-label="Clusters">{filter_panel(index, filters)}{queue}</aside>\n'
        f"<article>{head}{notice}{_history(cluster)}"
        f"{_work(request, cluster, selected, filters)}{_texts(index, plan, cluster, selected, press, whole)}"
        f"{_picture(cluster)}</article></div>"
    )


def address(filters: Filters, **more: object) -> str:
    """The address of a cluster or a document under these filters."""
    query = filters.query(**more)
    return "/review" + (f"?{query}" if query else "")


def empty_view(index: ReviewIndex, filters: Filters) -> str:
    """The page when no cluster is left under the filters."""
    if filters.status == "open" and not filters.active:
        words = "Every cluster is decided or skipped."
        more = link("/review/apply", "Apply the decisions", class_="button primary")
    else:
        words, more = "No cluster passes the filters.", link("/review", "Clear the filters", class_="button")
    return (
        f'<div class="review"><aside aria-label="Clusters">{filter_panel(index, filters)}</aside>'
        f'<article><h1>{words}</h1><p class="actions">{more} '
        f"{link('/review?status=all', 'All clusters', class_='button')}</p></article></div>"
    )


# the queue ------------------------------------------------------------------------------------------


def _queue(rows: Sequence[ClusterRow], current: ClusterRow, filters: Filters) -> str:
    entries = "".join(
        f'<li><a href="{safe(address(filters, cluster=one.name))}"'
        f'{" aria-current=true" if one is current else ""}><span class="name">{named(one.name)}</span>'
        f'<span class="tags">{safe("; ".join(_tags(one)))}</span></a></li>'
        for one in rows
    )
    return f'<ol class="queue" aria-label="Clusters, riskiest first">{entries}</ol>'


def _tags(one: ClusterRow) -> list[str]:
    """What a cluster is, in a few words."""
    tags = [counted(one.size, "document")]
    tags += (
        ["copies"]
        if one.tier == 3
        else [figure_text(one.lowest)]
        if one.lowest is not None
        else ["not measured"]
    )
    tags += ["chained"] if one.chained else []
    tags += ["numbers differ"] if one.numbers else []
    return tags


def _head(
    index: ReviewIndex,
    cluster: ShownCluster,
    filters: Filters,
    before: ClusterRow | None,
    after: ClusterRow | None,
) -> str:
    decided, skipped = index.progress()
    done = f"{decided:,} decided, {skipped:,} skipped of {index.total:,}"
    share = 100 * (decided + skipped) / max(index.total, 1)
    meter = (
        f'<svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" '
        f'width="100" height="4"/><rect class="kept" width="{share:.2f}" height="4"/></svg>'
    )
    steps = "".join(
        link(address(filters, cluster=one.name), label, key=key, class_="button", help=f"{label} cluster")
        if one is not None
        else ""
        for one, label, key in ((before, "Previous", "k"), (after, "Next", "j"))
    )
    tags = "".join(f"<li>{safe(tag)}</li>" for tag in _tags(cluster.row))
    apply = link("/review/apply", "Apply decisions …", class_="button") if decided else ""
    return (
        f'<div class="head"><div><p class="kind">Cluster {cluster.row.risk:,} of {index.total:,} by risk</p>'
        f'<h1>{named(cluster.row.name)}</h1><ul class="chips">{tags}</ul></div>'
        f'<div class="steps">{steps}{apply}<p class="note">{safe(done)}{meter}</p></div></div>\n'
    )


def _history(cluster: ShownCluster) -> str:
    """Who decided what about the cluster."""
    if not cluster.history:
        return ""
    undone = {one.undoes for one in cluster.history}
    rows = "".join(
        f"<li{' class=undone' if one.number in undone else ''}><strong>{named(one.person)}</strong> {safe(did(one))} "
        f'<time datetime="{safe(one.time)}">{safe(one.time[:16].replace("T", " "))}</time></li>'
        for one in cluster.history[-20:][::-1]
    )
    return f'<section class="history" aria-label="Decisions about this cluster"><ol>{rows}</ol></section>\n'


# documents and actions ------------------------------------------------------------------------------


def _work(request: Request, cluster: ShownCluster, selected: ShownDocument, filters: Filters) -> str:
    hidden: dict[str, object] = {
        "cluster": exact(cluster.row.name),
        "version": cluster.version,
        "doc": exact(selected.id),
        "filters": filters.query(),
    }
    inside = _documents(cluster, selected, filters) + _actions(cluster, selected)
    return form(
        request, "/review/decide", inside, hidden, class_="work", data_cluster=exact(cluster.row.name)
    )


def _actions(cluster: ShownCluster, selected: ShownDocument) -> str:
    removed = not selected.state.keep
    name = shortened_name(selected.id, 40)
    one_only = len(cluster.documents) == 2
    parts = [
        button("Confirm", key="c", name="action", value="confirm", class_="primary",
               help="Confirm: the cluster is right as it stands"),
        button("Not the same", key="n", name="action", value="separate",
               help="Not the same: the selected document leaves the cluster, and stays"),
        button("Restore", key="r", name="action", value="restore", disabled=not removed,
               help="Restore: the selected document stays too"),
        button("Keep this instead", key="i", name="action", value="keep", disabled=not removed,
               help="Keep the selected document instead of the one it duplicates"),
        button("Split off marked", key="s", name="action", value="split", disabled=one_only,
               help="Split: the marked documents become a cluster of their own"),
        button("Skip", key=".", name="action", value="skip", help="Skip this cluster for now"),
        button("Undo", key="u", name="action", value="undo", help="Undo your last decision", formnovalidate=True),
    ]  # fmt: skip
    keys = '<button type="button" class="quiet" data-open-keys hidden>Keys <kbd aria-hidden="true">?</kbd></button>'
    about = f'<p class="about">About <strong>{named(name)}</strong></p>'
    return f'<div class="actions" role="group" aria-label="Decide">{about}{"".join(parts)}{keys}</div>'


def _documents(cluster: ShownCluster, selected: ShownDocument, filters: Filters) -> str:
    first, shown = cluster.part(selected)
    groups = groups_of(cluster.documents)
    columns = [
        ("Mark", ""),
        ("Document", ""),
        ("State", ""),
        ("Similarity", ' class="n"'),
        ("Duplicates", ""),
    ]
    columns += [("Source", "")] if any(one.row.source for one in shown) else []
    columns += [("Date", "")] if any(one.row.day for one in shown) else []
    head = "".join(f'<th scope="col"{kind}>{safe(name)}</th>' for name, kind in columns)
    names = [name for name, _ in columns]
    body = "".join(_document(one, one is selected, cluster, filters, names, groups) for one in shown)
    moves = "".join(
        link(
            address(filters, cluster=cluster.row.name, doc=one.id),
            label,
            key=key,
            class_="unseen",
            tabindex="-1",
        )
        for step, key, label in ((-1, "ArrowUp", "Previous document"), (1, "ArrowDown", "Next document"))
        if (one := cluster.beside(selected, step)) is not None
    )
    part = ""
    if len(shown) < len(cluster.documents):
        part = f'<p class="note">Documents {first + 1:,} to {first + len(shown):,} of {len(cluster.documents):,}.</p>'
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Documents of the cluster">'
        '<table class="documents">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{part}{moves}"
    )


def _document(
    one: ShownDocument,
    is_selected: bool,
    cluster: ShownCluster,
    filters: Filters,
    columns: Sequence[str],
    groups: dict[str | None, int],
) -> str:
    where = safe(address(filters, cluster=cluster.row.name, doc=one.id))
    key = ' data-key="x" data-help="Mark or unmark the selected document"' if is_selected else ""
    mark = (
        f'<input type="checkbox" name="marked" value="{safe(exact(one.id))}" '
        f'aria-label="Mark {safe(shortened_name(one.id, 80))}"{key}>'
    )
    current = ' aria-current="true"' if is_selected else ""
    group = f" <small>group {groups[one.state.group]}</small>" if len(groups) > 1 else ""
    cells = {
        "Mark": f"<td>{mark}</td>",
        "Document": f'<th scope="row"><a href="{where}"{current}>{named(one.id)}</a>{group}</th>',
        "State": f"<td>{_state(one)}</td>",
        "Similarity": f'<td class="n">{figure_text(one.row.similarity)}</td>',
        "Duplicates": f"<td>{named(one.state.duplicate_of) if one.state.duplicate_of else '–'}</td>",
        "Source": f"<td>{named(one.row.source) if one.row.source else '–'}</td>",
        "Date": f"<td>{safe(one.row.day) if one.row.day else '–'}</td>",
    }
    row = "".join(cells[name] for name in columns)
    return f"<tr{' class=selected' if is_selected else ''}>{row}</tr>"


def _state(one: ShownDocument) -> str:
    word = "kept" if one.state.keep else "removed"
    if one.person is None:
        evidence = one.row.evidence or ""
        how = INDIRECT.get(evidence, "copy" if evidence == "copy" else "")
        return f'<span class="role {word}">{word}</span>' + (f" <small>{safe(how)}</small>" if how else "")
    before = "" if one.row.keep == one.state.keep else f", machine: {'kept' if one.row.keep else 'removed'}"
    return f'<span class="role {word}">{word}</span> <small>by {named(one.person.person)}{before}</small>'


# texts ----------------------------------------------------------------------------------------------


def _texts(
    index: ReviewIndex, plan: Plan, cluster: ShownCluster, selected: ShownDocument, press: str, whole: bool
) -> str:
    other = cluster.partner(selected)
    pair = [selected] if other is None else [selected, other]
    texts = [index.text(one.id) for one in pair]
    captions = [Caption(one.id, "kept" if one.state.keep else "removed") for one in pair]
    if other is None or None in texts:
        body = "".join(
            one_text(caption, text, NO_TEXT) for caption, text in zip(captions, texts, strict=True)
        )
        return f'<section class="texts" aria-label="Texts"><div class="sides">{body}</div></section>\n'
    compared = shared_passages(plan, texts[0] or "", texts[1] or "")
    similarity = cluster.similarity(selected, other)
    relation = RELATIONS.get(selected.row.relation or "", "") if selected.row.duplicate_of == other.id else ""
    recorded = f"Recorded similarity {'none' if similarity is None else figure_text(similarity)}"
    words = f"{recorded}; {relation} the other" if relation else recorded
    about = f'<div class="line"><p class="note">{safe(words)}. {safe(LEGEND)}</p>{press}</div>'
    return (
        f'<section class="texts" aria-label="Texts">{about}'
        f"{side_by_side(compared, (captions[0], captions[1]), whole=whole)}</section>\n"
    )


def _picture(cluster: ShownCluster) -> str:
    """The cluster as dots and lines, if it is more than a pair."""
    if len(cluster.documents) < 3:
        return ""
    chosen = cluster.documents[:DRAWN]
    nodes = [Node(one.id, one.state.keep, one.row.similarity) for one in chosen]
    place = {one.id: number for number, one in enumerate(chosen)}
    links = {
        (place[one.left], place[one.right]): Link(
            place[one.left], place[one.right], one.similarity, one.bridge
        )
        for one in cluster.links
        if one.left in place and one.right in place
    }
    words = f"lowest {cluster.row.lowest:.3f}" if cluster.row.lowest is not None else "not measured"
    graph = ClusterGraph(cluster.row.name, len(cluster.documents), nodes, list(links.values()), words)
    return f'<details class="picture"><summary>Picture of the cluster</summary>{cluster_graph(graph)}</details>\n'


def conflict_notice(sentence: str, since: Sequence[Decision]) -> str:
    """What somebody else decided in between."""
    rows = "".join(f"<li><strong>{named(one.person)}</strong> {safe(did(one))}</li>" for one in since)
    return message(sentence, "error") + (f'<ul class="since">{rows}</ul>' if rows else "")
