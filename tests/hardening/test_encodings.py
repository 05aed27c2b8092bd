"""Encodings that a page, a message or a server names: none costs quadratic time, and none raises."""

from __future__ import annotations

import time

import pytest

from neardup.documents.dialects import checked_encoding
from neardup.documents.mail import message_fields
from neardup.errors import ParameterError
from neardup.text.encoding import declared_encoding, encoding_named, page_bytes

NOT_OF_TEXTS = ("punycode", "idna", "undefined", "zlib_codec", "rot13", "nothing", "\udcff", "a\0b", "")


@pytest.mark.parametrize("name", NOT_OF_TEXTS)
def test_an_encoding_that_is_none_of_texts_is_unknown(name):
    declared = name.encode("utf-8", "replace")
    page = b"<meta charset=" + declared + b"><p>words " + b"a" * 100 + b" \xe9-b9b9"
    assert encoding_named(name) == declared_encoding(page) == ""
    assert page_bytes(page).endswith("é-b9b9".encode())
    head = b"Content-Type: text/plain; charset=" + declared.replace(b"\0", b"0") + b"\n\n"
    assert message_fields(head + b"words and more")["text"] == "words and more"
    with pytest.raises(ParameterError, match="'encoding' parameter"):
        checked_encoding(name)


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "multipart/x; boundary=b"])
def test_mail_in_the_encoding_of_host_names_costs_linear_time(kind):
    start = time.process_time()
    message_fields(f"Content-Type: {kind}; charset=punycode\n\n".encode() + b"a" * 1_000_000)
    page_bytes(b"<meta charset=punycode>" + b"a" * 1_000_000 + b"-" + b"b9" * 500_000)
    assert time.process_time() - start < 10  # more than a minute for each
