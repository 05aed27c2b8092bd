"""News files: NITF, NewsML, Reuters' newsitem and Reuters-21578."""

from __future__ import annotations

import pytest

import neardup
from neardup.documents import Problems, open_inputs
from neardup.documents.news_sgml import sgml_articles
from neardup.documents.news_xml import BrokenNews, xml_articles
from neardup.errors import InputError

NITF = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/nitf.dtd">
<nitf><head><title>Ignored if a headline follows</title>
<docdata><doc-id id-string="1815718"/><date.issue norm="20070101T093000Z"/>
<identified-content><classifier class="indexing_service" type="descriptor">Harbours</classifier>
<classifier type="taxonomic_classifier" value="Top/News/World"/></identified-content></docdata></head>
<body><body.head><hedline><hl1>The <em>caf\xe9</em> reopens</hl1></hedline><byline>By nobody</byline></body.head>
<body.content><block class="full_text"><p>It has   reopened&nbsp;today.</p><p>Many came &amp; stayed.</p>
<media><media-caption>A picture</media-caption></media></block></body.content></body></nitf>
"""
RCV1 = b"""<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="2286" id="root" date="1996-08-20" xml:lang="en">
<title>MEXICO: Recovery excitement.</title><headline>Recovery excitement.</headline><byline>Henry</byline>
<text><p>Emerging evidence &quot;shows&quot;.</p><p>Second line.</p></text>
<metadata><codes class="bip:countries:1.0"><code code="MEX"/></codes>
<codes class="bip:topics:1.0"><code code="E11"><editdetail/></code><code code="ECAT"/></codes>
<dc element="dc.date.published" value="1996-08-20"/></metadata></newsitem>
"""
G2 = """<newsMessage xmlns="http://iptc.org/std/nar/2006-10-01/"><itemSet>
<newsItem guid="urn:x:1"><itemMeta><versionCreated>2024-05-01T10:00:00Z</versionCreated></itemMeta>
<contentMeta><headline>Erste</headline><subject qcode="medtop:1"/><subject qcode="medtop:2"/></contentMeta>
<contentSet><inlineXML><h:html xmlns:h="x"><h:head><h:title>no</h:title></h:head>
<h:body><h:p>Ein Satz.</h:p><h:p>Größe</h:p></h:body></h:html></inlineXML></contentSet></newsItem>
<newsItem guid="urn:x:2"><contentMeta><headline>Nur Titel</headline></contentMeta></newsItem>
</itemSet></newsMessage>""".encode()
SGML = b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE><TOPICS><D>cocoa</D><D>trade</D></TOPICS><PLACES><D>usa</D></PLACES>
<UNKNOWN>&#5;&#5;&#5;C T</UNKNOWN>
<TEXT>&#2;<TITLE>BAHIA COCOA &lt;REVIEW></TITLE><DATELINE>    SALVADOR, Feb 26 - </DATELINE>
<BODY>Showers continued, R\xe9al said.
    The dry period means &lt;A> sold.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" NEWID="2"><DATE> 1-MAR-1987 09:00:00</DATE><TOPICS></TOPICS>
<TEXT TYPE="BRIEF"><TITLE>ONLY A TITLE</TITLE></TEXT></REUTERS>
<REUTERS NEWID="3"><DATE>soon</DATE><TEXT TYPE="UNPROC">&#2;
rough text<x> of a wire</TEXT></REUTERS>
"""
ENTITIES = b"""<!DOCTYPE nitf [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<nitf><body><body.content>&b;</body.content></body></nitf>"""
OUTSIDE = b"""<!DOCTYPE nitf [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<nitf><body><body.content>&x;</body.content></body></nitf>"""


# As the tags of NITF 3.3 are used in a published corpus of news: the lead stands twice.
ARCHIVE = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">
<nitf change.date="June 10, 2005" change.time="19:30" version="-//IPTC//DTD NITF 3.3//EN">
<head><title>Ferry Returns</title><meta content="Metropolitan Desk" name="dsk"/>
<meta content="1" name="publication_day_of_month"/>
<docdata><doc-id id-string="17"/><doc.copyright holder="The Paper" year="2003"/>
<series series.name="Harbours"/><identified-content>
<classifier class="indexing_service" type="descriptor">Ferries</classifier>
<location class="indexing_service">Norhaven</location><person class="indexing_service">Doe, J</person>
<classifier class="online_producer" type="taxonomic_classifier">Top/News</classifier></identified-content></docdata>
<pubdata date.publication="20030201T000000" ex-ref="http://example.org/17" item-length="18" name="The Paper"/></head>
<body><body.head><hedline><hl1>Ferry Returns</hl1><hl2>After a year</hl2></hedline>
<byline class="print_byline">By A REPORTER</byline><abstract><p>A ferry.</p></abstract></body.head>
<body.content><block class="lead_paragraph"><p>LEAD: The ferry is back.</p></block>
<block class="full_text"><p>The ferry is back.</p><p>It sails at noon.</p></block></body.content>
<body.end><tagline>The end</tagline></body.end></body></nitf>
"""
# The tags of every article of Reuters-21578, in its order.
WIRE = b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="20425" NEWID="15001" CSECS="3249">
<DATE> 8-APR-1987 01:03:47.52</DATE>
<MKNOTE>a note</MKNOTE>
<TOPICS><D>ship</D></TOPICS>
<PLACES><D>norway</D></PLACES>
<PEOPLE></PEOPLE>
<ORGS><D>efta</D></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<UNKNOWN>
&#5;&#5;&#5;RM
&#22;&#22;&#1;f0987&#31;reute
u f BC-FERRY   04-08 0033</UNKNOWN>
<TEXT>&#2;
<TITLE>FERRY RETURNS</TITLE>
<AUTHOR>    By A. Reporter, Reuters</AUTHOR>
<DATELINE>    NORHAVEN, April 8 - </DATELINE><BODY>The ferry is back.
    It sails at noon.
 REUTER
&#3;</BODY></TEXT>
</REUTERS>
"""


