"""The vocabulary of the HTML scanner: properties of tags, and words of class and id names.

Authors of pages, and extractors since Readability, name the parts of a page with these words. Each word is a hint;
the weight of a hint is learned (`text/article_weights.json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from neardup import kernels

# Properties of tags: see the flags in kernels/markup.py. Tags that are not listed are inline.
BLOCKS = (
    "html body address article aside blockquote center details dialog dir div fieldset figcaption figure footer "
    "form frameset h1 h2 h3 h4 h5 h6 header hgroup legend main menu nav ol p pre search section summary ul dl "
    "li dd dt table caption colgroup tbody thead tfoot tr td th button label option textarea"
).split()
VOID = "hr".split()
OPAQUE = (
    "script style noscript template svg math title iframe object applet audio video canvas map noembed noframes "
    "select datalist"
).split()
BARRIERS = "html body table ul ol dl menu article main section aside nav header footer form".split()
CLOSING_GROUPS = ("li", "dd dt", "tr", "tbody thead tfoot", "option", "p", "td th")  # one closes another
GROUPS = {tag: number for number, tags in enumerate(CLOSING_GROUPS, 1) for tag in tags.split()}

# Hints in the names of classes, ids, roles and properties.
HINTS: dict[str, str] = {
    "article": "article articles story post entry hentry blog blogpost news newsarticle blogposting single",
    "body": "body content text txt copy paragraph paragraphs articlebody articletext articlecontent storybody "
    "storytext storycontent postbody postcontent posttext entrycontent entrybody maincontent bodytext "
    "bodycopy bodycontent newsbody newstext newscontent fulltext richtext wysiwyg prose contenido inhalt texte",
    "main": "main primary maincol",
    "comment": "comment comments commentary commentlist disqus reply replies respond response responses "
    "discussion forum livefyre coral spotim hypercomments fb kommentar kommentare comentarios commentaires",
    "related": "related relateds recommend recommended recommendation recommendations recommends recirc "
    "recirculation more popular trending trend also next prev previous latest recent read readnext most "
    "mostread outbrain taboola teaser teasers similar suggested suggestions relacionadas lire carousel slider "
    "river promo promos upnext onward essential cards card tout",
    "share": "share sharing shares social follow facebook twitter whatsapp pinterest email addthis sharethis "
    "addtoany sociable tweet like likes print tools toolbar actions buttons button btn",
    "navigation": "nav navigation navbar menu menus breadcrumb breadcrumbs crumb crumbs pagination pager tabs tab "
    "topbar sitemap toc skip jump links",
    "advert": "ad ads adv advert advertisement advertising adsense sponsor sponsored sponsors banner banners "
    "dfp gpt adslot adunit commercial outstream affiliate shopping product products price deal deals",
    "subscribe": "newsletter newsletters subscribe subscription subscriptions signup signin login register paywall "
    "piano optin mailing donate donation membership cta callout alert alerts notification",
    "about": "byline author authors bio date time timestamp dateline meta metadata published updated tag tags "
    "tagcloud category categories taxonomy topics topic keywords label labels kicker eyebrow info source "
    "profile contributor contributors rating ratings views count",
    "picture": "caption captions figcaption figure gallery image images img photo photos picture media video "
    "videos player credit credits thumb thumbnail slideshow lightbox audio embed",
    "side": "sidebar aside rail widget widgets secondary complementary infobox tertiary supplemental extra",
    "foot": "footer foot bottom copyright legal disclaimer terms cookie cookies gdpr consent privacy policy "
    "colophon contentinfo contact",
    "head": "header head heading headline title masthead top banner logo brand hero subtitle headlines",
    "overlay": "modal popup overlay dialog tooltip dropdown drawer lightbox hidden hide invisible visuallyhidden "
    "sr screen reader only offscreen noprint collapse",
    "search": "search searchbox filter form poll quiz survey weather stock stocks ticker calendar schedule "
    "scoreboard",
}
HIDDEN = "hidden"  # not a word: the style display: none, or the attribute
HIDING_STYLES = "displaynone displaynoneimportant visibilityhidden visibilityhiddenimportant".split()
HINT_NAMES = (*HINTS, HIDDEN)
# The type of a block directly inside a tag, and the context of all text inside a tag.
KINDS = {
    "p": "p", "li": "li dd dt", "h1": "h1", "heading": "h2 h3 h4 h5 h6", "cell": "td th",
    "quote": "blockquote pre", "caption": "figcaption caption",
    "control": "button label option legend textarea summary",
}  # fmt: skip
CONTEXTS = {
    "article": "article", "main": "main", "nav": "nav menu", "aside": "aside", "footer": "footer",
    "header": "header", "form": "form", "figure": "figure figcaption", "list": "ul ol dl", "table": "table",
    "quote": "blockquote",
}  # fmt: skip
ARTICLE_BODY = "article body"  # a name that hints at both: article-body, storyText, entry-content
INSIDE_NAMES = (
    *(f"named {hint}" for hint in (*HINT_NAMES, ARTICLE_BODY)),
    *(f"in <{tag}>" for tag in CONTEXTS),
)
ALWAYS = tuple(
    "named article|named body|named main|named comment|named article body|in <article>|in <main>".split("|")
)
EXCLUDED = ("named comment", "named foot", "named hidden", "in <nav>", "in <aside>", "in <footer>")
NAME_ATTRIBUTES = "class id itemprop role".split()


def hash_name(name: str, kind: int) -> int:
    """The kernel's hash of the name of a tag or an attribute, in lower case: words of eight bytes, padded."""
    value, data = kernels.tags.HASH_START ^ kind, name.encode()
    for at in range(0, len(data) + 1, 8):
        word = int.from_bytes(data[at : at + 8], "little")
        value = (value ^ word) * kernels.tags.WORD_STEP % (1 << 64)
        value ^= value >> 32
    return value


