"""The quick parser of mail agrees with the standard library, and the quick splitter of mbox files with a naive one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.mailboxes import mbox_messages as naive_messages
from neardup.documents import mailboxes
from neardup.documents.limits import Limits
from neardup.documents.mail import _header_of, _visible, library_fields
from neardup.documents.mail_quick import quick_fields

HEADERS = [
    "Message-ID: <1.a@example.org>",
    "Message-Id: <odd id@x>",
    "Message-ID: 7",
    "Subject: Re: plain words",
    "Subject: =?utf-8?q?J=C3=BCrgen?= and more",
    "Subject: folded\n over two\n\tlines",
    "Subject:",
    "SUBJECT: first counts",
    "From: Jane Doe <jane@example.org>",
    'From: "Doe, John" <john@example.org>, other@example.org',
    "From: bare@example.org",
    "From: =?iso-8859-1?q?J=FCrgen?= <j@example.org>",
    "From: group: a@b.c, d@e.f;",
    "Date: Mon, 02 Mar 2020 10:00:00 +0100",
    "Date: 2 Mar 2020 10:00:00 -0000",
    "Date: Thu, 31 Feb 2020 10:00:00 +0100",
    "Date: Mon, 2 Mar 2020 10:00:00 GMT (x)",
    "Date: soon",
    "Received: from a by b; x",
    "X-Long: " + "word " * 600,
    "Subject: " + "word " * 600,
    "no colon here",
    " begins folded",
    "Bad Name: x",
    "Subject: tab\tand \x07 control",
    "MIME-Version: 1.0",
]
CONTENT = [
    "Content-Type: text/plain",
    "Content-Type: text/plain; charset=utf-8",
    'Content-Type: text/plain; charset="iso-8859-1"; format=flowed',
    "Content-Type: text/html; charset=utf-8",
    "Content-Type: TEXT/HTML",
    "Content-Type: text/plain; charset=unknown-8bit",
    "Content-Type: text/plain; charset*=utf-8''x",
    "Content-Type: text",
    "Content-Type: application/octet-stream",
    "Content-Type: message/rfc822",
    "Content-Type: text/calendar",
    "Content-Type: multipart/mixed",
    "",
]
CODINGS = [
    "Content-Transfer-Encoding: 7bit",
    "Content-Transfer-Encoding: quoted-printable",
    "Content-Transfer-Encoding: base64",
    "Content-Transfer-Encoding: x-uuencode",
    "Content-Transfer-Encoding: 8BIT",
    "Content-Disposition: attachment; filename=a",
    "Content-Disposition: inline",
    "",
    "",
]
BODIES = [
    b"plain words\nand a second line\n",
    "Grüße aus Köln\n".encode(),
    "Grüße\n".encode("latin-1"),
    b"Gr=FC=DFe =\nsoft\n=3D",
    b"cGxhaW4gd29yZHM=\n",
    b"cGxhaW4gd29y\nZHM",
    b"<p>Only <b>html</b></p>\n",
    b"",
    b"\n\n--b\nlooks like a part\n--b--\n",
    b"no end of line",
    b"--\nsignature\n-- \n",
]


@st.composite
def parts(draw, depth: int = 0) -> bytes:
    """A part: content headers and a body, or a multipart of further parts, now and then damaged."""
    if depth < 3 and draw(st.integers(0, 3)) > depth + 1:
        boundary = draw(st.sampled_from(["b", "bb", "=_x-1", "b b"]))
        kind = draw(st.sampled_from(["mixed", "alternative", "related", "digest", "report"]))
        inner = draw(st.lists(parts(depth + 1), min_size=0, max_size=3))
        end = draw(st.sampled_from([b"--\n", b"--", b"-- \n", b"", b"--\nepilogue\n"]))
        quoted = f'"{boundary}"' if draw(st.booleans()) else boundary
        head = f"Content-Type: multipart/{kind}; boundary={quoted}\n\n".encode()
        body = b"".join(b"--" + boundary.encode() + b"\n" + one + b"\n" for one in inner)
        return head + draw(st.sampled_from([b"", b"preamble\n"])) + body + b"--" + boundary.encode() + end
    lines = [draw(st.sampled_from(CONTENT)), draw(st.sampled_from(CODINGS))]
    head = "".join(f"{line}\n" for line in lines if line)
    return head.encode() + b"\n" + draw(st.sampled_from(BODIES))


@st.composite
def messages(draw) -> bytes:
    head = "".join(f"{line}\n" for line in draw(st.lists(st.sampled_from(HEADERS), max_size=6)))
    data = head.encode() + draw(parts())
    return data.replace(b"\n", b"\r\n") if draw(st.integers(0, 5)) == 0 else data


@settings(max_examples=400)
@given(messages())
def test_the_quick_parser_agrees_with_the_standard_library(data: bytes) -> None:
    found = quick_fields(data, _header_of, _visible)
    if found is not None:
        assert found == library_fields(data)


def test_common_mail_takes_the_quick_way():
    head = "Message-ID: <1@x.org>\nFrom: A B <a@x.org>\nDate: Mon, 02 Mar 2020 10:00:00 +0100\nSubject: s\n"
    plain = f"{head}Content-Type: text/plain; charset=utf-8\n\nGrüße\n".encode()
    both = (
        f'{head}Content-Type: multipart/alternative; boundary="b"\n\n--b\nContent-Type: text/plain\n\ntext\n'
        "--b\nContent-Type: text/html\n\n<p>text</p>\n--b--\n"
    ).encode()
    for data, text in ((plain, "Grüße\n"), (both, "text"), (f"{head}\ntext\n".encode(), "text\n")):
        found = quick_fields(data, _header_of, _visible)
        assert found == library_fields(data) and found is not None and found["text"] == text


LINES = [
    b"From a@b Mon Mar  2 10:00:00 2020\n", b">From here\n", b">>From there\n", b"\n", b"  \n", b"\r\n", b"text\n",
    b"From\n", b"Subject: s\n", b"x" * 50 + b"\n", b">From", b"From the end", b" From x\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", [7, 64, 4 << 20])
def test_the_splitter_agrees_with_a_naive_one(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(mailboxes, "_PIECE", piece)
    monkeypatch.setattr(mailboxes, "_SEAM", 128)
    draw, path = random.Random(piece), tmp_path / "a.mbox"
    for _ in range(150):
        data = b"".join(draw.choice(LINES) for _ in range(draw.randrange(1, 25)))
        path.write_bytes(data)
        assert list(mailboxes.mbox_messages(str(path))) == naive_messages(data), data


def test_a_message_beyond_the_limit_is_left_out_and_the_next_one_is_read(tmp_path):
    path = tmp_path / "a.mbox"
    long = b"From a\nSubject: long\n\n" + b"line of text\n" * 500_000 + b"\n"
    path.write_bytes(b"From a\n\none\n\n" + long + b"From b\n\ntwo\n")
    found = list(mailboxes.mbox_messages(str(path), Limits(record=4 << 20)))
    assert found == [b"\none\n\n", None, b"\ntwo\n"]
