"""Clusters as small node-link pictures: documents as dots, verified pairs as lines, bridges marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.pages.escaping import named, safe, shortened_name
from neardup.pages.parts import figure_text
from neardup.plurals import counted

__all__ = ["ClusterGraph", "Link", "Node", "cluster_graph"]

SIZE, EDGE, ROUNDS = 220, 16, 150
Places = NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """A document of a cluster."""

    name: str
    kept: bool
    similarity: float | None  # with the document that it duplicates


@dataclass(frozen=True)
class Link:
    """A verified pair, by the places of its nodes."""

    left: int
    right: int
    similarity: float | None
    bridge: bool


@dataclass(frozen=True)
class ClusterGraph:
    """A cluster, or the part of it that is drawn."""

    name: str
    size: int  # documents of the cluster
    nodes: Sequence[Node]
    links: Sequence[Link]
    words: str  # such as "weakest link 0.722"


def cluster_graph(cluster: ClusterGraph) -> str:
    """The picture, with its caption."""
    places = layout(len(cluster.nodes), cluster.links)
    lines = "".join(_line(link, places) for link in sorted(cluster.links, key=lambda one: one.bridge))
    dots = "".join(_dot(node, places[k]) for k, node in enumerate(cluster.nodes))
    bridges = sum(link.bridge for link in cluster.links)
    shown = "" if len(cluster.nodes) == cluster.size else f", {len(cluster.nodes)} drawn"
    label = f"{counted(cluster.size, 'document')}{shown}; {counted(bridges, 'bridge')}; {cluster.words}"
    return (
        f'<figure class="graph"><svg viewBox="0 0 {SIZE} {SIZE}" role="img" '
        f'aria-label="{safe(f"Cluster {shortened_name(cluster.name)}: {label}")}">{lines}{dots}</svg>'
        f"<figcaption>{named(cluster.name)}<small>{safe(label)}</small></figcaption></figure>\n"
    )


def layout(count: int, links: Sequence[Link]) -> Places:
    """Places of nodes in the picture: links pull, nodes push each other away (Fruchterman and Reingold, 1991).

    The nodes begin on a circle, so that equal clusters give equal pictures.
    """
    angle = 2 * np.pi * np.arange(count) / max(count, 1)
    places = np.column_stack([np.cos(angle), np.sin(angle)]) * (count > 1)
    ends = np.array([(link.left, link.right) for link in links], np.int64).reshape(-1, 2)
    ideal = 1.6 / np.sqrt(max(count, 1))
    for step in np.linspace(0.2, 0.005, ROUNDS if count > 2 else 0):
        apart = places[:, None] - places[None]
        far = np.maximum(np.sqrt((apart**2).sum(2)), 1e-3)
        force = (apart * (ideal**2 / far**2)[:, :, None]).sum(1)
        pull = apart[ends[:, 0], ends[:, 1]] * (far[ends[:, 0], ends[:, 1]] / ideal)[:, None]
        np.add.at(force, ends[:, 0], -pull)
        np.add.at(force, ends[:, 1], pull)
        force -= 0.3 * places  # what no link holds stays in the picture
        long = np.maximum(np.sqrt((force**2).sum(1, keepdims=True)), 1e-9)
        places = places + force / long * np.minimum(long, step)
    reach = np.abs(places - places.mean(0) if count else places).max(initial=1e-9)
    return SIZE / 2 + (places - (places.mean(0) if count else 0)) / reach * (SIZE / 2 - EDGE)


def _line(link: Link, places: Places) -> str:
    (x1, y1), (x2, y2) = places[link.left], places[link.right]
    kind, words = ("link bridge", ", a bridge") if link.bridge else ("link", "")
    return (
        f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">'
        f"<title>{figure_text(link.similarity)}{words}</title></line>"
    )


def _dot(node: Node, place: Places) -> str:
    kind, radius = ("node kept", 7) if node.kept else ("node removed", 5)
    similarity = "" if node.similarity is None else f", similarity {node.similarity:.3f}"
    words = f"{shortened_name(node.name, 80)}: {'kept' if node.kept else 'removed'}{similarity}"
    x, y = place
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>{safe(words)}</title></circle>'
    )