def hash_hint(word: str, kind: int) -> int:
    """The kernel's hash of a word of a class or an id, or of the letters of a style."""
    return hash_bytes(bytes([kind]) + word.encode())


def hash_bytes(data: bytes) -> int:
    """The kernel's hash of bytes."""
    tags = kernels.tags
    value: int = tags.HASH_START
    for byte in data:
        value = (value ^ byte) * tags.HASH_STEP % (1 << 64)
    return value


def tag_names() -> list[str]:
    """The known tags by number; number 0 is any other."""
    return ["", *dict.fromkeys([*BLOCKS, *VOID, *OPAQUE, "a", "br"])]


def tag_entry(number: int, name: str) -> int:
    """The properties of a tag, as the kernel reads them."""
    markup = kernels.markup
    flags = markup.BLOCK * (name in BLOCKS or name in VOID) | markup.VOID * (name in VOID)
    flags |= markup.OPAQUE * (name in OPAQUE) | markup.BARRIER * (name in BARRIERS)
    flags |= markup.ANCHOR * (name == "a") | markup.BREAK * (name == "br") | markup.PARAGRAPH * (name == "p")
    flags |= markup.UNNAMED * (name in ("html", "body"))
    return int(number | flags | GROUPS.get(name, 0) << markup.GROUP_SHIFT)


def entries() -> dict[int, int]:
    """The hashes of all names, and their values."""
    tags = kernels.tags
    bits = {hint: 1 << number for number, hint in enumerate(HINT_NAMES)}
    found = {hash_name(name, tags.TAG): tag_entry(number, name) for number, name in enumerate(tag_names())}
    found |= {hash_name(name, tags.ATTRIBUTE): tags.NAMES for name in NAME_ATTRIBUTES}
    found[hash_name("style", tags.ATTRIBUTE)] = tags.STYLE
    found[hash_name("href", tags.ATTRIBUTE)] = tags.LINK
    found[hash_name("hidden", tags.ATTRIBUTE)] = tags.FLAG | bits[HIDDEN] << 8
    found |= {hash_hint(letters, tags.STYLE): bits[HIDDEN] for letters in HIDING_STYLES}
    for hint, words in HINTS.items():
        for word in words.split():
            key = hash_hint(word, tags.NAMES)
            found[key] = found.get(key, 0) | bits[hint]
    return found


@cache
def vocabulary() -> NDArray[np.uint64]:
    """The table of the scanner."""
    return open_table(entries())


def open_table(stored: Mapping[int, int]) -> NDArray[np.uint64]:
    """The kernel's table of hashes and values: an open hash table, at most half full."""
    size = 1 << (2 * len(stored)).bit_length()
    table = np.zeros((size, 2), np.uint64)
    for key, value in stored.items():
        slot = (key ^ key >> 32) % size
        while table[slot, 0]:
            slot = (slot + 1) % size
        table[slot] = key, value
    return table


@cache
def tag_bits() -> NDArray[np.uint64]:
    """For each tag by number: the type of a block directly inside it, and the context bits of all text inside it."""
    shift, names = kernels.blocks.KIND_BITS, tag_names()
    found = dict.fromkeys(names, 0)
    for number, tags in enumerate(KINDS.values()):
        found |= {tag: found[tag] | number + 1 for tag in tags.split()}
    for context, tags in CONTEXTS.items():
        bit = 1 << INSIDE_NAMES.index(f"in <{context}>") + shift
        found |= {tag: found[tag] | bit for tag in tags.split()}
    return np.array([found[name] for name in names], np.uint64)


@cache
def masks() -> NDArray[np.uint64]:
    """Groups of bits: see `kernels.blocks.inherit`."""

    def bits(*names: str) -> int:
        return sum(1 << INSIDE_NAMES.index(name) for name in names)

    both = bits("named article", "named body")
    return np.array([bits(*ALWAYS), both, bits(f"named {ARTICLE_BODY}"), bits(*EXCLUDED)], np.uint64)
