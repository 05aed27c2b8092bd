"""The most attributes of a tag, for pages whose parser takes quadratic time over them.

A "<" may begin a tag or stand in a comment, a script or a quoted value. Instead of deciding which, every "<" before a
letter is followed as if it began a tag, by the states of the HTML standard (section 13.2.5), all of them in one pass:
each state keeps the largest number of attributes of any tag that is in it. So no page can hide a tag.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.tags import find_byte, is_letter

U8 = np.uint8


@inline
def next_one(count):
    """One attribute more, if any tag is in the state."""
    return count + 1 if count >= 0 else -1


@inline
def begins_tag(data, i):
    """Whether the name of a tag, or of an end tag, begins at i."""
    if not is_letter(data[i]) or i == 0:
        return False
    return data[i - 1] == U8(60) or (i > 1 and data[i - 1] == U8(47) and data[i - 2] == U8(60))


@jit
def most_attributes(data, enough):
    """The most attributes that a tag of the page can have; the first number found above `enough`."""
    name, before, attribute, after, value, double, single, bare = -1, -1, -1, -1, -1, -1, -1, -1
    size, most, i = len(data), 0, 0
    while i < size and most <= enough:
        if max(max(name, before, attribute), max(after, value, double), max(single, bare)) < 0:
            i = find_byte(data, i, U8(60)) + 1  # <
            if i < size and data[i] == U8(47):
                i += 1
            if i >= size or not is_letter(data[i]):
                continue
        c = data[i]
        if c == U8(62):  # >
            name, before, attribute, after, value, bare = -1, -1, -1, -1, -1, -1
        elif c == U8(32) or c == U8(9) or c == U8(10) or c == U8(12) or c == U8(13):
            before, after = max(name, before, bare), max(attribute, after)
            name, attribute, bare = -1, -1, -1
        elif c == U8(47):  # /
            before, bare = max(max(name, before), attribute, after), max(bare, value)
            name, attribute, after, value = -1, -1, -1, -1
        elif c == U8(61):  # =
            bare = max(bare, value)
            value = max(attribute, after)
            attribute, before, after = next_one(before), -1, -1
        else:
            attribute = max(attribute, next_one(before), next_one(after))
            before, after = -1, -1
            if c == U8(34):  # "
                before, double, value = double, value, -1
            elif c == U8(39):  # '
                before, single, value = single, value, -1
            else:
                bare, value = max(bare, value), -1
                name = max(name, 0) if begins_tag(data, i) else name
        most = max(most, attribute)
        i += 1
    return most
