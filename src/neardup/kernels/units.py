"""Texts cut into lines, paragraphs or sentences."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.tokens import load

U8, U64 = np.uint8, np.uint64
LINES, PARAGRAPHS, SENTENCES = 0, 1, 2


@inline
def is_blank(byte):
    """Whether a byte is a blank or a control character."""
    return byte <= 32


@inline
def count_characters(text):
    """The characters of a text: bytes that do not continue one."""
    count = 0
    for k in range(len(text)):
        count += 1 if text[k] & U8(0xC0) != U8(0x80) else 0
    return count


@jit
def line_end(data, i, stop):
    """Where the line at i ends."""
    while i + 8 <= stop:  # eight bytes at a time: a byte that is a line end leaves a zero byte
        word = load(data, U64(i)) ^ U64(0x0A0A0A0A0A0A0A0A)
        if (word - U64(0x0101010101010101)) & ~word & U64(0x8080808080808080) != U64(0):
            break
        i += 8
    while i < stop and data[i] != 10:
        i += 1
    return i


@jit
def paragraph_end(data, i, stop):
    """Where the paragraph at i ends: before the next line of blanks alone."""
    while True:
        i = line_end(data, i, stop)
        k = i + 1
        while k < stop and is_blank(data[k]) and data[k] != 10:
            k += 1
        if i >= stop or k >= stop or data[k] == 10:
            return i
        i += 1


@inline
def full_stop(data, i, stop):
    """The bytes of a mark that ends a sentence at i and, as 3 or 4, needs no blank behind it; 0 where none is."""
    c = data[i]
    if c == 46 or c == 33 or c == 63:  # . ! ?
        return 1
    if i + 1 < stop and ((c == 0xD8 and data[i + 1] == 0x9F) or (c == 0xDB and data[i + 1] == 0x94)):  # ؟ ۔
        return 2
    if i + 2 >= stop:
        return 0
    second, third = data[i + 1], data[i + 2]
    if c == 0xE3 and second == 0x80 and third == 0x82:  # 。
        return 3
    if c == 0xEF and second == 0xBC and (third == 0x81 or third == 0x9F or third == 0x8E):  # ！ ？ ．
        return 3
    if c == 0xE0 and second == 0xA5 and (third == 0xA4 or third == 0xA5):  # । ॥
        return 3
    if c == 0xE1 and second == 0x81 and (third == 0x8A or third == 0x8B):  # ၊ ။
        return 3
    return 0


@inline
def closing(data, i, stop):
    """The bytes of a quotation mark or bracket that closes at i; 0 where none is."""
    c = data[i]
    if c == 34 or c == 39 or c == 41 or c == 93:  # " ' ) ]
        return 1
    if i + 1 < stop and c == 0xC2 and data[i + 1] == 0xBB:  # »
        return 2
    if i + 2 < stop and c == 0xE2 and data[i + 1] == 0x80 and (data[i + 2] == 0x9D or data[i + 2] == 0x99):
        return 3
    if i + 2 < stop and c == 0xE3 and data[i + 1] == 0x80 and (data[i + 2] == 0x8D or data[i + 2] == 0x8F):
        return 3
    return 0


@jit
def sentence_end(data, i, last):
    """Where the sentence at i ends: behind a full stop with a blank after it and no small letter then, or at the end
    of its paragraph."""
    while i < last:
        width = full_stop(data, i, last)
        if width == 0:
            i += 1
            continue
        i += width
        more = full_stop(data, i, last) if i < last else 0
        while i < last and (more > 0 or closing(data, i, last) > 0):
            i += more if more > 0 else closing(data, i, last)
            more = full_stop(data, i, last) if i < last else 0
        k = i
        while k < last and is_blank(data[k]):
            k += 1
        small = k < last and 97 <= data[k] <= 122
        if width == 3 or k >= last or (k > i and not small):
            return i
    return last


@jit
def split(data, offsets, kind, out):
    """The number of units; fills rows of `out` with document, first byte, byte behind the last one, and characters.

    A unit begins and ends with something other than a blank. `out` has room for a unit for every two bytes, and one
    more for each document.
    """
    total = 0
    for d in range(len(offsets) - 1):
        i, stop = offsets[d], offsets[d + 1]
        paragraph = i  # where the one at hand ends: sought once, not for each of its sentences
        while i < stop:
            while i < stop and is_blank(data[i]):
                i += 1
            if i >= stop:
                break
            if kind == LINES:
                end = line_end(data, i, stop)
            elif kind == PARAGRAPHS:
                end = paragraph_end(data, i, stop)
            else:
                if i >= paragraph:
                    paragraph = paragraph_end(data, i, stop)
                end = sentence_end(data, i, paragraph)
            last = end
            while is_blank(data[last - 1]):
                last -= 1
            out[total, 0], out[total, 1], out[total, 2] = d, i - offsets[d], last - offsets[d]
            out[total, 3] = count_characters(data[i:last])
            total += 1
            i = end
    return total
