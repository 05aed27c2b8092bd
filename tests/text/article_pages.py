"""Small pages that we wrote ourselves, each with the sentences of its article and those around it."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    name: str
    html: str
    article: list[str]
    around: list[str]


HARBOUR = [
    "The harbour of Wexmouth was closed on Tuesday after a barge struck the old stone pier, the port said.",
    "Nobody was hurt, but two fishing boats that lay beside the pier were damaged, according to the coast guard.",
    "“We heard a long scraping noise and then the whole quay shook,” said Martha Oakes, who sells fish nearby.",
    "Engineers will inspect the foundations this week, and ferries are to leave from the northern dock until then.",
]
MENU = ["Home", "World", "Business", "Sport", "Weather", "Contact us"]
TEASERS = [
    "Ten recipes for a rainy weekend",
    "Why the new tram line is late again",
    "Photos: the kite festival in pictures",
    "Quiz: how well do you know the coast?",
]
COMMENTS = [
    "I was there and it was much louder than they say, the ground moved under my feet for several seconds.",
    "My cousin works on that barge, and he told me the steering had been making trouble for weeks already.",
]
MODERN = f"""<!DOCTYPE html><html><head><title>Barge hits pier</title><style>p {{ color: red }}</style>
<script>var articles = "<p>not text</p>";</script></head><body class="has-sidebar article-page">
<header class="site-header"><nav><ul>{"".join(f'<li><a href="/{m}">{m}</a></li>' for m in MENU)}</ul></nav></header>
<main><article><h1>Barge hits pier</h1><div class="byline">By Ann Writer, 3 May</div>
<div class="article-body">{"".join(f"<p>{p}</p>" for p in HARBOUR)}</div></article>
<aside class="related"><h3>More stories</h3>{"".join(f'<div class="card"><a href="#">{t}</a></div>' for t in TEASERS)}
</aside></main><footer><p>© Wexmouth Courier. All rights reserved. <a href="#">Privacy</a></p></footer></body></html>"""

TABLES = f"""<HTML><BODY BGCOLOR=white><TABLE WIDTH=700><TR><TD WIDTH=150 VALIGN=top>
{"".join(f"<A HREF=/{m}><FONT SIZE=1>{m}</FONT></A><BR>" for m in MENU)}
<TD VALIGN=top><FONT SIZE=5><B>Barge hits pier</B></FONT><BR><BR>{"<BR><BR>".join(HARBOUR)}
<TD WIDTH=150>{"".join(f"<P><A HREF=x>{t}</A>" for t in TEASERS)}
<TR><TD COLSPAN=3><FONT SIZE=1>Copyright Wexmouth Courier, all rights reserved</FONT></TABLE></BODY></HTML>"""

BLOG = f"""<html><body><div id="wrap" class="two-column-sidebar"><div id="top-menu">
{" | ".join(f'<a href="/{m}">{m}</a>' for m in MENU)}</div>
<div class="post"><h2>A barge in the harbour</h2><div class="entry-content"><p>{"</p><p>".join(HARBOUR)}</p></div></div>
<div id="comments"><h3>2 comments</h3><ol class="commentlist">
{"".join(f'<li class="comment"><div class="comment-content"><p>{c}</p></div></li>' for c in COMMENTS)}</ol></div>
</div></body></html>"""

JAPANESE_TEXT = [
    "港は火曜日に閉鎖された。大きな船が古い石の桟橋に衝突したためだと、港の当局が明らかにした。",
    "けが人はいなかったが、桟橋の横に停泊していた二隻の漁船が壊れたと、沿岸警備隊は説明している。",
    "技術者が今週中に基礎を調べる予定で、それまでの間、連絡船は北の埠頭から出発することになる。",
]
JAPANESE = f"""<html><body><ul class="menu"><li><a href="/">ホーム</a></li><li><a href="/w">天気</a></li></ul>
<div class="article"><p>{"</p><p>".join(JAPANESE_TEXT)}</p></div>
<div class="footer"><a href="/about">会社案内</a></div></body></html>"""

EXAMPLES = [
    Example("modern", MODERN, HARBOUR, ["Weather", *TEASERS, "All rights reserved", "not text", "color"]),
    Example("tables", TABLES, HARBOUR, ["Weather", *TEASERS]),
    Example("blog with comments", BLOG, HARBOUR, ["Weather", *COMMENTS]),
    Example("japanese", JAPANESE, JAPANESE_TEXT, ["天気", "会社案内"]),
]
