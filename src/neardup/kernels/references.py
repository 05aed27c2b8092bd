"""Character references of HTML in UTF-8 text, decoded as Python's `html.unescape` decodes them.

The table (`text/references.py` makes it) has the named references, with and without semicolon, and the numeric ones
from 128 to 159, which are read as windows-1252.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import borrowing, inline
from neardup.kernels.tags import HASH_START, add_byte, find_byte, look_up, to_lower

U8, U64 = np.uint8, np.uint64

CODE_BITS = 21  # of a value of the table: one character, or a second one above the first
CODE = (1 << CODE_BITS) - 1
SHORTEST, LONGEST = 2, 6  # letters of the names that need no semicolon
REPLACEMENT, TOO_LARGE = 0xFFFD, 0x110000


@inline
def ends_name(c):
    """Whether a byte ends the name of a reference: white space, < & # or ;"""
    return (
        c == U8(9)
        or c == U8(10)
        or c == U8(12)
        or c == U8(32)
        or c == U8(60)
        or c == U8(38)
        or ends_number(c)
    )


@inline
def ends_number(c):
    """Whether a byte is # or ;"""
    return c == U8(35) or c == U8(59)


@inline
def digit_of(c):
    """The value of a hexadecimal digit; 99 for another byte."""
    if U8(c - U8(48)) < U8(10):
        return np.int64(c) - 48
    lower = to_lower(c)
    return np.int64(lower) - 87 if U8(lower - U8(97)) < U8(6) else 99


@borrowing
def write_character(code, out, at):
    """Writes a code point in UTF-8; returns the byte after it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at], out[at + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return at + 2
    if code < 0x10000:
        out[at], out[at + 1], out[at + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return at + 3
    out[at], out[at + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[at + 2], out[at + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return at + 4


@borrowing
def numbered(value, table):
    """The code point of a numeric reference; -1 if it stands for nothing."""
    if 128 <= value < 160:
        return np.int64(look_up(table, add_byte(U64(HASH_START), U8(value))))
    if value == 0 or value >= TOO_LARGE or 0xD800 <= value < 0xE000:
        return REPLACEMENT
    control = value < 32 and value != 9 and value != 10 and value != 12 and value != 13
    if control or value == 127 or 0xFDD0 <= value <= 0xFDEF or value & 0xFFFE == 0xFFFE:
        return -1
    return value


@borrowing
def read_number(text, i, table, out, at):
    """Writes the character of the numeric reference at i; returns the bytes after it in text and out."""
    size = len(text)
    base = 16 if i + 2 < size and to_lower(text[i + 2]) == U8(120) else 10
    j = first = i + 3 if base == 16 else i + 2
    value = 0
    while j < size and digit_of(text[j]) < base:
        value = min(value * base + digit_of(text[j]), TOO_LARGE)
        j += 1
    if j == first:
        out[at] = text[i]
        return i + 1, at + 1
    code = numbered(value, table)
    if code >= 0:
        at = write_character(code, out, at)
    return (j + 1 if j < size and text[j] == U8(59) else j), at


@borrowing
def read_reference(text, i, table, out, at):
    """Writes what the "&" at i stands for, by the longest name that is known; returns the bytes after it."""
    size, j = len(text), i + 1
    if j < size and text[j] == U8(35):
        return read_number(text, i, table, out, at)
    hash, found, end = U64(HASH_START), U64(0), i + 1
    while j < size and j - i <= 32 and not ends_name(text[j]):
        hash = add_byte(hash, text[j])
        j += 1
        if SHORTEST <= j - i - 1 <= LONGEST:
            value = look_up(table, hash)
            if value != U64(0):
                found, end = value, j
    if j > i + 1 and j < size and text[j] == U8(59):
        value = look_up(table, add_byte(hash, U8(59)))
        if value != U64(0):
            found, end = value, j + 1
    if found == U64(0):
        out[at] = text[i]
        return end, at + 1
    at = write_character(np.int64(found & U64(CODE)), out, at)
    if found >> U64(CODE_BITS):
        at = write_character(np.int64(found >> U64(CODE_BITS)), out, at)
    return end, at


@borrowing
def decode_references(text, table, out, at):
    """Writes a text to out from `at` on, its references decoded; returns the byte after it."""
    size, i = len(text), 0
    while i < size:
        stop = find_byte(text, i, U8(38))
        for k in range(stop - i):
            out[at + k] = text[i + k]
        at += stop - i
        i = stop
        if i < size:
            i, at = read_reference(text, i, table, out, at)
    return at