def rows(given, **options) -> tuple[list[dict], Problems]:
    problems = Problems()
    sources = open_inputs(given if isinstance(given, list) else [str(given)], **options)
    return [
        row for one in sources for batch in one.read(None, problems) for row in batch.columns.to_pylist()
    ], problems


def test_nitf():
    assert list(xml_articles(NITF)) == [
        {
            "id": "1815718",
            "title": "The café reopens",
            "date": "2007-01-01T09:30:00Z",
            "topics": "Harbours, Top/News/World",
            "text": "It has reopened today.\nMany came & stayed.",
        }
    ]


def test_nitf_as_an_archive_has_it():
    (article,) = xml_articles(ARCHIVE)
    assert article == {
        "id": "17",
        "title": "Ferry Returns",
        "date": "2003-02-01T00:00:00",
        "topics": "Ferries, Top/News",
        "text": "The ferry is back.\nIt sails at noon.",
    }
    full = ARCHIVE[ARCHIVE.index(b'<block class="full_text">') : ARCHIVE.index(b"</body.content>")]
    (article,) = xml_articles(ARCHIVE.replace(full, b""))
    assert article["text"] == "LEAD: The ferry is back."


def test_reuters_with_all_its_tags():
    (article,) = sgml_articles(WIRE)
    assert article == {
        "id": "15001",
        "title": "FERRY RETURNS",
        "date": "1987-04-08T01:03:47",
        "topics": "ship",
        "text": "The ferry is back.\n    It sails at noon.",
    }


def test_newsitem_of_reuters():
    assert list(xml_articles(RCV1)) == [
        {
            "id": "2286",
            "title": "Recovery excitement.",
            "date": "1996-08-20",
            "topics": "E11, ECAT",
            "text": 'Emerging evidence "shows".\nSecond line.',
        }
    ]


def test_newsml_with_several_items():
    first, second = xml_articles(G2)
    assert first == {
        "id": "urn:x:1",
        "title": "Erste",
        "date": "2024-05-01T10:00:00Z",
        "topics": "medtop:1, medtop:2",
        "text": "Ein Satz.\nGröße",
    }
    assert (second["id"], second["text"]) == ("urn:x:2", "Nur Titel")


def test_reuters_21578():
    first, second, third = sgml_articles(SGML)
    assert first == {
        "id": "1",
        "title": "BAHIA COCOA <REVIEW>",
        "date": "1987-02-26T15:01:01",
        "topics": "cocoa, trade",
        "text": "Showers continued, Réal said.\n    The dry period means <A> sold.",
    }
    assert second["text"] == "ONLY A TITLE" and second["date"] == "1987-03-01T09:00:00"
    assert third["text"] == "rough text  of a wire" and third["date"] == "soon" and third["title"] == ""


def test_files_and_folders_are_read_and_other_xml_is_left_out(tmp_path):
    for name, data in {
        "a.xml": NITF,
        "b/c.xml": RCV1,
        "d.sgm": SGML,
        "e.xml": b"<other/>",
        "f.xml": NITF,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found, problems = rows(tmp_path)
    assert [row["id"] for row in found] == ["1815718", "2286", "1", "2", "3", "f.xml:1"]
    assert problems.total == 0 and open_inputs([str(tmp_path)]).notes
    result = neardup.dedup(str(tmp_path), threads=1)
    assert result.report["documents"] == 6 and result.report["exact_copies"] == 1
    with pytest.raises(InputError, match="neither NITF nor NewsML"):
        open_inputs([str(tmp_path / "e.xml")])


@pytest.mark.parametrize(
    ("name", "data", "read", "said"),
    [
        ("a.xml", ENTITIES, 0, "declares entities"),
        ("a.xml", OUTSIDE, 0, "declares entities"),
        ("a.xml", NITF[:-60], 0, "not well-formed XML"),
        ("a.xml", b"<newsml/>", 0, "no article in it"),
        ("a.xml", b"<nitf>" + b"<p>" * 2000, 0, "nested deeper"),
        ("a.xml", b'<?xml version="1.0" encoding="klingon"?><nitf/>', 0, "encoding"),
        ("a.sgm", SGML[: SGML.rindex(b"</REUTERS>")], 2, "not closed by </REUTERS>"),
        ("a.sgm", b"nothing", 0, "not well-formed XML"),
    ],
)
def test_damage_is_reported(tmp_path, name, data, read, said):
    (tmp_path / name).write_bytes(data)
    found, problems = rows(tmp_path / name)
    assert len(found) == read and problems.total == 1
    assert said in problems.first[0].reason and "\n" not in problems.first[0].reason


def test_nothing_outside_the_file_is_read(tmp_path):
    secret = tmp_path / "secret.dtd"
    secret.write_text('<!ENTITY x "secret">')
    data = NITF.replace(b"http://www.nitf.org/nitf.dtd", f"file://{secret}".encode()).replace(
        b"&nbsp;", b"&x;"
    )
    (article,) = xml_articles(data)
    assert "secret" not in article["text"]


def test_sgml_without_ends_is_linear():
    with pytest.raises(BrokenNews):
        list(sgml_articles(b"<REUTERS " + b"<D><TITLE" * 200_000))
    (article,) = sgml_articles(b"<REUTERS >" + b"<D><TITLE><" * 200_000 + b"</REUTERS>")
    assert article["text"] == ""
