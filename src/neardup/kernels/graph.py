"""Clusters of a graph of pairs: components, leaders, weakest links and bridges."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit


@inline
def find(parent, x):
    """The root of x; every step halves the path behind it."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@inline
def join(parent, a, b):
    """Joins the components of a and b; the root is the smallest number of the component."""
    a, b = find(parent, a), find(parent, b)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b


@inline
def settle(parent):
    """Points every node to its root, after the last join."""
    for x in range(len(parent)):
        parent[x] = parent[parent[x]]  # a root is smaller than its members, so it is already final


@jit
def components(n, left, right):
    """For each of n nodes the smallest number in its component."""
    parent = np.arange(n)
    for p in range(len(left)):
        join(parent, left[p], right[p])
    settle(parent)
    return parent


@jit
def join_packed(parent, among, packed):
    """Joins the components of packed edges, a · n + b, and marks the nodes that have one."""
    n = len(parent)
    for pair in packed:
        a, b = pair // n, pair % n
        join(parent, a, b)
        among[a] = among[b] = True
    settle(parent)


@jit
def neighbours(n, left, right):
    """Adjacency lists of n nodes: starts, neighbours, and the number of the edge to each, in its order."""
    starts = np.zeros(n + 1, np.int64)
    for p in range(len(left)):
        starts[left[p] + 1] += 1
        starts[right[p] + 1] += 1
    for x in range(n):
        starts[x + 1] += starts[x]
    others, edges, ends = (
        np.empty(2 * len(left), np.int64),
        np.empty(2 * len(left), np.int64),
        starts[:-1].copy(),
    )
    for own, other in ((left, right), (right, left)):
        for p in range(len(left)):
            k = ends[own[p]]
            others[k], edges[k] = other[p], p
            ends[own[p]] = k + 1
    return starts, others, edges


@jit
def leaders(order, starts, neighbours):
    """For each node its leader: in the given order, a free node leads and takes its free neighbours."""
    leader = np.full(len(order), -1, np.int64)
    for x in order:
        if leader[x] < 0:
            leader[x] = x
            for k in range(starts[x], starts[x + 1]):
                if leader[neighbours[k]] < 0:
                    leader[neighbours[k]] = x
    return leader


@jit
def spanning_links(n, left, right):
    """Which of the edges, strongest first, join two components: a maximum spanning forest."""
    parent = np.arange(n)
    joins = np.zeros(len(left), np.bool_)
    for p in range(len(left)):
        a, b = find(parent, left[p]), find(parent, right[p])
        if a != b:
            parent[max(a, b)] = min(a, b)
            joins[p] = True
    return joins


@jit
def bridges(starts, neighbours, edges):
    """Which edges are bridges: without them their component falls apart (Tarjan's low links, no recursion)."""
    n = len(starts) - 1
    entered, low = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    cursor, via, stack = starts[:-1].copy(), np.full(n, -1, np.int64), np.zeros(n, np.int64)
    found = np.zeros(len(edges) // 2, np.bool_)
    clock = 0
    for root in range(n):
        if entered[root] >= 0 or starts[root] == starts[root + 1]:
            continue
        depth = 1
        stack[0], entered[root], low[root] = root, clock, clock
        clock += 1
        while depth:
            x = stack[depth - 1]
            if cursor[x] < starts[x + 1]:
                y, edge = neighbours[cursor[x]], edges[cursor[x]]
                cursor[x] += 1
                if edge == via[x]:
                    continue
                if entered[y] >= 0:
                    low[x] = min(low[x], entered[y])
                else:
                    stack[depth], via[y], entered[y], low[y] = y, edge, clock, clock
                    clock += 1
                    depth += 1
            else:
                depth -= 1
                if depth:
                    above = stack[depth - 1]
                    low[above] = min(low[above], low[x])
                    found[via[x]] |= low[x] > entered[above]
    return found
