"""New inputs from old ones: the usual accidents of bytes, and a few words that parsers listen to."""

from __future__ import annotations

from random import Random

MOST = 1 << 16  # bytes of an input
TOKENS = [
    *(bytes([byte]) for byte in b"\0\t\n\r\"',;{}[]:<>=&\\/-+@#\x7f\x80\xff"),
    b"\r\n",
    b'""',
    b'"\n"',
    b"\\u0000",
    b"\\ud800",
    b"\\udfff\\ud800",
    b"\\",
    b"null",
    b"NaN",
    b"-1e999",
    b"9" * 30,
    b"9" * 5000,
    b"[" * 50,
    b"[" * 2000,
    b'{"a":' * 300,
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xff\xfe\0\0",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    "e\u0301".encode(),
    "\u0301".encode() * 40,
    "\u1100\u1161\u11a8".encode(),
    "\u0344\u0f73".encode(),
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f".encode(),
    "ไทยกำ".encode(),
    "漢字カナ".encode(),
    "İıſẞ".encode(),
    b"From x\n",
    b"\n\nFrom x\n",
    b"Content-Type: multipart/mixed; boundary=a\n\n--a\n",
    b"Content-Type: text/html; charset=utf-7\n",
    b"Content-Transfer-Encoding: base64\n",
    b"=?utf-8?b?/w==?= ",
    b"<p>",
    b"<!--",
    b"<script>",
    b"&#xd800;",
    b"<a href='",
    b"PAR1",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x10",
    b'"text"',
    b'"id"',
    b"text",
    b"keep",
]


def mutated(seeds: list[bytes], draw: Random) -> bytes:
    """An input made of one of the seeds by one to eight accidents."""
    data = bytearray(draw.choice(seeds))
    for _ in range(1 << draw.randrange(4)):
        accident = draw.choice(ACCIDENTS)
        accident(data, seeds, draw)
    return bytes(data[:MOST])


def _place(data: bytearray, draw: Random) -> int:
    return draw.randrange(len(data) + 1)


def _span(data: bytearray, draw: Random) -> slice:
    start = _place(data, draw)
    return slice(start, start + draw.choice((1, 2, 4, 16, 64, 256, 4096)))


def flip_bit(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """One bit is the other way round."""
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def set_byte(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """One byte is another."""
    if data:
        data[draw.randrange(len(data))] = draw.randrange(256)


def insert_token(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """A word that means something to somebody."""
    place = _place(data, draw)
    data[place:place] = draw.choice(TOKENS)


def overwrite(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """The same, over what was there."""
    token = draw.choice(TOKENS)
    place = _place(data, draw)
    data[place : place + len(token)] = token


def remove(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """A stretch is missing."""
    del data[_span(data, draw)]


def repeat(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """A stretch comes several times."""
    span = _span(data, draw)
    data[span] = bytes(data[span]) * draw.choice((2, 3, 10))
    del data[MOST:]


def move(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """A stretch stands elsewhere."""
    span = _span(data, draw)
    piece = bytes(data[span])
    del data[span]
    place = _place(data, draw)
    data[place:place] = piece


def cut(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """The end is missing."""
    del data[_place(data, draw) :]


def splice(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """The end is that of another input."""
    other = draw.choice(seeds)
    del data[_place(data, draw) :]
    data += other[draw.randrange(len(other) + 1) :]


def noise(data: bytearray, seeds: list[bytes], draw: Random) -> None:
    """A stretch of bytes that mean nothing."""
    place = _place(data, draw)
    data[place:place] = draw.randbytes(draw.choice((1, 4, 16, 64)))


ACCIDENTS = (
    flip_bit,
    flip_bit,
    set_byte,
    insert_token,
    insert_token,
    overwrite,
    remove,
    repeat,
    move,
    cut,
    splice,
    noise,
)
