"""Texts that try to be more than text: every one must come out of a page as text and nothing else."""

from __future__ import annotations

TAGS = """
<script>alert(1)</script>
<SCRIPT SRC=//evil.example/x.js></SCRIPT>
<scr<script>ipt>alert(1)</scr</script>ipt>
<script>alert(1)//
</script><script>alert(1)</script>
</style><script>alert(1)</script>
</title><script>alert(1)</script>
</textarea><script>alert(1)</script>
</noscript><script>alert(1)</script>
</div></section></main></body></html><script>alert(1)</script>
--><script>alert(1)</script>
<!--><script>alert(1)</script>
<!--<img src="--><img src=x onerror=alert(1)//">
]]><script>alert(1)</script>
<![CDATA[<script>alert(1)</script>]]>
<?xml version="1.0"?><script>alert(1)</script>
<?php echo '<script>alert(1)</script>'; ?>
<img src=x onerror=alert(1)>
<img src="x" onerror="alert(1)"
<img/src=x/onerror=alert(1)>
<img src=x:alert(1) onerror=eval(src)>
<IMG SRC="jav	ascript:alert(1)">
<img srcset="x 1x" onload=alert(1)>
<body onload=alert(1)>
<body background="javascript:alert(1)">
<input autofocus onfocus=alert(1)>
<select autofocus onfocus=alert(1)>
<textarea autofocus onfocus=alert(1)>
<keygen autofocus onfocus=alert(1)>
<video><source onerror=alert(1)></video>
<video poster=javascript:alert(1)//></video>
<audio src=x onerror=alert(1)>
<details open ontoggle=alert(1)>
<marquee onstart=alert(1)>x</marquee>
<div onpointerover="alert(1)">x</div>
<div style="background:url(javascript:alert(1))">x</div>
<div style="width:expression(alert(1))">x</div>
<p style="position:fixed;inset:0;background:red">x</p>
<style>body{display:none}</style>
<style>@import 'http://evil.example/x.css';</style>
<style>*{background:url(http://evil.example/x)}</style>
<link rel=stylesheet href=http://evil.example/x.css>
<link rel=import href=http://evil.example/x.html>
<link rel=prefetch href=http://evil.example/>
<meta http-equiv=refresh content="0;url=http://evil.example/">
<meta http-equiv=Content-Security-Policy content="script-src *">
<base href=http://evil.example/>
<base target=_blank>
<iframe src=javascript:alert(1)></iframe>
<iframe srcdoc="<script>alert(1)</script>"></iframe>
<frame src=javascript:alert(1)>
<frameset onload=alert(1)>
<object data=javascript:alert(1)></object>
<object data="data:text/html,<script>alert(1)</script>"></object>
<embed src=javascript:alert(1)>
<applet code=javascript:alert(1)>
<form action=javascript:alert(1)><button>go</button></form>
<button formaction=javascript:alert(1)>x</button>
<isindex action=javascript:alert(1) type=image>
<a href=javascript:alert(1)>x</a>
<a href="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">x</a>
<a href="vbscript:msgbox(1)">x</a>
<a href="http://evil.example/" target=_blank>x</a>
<math><mi xlink:href="javascript:alert(1)">x</mi></math>
<math href="javascript:alert(1)">x</math>
<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>
<template><script>alert(1)</script></template>
<xmp><script>alert(1)</script></xmp>
<plaintext>everything after is text
<listing><script>alert(1)</script></listing>
<noembed><script>alert(1)</script></noembed>
<table background=javascript:alert(1)><tr><td>x</td></tr></table>
<dialog open>x</dialog>
<portal src=http://evil.example/></portal>
<bdo dir=rtl>reversed</bdo>
<mark class=t0 data-n=1>not a passage</mark>
<bdi>not a name</bdi>
<title>another title</title>
<h1>another heading</h1>
<custom-element onclick=alert(1)>x</custom-element>
<x onclick=alert(1)>x</x>
< script>alert(1)</ script>
<\u0000script>alert(1)</script>
\\u003cscript\\u003ealert(1)\\u003c/script\\u003e
""".strip().splitlines()
SVG = """
<svg onload=alert(1)>
<svg><script>alert(1)</script></svg>
<svg><script xlink:href=data:,alert(1)></script></svg>
<svg><animate onbegin=alert(1) attributeName=x dur=1s>
<svg><set attributeName=onmouseover to=alert(1)>
<svg><a xlink:href="javascript:alert(1)"><text y=20>x</text></a></svg>
<svg><foreignObject><iframe src=javascript:alert(1)></iframe></foreignObject></svg>
<svg><use href="data:image/svg+xml,<svg onload='alert(1)'/>"></svg>
<svg><image href=x onerror=alert(1)></svg>
<svg><title><script>alert(1)</script></title></svg>
</svg><script>alert(1)</script>
</title></circle></svg><img src=x onerror=alert(1)>
""".strip().splitlines()
ATTRIBUTES = """
" onmouseover="alert(1)
' onmouseover='alert(1)
` onmouseover=`alert(1)
"><img src=x onerror=alert(1)>
'><img src=x onerror=alert(1)>
" autofocus onfocus="alert(1)
" style="position:fixed;inset:0
x" class="warning
javascript:alert(1)
{{constructor.constructor('alert(1)')()}}
${alert(1)}
#{alert(1)}
<%= alert(1) %>
%3Cscript%3Ealert(1)%3C/script%3E
{0} {title} {style} {script} %s %(x)s
""".strip().splitlines()
ENTITIES = """
&lt;script&gt;alert(1)&lt;/script&gt;
&#60;script&#62;alert(1)&#60;/script&#62;
&#x3c;script&#x3e;alert(1)&#x3c;/script&#x3e;
&amp;lt;b&amp;gt;
&notin; &copy &nbsp; &zwnj; &Tab; &NewLine;
&#0; &#x0; &#128; &#xD800; &#x110000; &#xFFFF;
& &a &; &# &#x ;
""".strip().splitlines()
FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://evil.example","x")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "'=1",
]
CONTROLS = [
    "\x00", "a\x00b", "\x00<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H",
    "\x9b31m",
    "\x08\x08\x08", "\x7f", "\x0c<b>", "\x0b", "\x1f\x1e\x1d", "\r\rover", "\x85next", "\ufffe\uffff", "\ud800",
    "\udfff<b>",
    "\ud83d", "\ufeffbom", "\u2028<script>\u2029", "\u200b<\u200bscript>",
]  # fmt: skip
DIRECTIONS = [
    "\u202ereversed", "\u202aleft\u202c", "\u2066isolate", "\u2067<b>", "\u2069\u2069", "\u200frtl", "\u061cmark",
    "אבג <b> \u202d",
]  # fmt: skip
LONG = [
    "w" * 50_000,
    "<b>" * 5_000,
    "&" * 20_000,
    "a\u0301" * 5_000,
    "\n" * 3_000,
    "Z\u0335\u0321\u0322" * 2_000,
    '"' * 20_000,
]

DOCUMENTS = [*TAGS, *SVG, *ATTRIBUTES, *ENTITIES, *FORMULAS, *CONTROLS, *DIRECTIONS, *LONG]
