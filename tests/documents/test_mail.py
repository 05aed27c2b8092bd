"""mbox, Maildir and single messages."""

import mailbox

import pytest
from reading import batches, put, rows

import neardup
from neardup.documents import open_inputs
from neardup.documents.mail import message_fields
from neardup.documents.mailboxes import mbox_messages
from neardup.errors import OutputError

PLAIN = b"""Message-ID: <1@x>
From: =?utf-8?q?J=C3=BCrgen?= <j@x.org>
Subject: =?utf-8?b?R3LDvMOfZQ==?=
Date: Mon, 02 Mar 2020 10:00:00 +0100
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
From the start
"""
HTML = b"""Message-ID: <2@x>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/html; charset=utf-8

<p>Only <b>html</b></p>
--b--
"""
BOTH = HTML.replace(b"<2@x>", b"<3@x>").replace(
    b"\n--b--", b"\n--b\nContent-Type: text/plain\n\nplain\n--b--"
)


def mbox(*messages: bytes) -> bytes:
    quoted = [message.replace(b"\nFrom ", b"\n>From ") for message in messages]
    return b"\n".join(b"From a@b Mon Mar  2 10:00:00 2020\n" + message for message in quoted)


def test_the_fields_of_a_message(tmp_path):
    (row,), problems = rows(put(tmp_path / "a.eml", PLAIN))
    assert row == {
        "id": "1@x",
        "subject": "Grüße",
        "from": "Jürgen <j@x.org>",
        "date": "2020-03-02T10:00:00+01:00",
        "text": "Grüße\nFrom the start\n",
        "path": str(tmp_path / "a.eml"),
    }
    assert not problems.total


def test_mbox_in_order_with_its_quoting_undone(tmp_path):
    found, _ = rows(put(tmp_path / "a.mbox", mbox(PLAIN, HTML, BOTH)))
    assert [row["id"] for row in found] == ["1@x", "2@x", "3@x"]
    assert [row["text"].strip() for row in found] == ["Grüße\nFrom the start", "Only html", "plain"]


def test_ids_are_unique_over_all_mail_of_a_run(tmp_path):
    put(tmp_path / "a.mbox", mbox(PLAIN, PLAIN))
    put(tmp_path / "b.eml", PLAIN)
    put(tmp_path / "c.eml", b"Subject: none\n\nbody")
    (source,) = open_inputs([tmp_path])
    assert source.format == "mail"
    assert [row["id"] for row in rows(tmp_path)[0]] == ["1@x", "a.mbox:2", "b.eml", "c.eml"]


def test_maildir(tmp_path):
    for part in ("cur", "new", "tmp"):
        (tmp_path / "box" / part).mkdir(parents=True)
    put(tmp_path / "box" / "cur" / "1:2,S", PLAIN)
    put(tmp_path / "box" / "new" / "2", HTML)
    for given, prefix in ((tmp_path, ""), (tmp_path / "box", f"{tmp_path}/")):
        found, _ = rows(given)
        assert [row["path"] for row in found] == [f"{prefix}box/cur/1:2,S", f"{prefix}box/new/2"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"no header at all \xff\xfe",
        b"Content-Type: text/plain; charset=no-such\n\ntext",
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!",
        b"Content-Type: multipart/mixed; boundary=x\n\nno parts",
        b"Content-Type: message/rfc822\n\n",
        b"Subject: =?utf-8?b?////?=\nDate: never\nFrom: <<<>\nMessage-ID: \xff\n\nx",
        b"Date: Mon, 99 Foo 99999 99:99:99 +9999\n\nx",
        b"Content-Type: text/html\n\n<p>" + b"<div>" * 1000,
        b"Content-Type: text/plain; charset=utf-7\n\n+2AA-",
    ],
)
def test_broken_messages_do_not_stop_the_rest(tmp_path, data):
    put(tmp_path / "a.eml", data)
    put(tmp_path / "b.eml", PLAIN)
    found, _ = rows(tmp_path)
    assert found[-1]["id"] == "1@x"
    assert len(found) in (1, 2)


def test_a_broken_message_is_reported(tmp_path, monkeypatch):
    def fail(data):
        if b"Only" in data:
            raise ValueError("no")
        return message_fields(data)

    monkeypatch.setattr("neardup.documents.mail.message_fields", fail)
    path = put(tmp_path / "a.mbox", mbox(PLAIN, HTML, BOTH.replace(b"Only", b"")))
    found, problems = batches(path)
    assert [number for batch in found for number in batch.numbers.tolist()] == [1, 3]
    assert problems.counts == {"broken message": 1}
    assert problems.first[0].record == 2


def test_a_file_that_only_its_name_calls_an_mbox_is_reported(tmp_path):
    for content in (b"", b"\n\n" + mbox(PLAIN)):
        assert not rows(put(tmp_path / "a.mbox", content))[1].total
    found, problems = rows(put(tmp_path / "a.mbox", b"\0\xff\xfe neither\n\n" + mbox(PLAIN)))
    assert [row["id"] for row in found][1:] == ["1@x"]
    assert problems.counts == {"no mbox": 1}


def test_splitting_needs_a_blank_line_before(tmp_path):
    path = put(tmp_path / "a.mbox", b"From a\n\ntext\nFrom here on\n\nFrom b\n\nmore")
    assert list(mbox_messages(path)) == [b"\ntext\nFrom here on\n\n", b"\nmore"]


def test_mail_is_written_back_as_mbox(tmp_path):
    quoted = PLAIN.replace(b"<1@x>", b"<4@x>").replace(b"From the start", b"From the start\n>From there")
    put(tmp_path / "in" / "a.mbox", mbox(PLAIN, quoted, HTML))
    put(tmp_path / "in" / "b.eml", PLAIN.replace(b"<1@x>", "<é@x>".encode()))
    result = neardup.dedup(str(tmp_path / "in"), threads=1, keep="first", ngram=1, threshold=0.9)
    result.write(tmp_path / "out", format="mbox")
    result.write(tmp_path / "all", format="mbox", mode="annotate")
    kept, removed, every = (
        rows(tmp_path / name)[0] for name in ("out/kept.mbox", "out/removed.mbox", "all/annotated.mbox")
    )
    before = {row["id"]: row for row in rows(tmp_path / "in")[0]}
    assert [row["id"] for row in kept + removed] and len(kept) + len(removed) == len(every) == 4
    for row in kept:
        assert (
            row["text"].rstrip() == before[row["id"]]["text"].rstrip()
            and row["from"] == before[row["id"]]["from"]
        )
    data = (tmp_path / "out" / "removed.mbox").read_bytes()
    assert data.count(b"X-Neardup-Duplicate-Of: ") == len(removed) > 0
    assert b"\n>From the start" in (tmp_path / "all" / "annotated.mbox").read_bytes()
    assert len(list(mailbox.mbox(tmp_path / "all" / "annotated.mbox"))) == 4


def test_mbox_is_for_mail_alone(tmp_path):
    path = put(tmp_path / "a.jsonl", b'{"text": "a"}\n')
    with pytest.raises(OutputError, match="is not mail"):
        neardup.dedup(str(path), threads=1).write(tmp_path / "out", format="mbox")
