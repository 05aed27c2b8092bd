"""Plain-Python twins of the kernels that read HTML: strings, lists and regular expressions.

A page is a string of bytes (decoded as Latin-1, so that a character is a byte).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from neardup.text import vocabulary as known

SPACE = r"\x00-\x20"
NONE, BLANK, LINE, TWO_LINES = range(4)
REACH = 256


@dataclass
class Block:
    owner: int
    before: int  # tags
    text: str = ""
    linked: int = 0
    until: int = 0


@dataclass
class Element:
    parent: int
    tag: str
    hints: frozenset[str]
    first: int
    last: int = 0


@dataclass
class Tag:
    name: str
    end: int
    hints: frozenset[str] = frozenset()
    link: bool = False


@dataclass
class Scan:
    blocks: list[Block] = field(default_factory=list)
    elements: list[Element] = field(default_factory=lambda: [Element(0, "", frozenset(), 0)])
    stack: list[int] = field(default_factory=lambda: [0])
    open: bool = False
    gap: int = NONE
    link_depth: int = 0
    tags: int = 0


def scan(page: str, most_blocks: int, most_elements: int) -> Scan:
    """The blocks and elements of a page."""
    at, found = 0, Scan()
    while at < len(page):
        stop = page.find("<", at)
        stop = len(page) if stop < 0 else stop
        write(found, page[at:stop], most_blocks)
        at = stop if stop == len(page) else markup(found, page, stop, most_blocks, most_elements)
    close(found, 0)
    return found


def markup(found: Scan, page: str, at: int, most_blocks: int, most_elements: int) -> int:
    """Acts on what begins at "<"; where it ends."""
    if re.match("<[a-zA-Z]", page[at : at + 2]):
        tag = read_tag(page, at + 1)
        found.tags += 1
        if tag.name in known.OPAQUE:
            return skip(page, tag)
        if tag.name == "a" and tag.link:
            found.link_depth = len(found.stack)
        elif tag.name == "br":
            found.gap = LINE if found.gap < LINE else TWO_LINES
        elif tag.name in known.BLOCKS or tag.name in known.VOID:
            start_element(found, tag, most_elements)
        return tag.end
    if re.match("</[a-zA-Z]", page[at : at + 3]):
        tag = read_tag(page, at + 2)
        end_element(found, tag.name)
        return tag.end
    if page.startswith("<!--", at):
        end = page.find("-->", at + 2)
        return end + 3 if end >= 0 else after_bracket(page, at)
    if re.match("<[!?/]", page[at : at + 2]):
        return after_bracket(page, at)
    write(found, "<", most_blocks)
    return at + 1


def after_bracket(page: str, at: int) -> int:
    """The byte after the next ">"."""
    return page.find(">", at) + 1 or len(page)


def match(pattern: str, page: str, at: int) -> str:
    """What the pattern, which may be empty, matches at this place."""
    found = re.compile(pattern, re.DOTALL).match(page, at)
    assert found
    return found[0]


def read_tag(page: str, at: int) -> Tag:
    """A tag by its name and attributes."""
    name = match(f"[^{SPACE}/>]*", page, at)
    at += len(name)
    hints: set[str] = set()
    link = False
    while True:
        at += len(match(f"[{SPACE}/]*", page, at))
        if at >= len(page) or page[at] == ">":
            return Tag(lower(name), min(len(page), at + 1), frozenset(hints), link)
        attribute = match(f".[^{SPACE}/>=]*", page, at)
        at += len(attribute)
        at += len(match(f"[{SPACE}]*", page, at))
        value = ""
        if page[at : at + 1] == "=":
            at += 1 + len(match(f"[{SPACE}]*", page, at + 1))
            quote = page[at : at + 1]
            if quote and quote in "\"'" and page.find(quote, at + 1) >= 0:
                value = page[at + 1 : page.find(quote, at + 1)]
                at += len(value) + 2
            else:
                value = match(f"[^{SPACE}>]*", page, at)
                at += len(value)
        link |= lower(attribute) == "href"
        hints |= attribute_hints(lower(attribute), value)


def lower(name: str) -> str:
    """ASCII letters in lower case."""
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), name)


def attribute_hints(attribute: str, value: str) -> set[str]:
    """What the words of an attribute suggest."""
    if attribute in known.NAME_ATTRIBUTES:
        words = lower(re.sub("([a-z])([A-Z])", r"\1 \2", value))
        return {
            hint
            for hint, stored in known.HINTS.items()
            for word in re.findall("[a-z]+", words)
            if word in stored.split()
        }
    if attribute == "style":
        declarations = {"".join(re.findall("[a-z]", lower(part))) for part in value.split(";")}
        return {known.HIDDEN} if declarations & set(known.HIDING_STYLES) else set()
    return {known.HIDDEN} if attribute == "hidden" else set()


def skip(page: str, tag: Tag) -> int:
    """Where the end tag of an element without text begins, or else the next block-level tag."""
    end = re.compile(f"</{tag.name}(?![a-z])", re.IGNORECASE | re.ASCII).search(page, tag.end)
    if end:
        return end.start()
    for begin in re.finditer(f"<(?=/?([a-zA-Z][^{SPACE}/>]*))", page):
        if begin.start() >= tag.end and lower(begin[1]) in [*known.BLOCKS, *known.VOID]:
            return begin.start()
    return len(page)


def start_element(found: Scan, tag: Tag, most_elements: int) -> None:
    """Puts an element on the stack, after those that it ends."""
    end_block(found)
    if found.elements[found.stack[-1]].tag == "p":
        close(found, len(found.stack) - 1)
    group = known.GROUPS.get(tag.name)
    if group:
        depth = find_open(found, {name for name, g in known.GROUPS.items() if g == group}, False)
        if depth:
            close(found, depth)
    if tag.name in known.VOID or len(found.elements) == most_elements:
        return
    hints = frozenset() if tag.name in ("html", "body") else tag.hints
    found.stack.append(len(found.elements))
    found.elements.append(Element(found.stack[-2], tag.name, hints, len(found.blocks)))


def find_open(found: Scan, tags: set[str], through: bool) -> int:
    """The depth of the innermost open element with one of these tags, or 0."""
    for depth in range(len(found.stack) - 1, max(0, len(found.stack) - 1 - REACH), -1):
        tag = found.elements[found.stack[depth]].tag
        if tag in tags:
            return depth
        if tag in known.BARRIERS and not through:
            return 0
    return 0


def end_element(found: Scan, name: str) -> None:
    """Acts on an end tag."""
    found.tags += 1
    if name == "a":
        found.link_depth = 0
    elif name in known.BLOCKS or name in known.VOID:
        end_block(found)
        depth = find_open(found, {name}, name in known.BARRIERS)
        if depth:
            close(found, depth)


def close(found: Scan, depth: int) -> None:
    """Takes elements from the stack; those without text are forgotten."""
    end_block(found)
    while len(found.stack) > depth:
        number = found.stack.pop()
        found.elements[number].last = len(found.blocks)
        if number == len(found.elements) - 1 > 0 and found.elements[number].first == len(found.blocks):
            found.elements.pop()
    if found.link_depth > len(found.stack):
        found.link_depth = 0


def end_block(found: Scan) -> None:
    """Ends the open block."""
    if found.open:
        found.blocks[-1].until = found.tags
    found.open, found.gap = False, NONE


def write(found: Scan, text: str, most_blocks: int) -> None:
    """Adds text to the open block, or to a new one."""
    for part in re.findall(f"[{SPACE}]+|[^{SPACE}]+", re.sub("&nbsp;|&#160;|\xc2\xa0", " ", text)):
        if re.match(f"[{SPACE}]", part):
            found.gap = max(found.gap, BLANK)
            continue
        if not found.open or found.gap == TWO_LINES:
            end_block(found)
            if len(found.blocks) == most_blocks:
                found.blocks[-1].text += "\n"
            else:
                found.blocks.append(Block(found.stack[-1], found.tags))
            found.open = True
        elif found.gap:
            found.blocks[-1].text += "\n" if found.gap == LINE else " "
        found.gap = NONE
        found.blocks[-1].text += part
        found.blocks[-1].linked += len(part) if found.link_depth else 0


# Features


@dataclass
class Facts:
    chars: int
    link: float
    ends: bool
    fresh: bool
    repeated: bool
    container: int = 0
    plain: float = 0.0


def measure(blocks: Sequence[Block]) -> list[Facts]:
    """Lengths, links and sentence ends of blocks, and which were said before."""
    texts = [block.text.encode("latin-1").decode("utf-8") for block in blocks]
    lengths = [len(text) + sum(char > "\u2fff" for char in text) for text in texts]
    facts = []
    for number, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        long = lengths[number] >= 40
        bare = re.sub("[\"')\\]”’]+$", "", text)
        facts.append(
            Facts(
                chars=lengths[number],
                link=min(1.0, block.linked / max(1, len(block.text))),
                ends=bare.endswith((".", "!", "?", ":", "…", "。", "」", "！", "？")),
                fresh=not (long and text in texts[:number]),
                repeated=long and texts.count(text) > 1,
            )
        )
    return facts


def inherit(elements: Sequence[Element], facts: Sequence[Facts], share: float) -> list[set[str]]:
    """What the text of each element is in."""
    sizes = [sum(fact.chars for fact in facts[element.first : element.last]) for element in elements]
    inside: list[set[str]] = [set()]
    for number, element in list(enumerate(elements))[1:]:
        own = {f"named {hint}" for hint in element.hints}
        own |= {f"in <{context}>" for context, tags in known.CONTEXTS.items() if element.tag in tags.split()}
        if {"named article", "named body"} <= own:
            own.add("named article body")
        if sizes[number] > share * sizes[0]:
            own &= set(known.ALWAYS)
        inside.append(inside[element.parent] | own)
    return inside


def kind_of(tag: str) -> str:
    """What a block directly inside a tag is."""
    return next((kind for kind, tags in known.KINDS.items() if tag in tags.split()), "")


def weigh_containers(found: Scan, facts: Sequence[Facts], inside: Sequence[set[str]]) -> list[list[float]]:
    """Plain, linked and all text of the blocks that share each container."""
    held = [[0.0, 0.0, 0.0] for _ in found.elements]
    for block, fact in zip(found.blocks, facts, strict=True):
        element = found.elements[block.owner]
        direct = kind_of(element.tag) in ("p", "li", "h1", "heading", "cell", "quote")
        fact.container = element.parent if direct else block.owner
        counts = fact.fresh and not inside[block.owner] & set(known.EXCLUDED)
        fact.plain = fact.chars * (1 - fact.link) * counts * (1 if fact.chars >= 40 else 0.25)
        for k, value in enumerate((fact.plain, fact.chars * fact.link, fact.chars)):
            held[fact.container][k] += value
    return held


def describe(found: Scan, share: float) -> list[dict[str, float]]:
    """The features of each block by name; those that are 0 may be missing."""
    facts = measure(found.blocks)
    inside = inherit(found.elements, facts, share)
    held = weigh_containers(found, facts, inside)
    plain = [0.0, *accumulate(fact.plain for fact in facts)]
    rows = []
    for block, fact in zip(found.blocks, facts, strict=True):
        row = describe_block(block, fact)
        row[f"is {kind_of(found.elements[block.owner].tag)}"] = 1
        row |= dict.fromkeys(inside[block.owner], 1)
        around = found.elements[found.elements[fact.container].parent]
        row["text in container"] = math.log2(1 + held[fact.container][0])
        row["share of container"] = held[fact.container][0] / max(1, *(each[0] for each in held))
        row["links in container"] = held[fact.container][1] / max(1, held[fact.container][2])
        row["share around container"] = math.sqrt(
            (plain[around.last] - plain[around.first]) / max(1, plain[-1])
        )
        rows.append(row)
    for number, row in enumerate(rows):
        for name in ("length", "links", "ends a sentence"):
            row[f"before: {name}"] = rows[number - 1][name] if number else 0
            row[f"after: {name}"] = rows[number + 1][name] if number + 1 < len(rows) else 0
    return rows


def describe_block(block: Block, fact: Facts) -> dict[str, float]:
    """The features of the block alone."""
    count = lambda pattern: len(re.findall(pattern, block.text))  # noqa: E731
    long = fact.chars >= 80
    return {
        "length": math.log2(1 + fact.chars),
        "long": long,
        "links": fact.link,
        "nearly all links": fact.link > 0.8,
        "ends a sentence": fact.ends,
        "long, ends a sentence": fact.ends and long,
        "punctuation": min(5, 100 * count("[.,!?;]") / max(20, fact.chars)),
        "capitals": min(0.5, count("[A-Z]") / max(1, fact.chars)),
        "digits": min(0.5, count("[0-9]") / max(1, fact.chars)),
        "repeated": fact.repeated,
    }


def surround(found: Scan, share: float, scores: Sequence[float]) -> list[list[float]]:
    """What scores say of each block and what is around it, in the order of `article.SURROUNDINGS`."""
    facts = measure(found.blocks)
    weigh_containers(found, facts, inherit(found.elements, facts, share))
    chances = [1 / (1 + math.exp(-max(-30, min(30, score)))) for score in scores]
    sizes = [min(400, fact.chars) * fact.fresh for fact in facts]
    likely = [size * chance for size, chance in zip(sizes, chances, strict=True)]
    total, main = sum(likely) + 1, 0
    for number, element in list(enumerate(found.elements))[1:]:
        if element.parent == main and sum(likely[element.first : element.last]) >= 0.7 * total:
            main = number
    rows = []
    for b, fact in enumerate(facts):
        inner = found.elements[fact.container]
        outer = found.elements[inner.parent]
        rows.append(
            [
                chances[b],
                (sum(likely[inner.first : inner.last]) - likely[b])
                / (sum(sizes[inner.first : inner.last]) - sizes[b] + 40),
                math.sqrt(max(0, sum(likely[outer.first : outer.last]) - likely[b]) / total),
                fading(sizes[:b][::-1], chances[:b][::-1]),
                fading(sizes[b + 1 :], chances[b + 1 :]),
                math.sqrt(max(0, min(sum(likely[:b]), sum(likely[b + 1 :]))) / total),
                found.elements[main].first <= b < found.elements[main].last,
            ]
        )
    return rows


def fading(sizes: Sequence[float], chances: Sequence[float]) -> float:
    """The average chance of blocks, the nearest first; each counts by the root of its size, half of the one before."""
    shares = [math.sqrt(size) * 0.5**k for k, size in enumerate(sizes)]
    return sum(share * chance for share, chance in zip(shares, chances, strict=True)) / (
        sum(shares) + 0.5 ** len(sizes)
    )


def best_segment(values: Sequence[float]) -> tuple[int, int]:
    """The first and shortest run with the largest sum above 0."""
    runs = [
        (-sum(values[i:j]), j, j - i, i) for i in range(len(values)) for j in range(i + 1, len(values) + 1)
    ]
    total, stop, _, start = min(runs, default=(0, 0, 0, 0))
    return (start, stop) if total < 0 else (0, 0)
