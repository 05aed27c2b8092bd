"""What assistive technology needs of a page, checked in the browser: names, labels, roles, headings, ids, focus.

The rules are those of WCAG 2.2 that a script can decide; colours are checked by CONTRAST of browsers.py.
"""

from __future__ import annotations

PROBLEMS = """
(() => {
  const found = [];
  const say = (rule, one) => found.push(rule + ": " + one.outerHTML.slice(0, 120));
  const all = (what) => [...document.querySelectorAll(what)];
  const shown = (one) => one.getClientRects().length > 0 && !one.closest("[aria-hidden=true]");
  const text = (one) => (one.textContent || "").trim();
  const named = (one) => {
    if ((one.getAttribute("aria-label") || "").trim()) return true;
    const by = (one.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
    if (by.length) return by.every((id) => document.getElementById(id) && text(document.getElementById(id)));
    if (one.labels && one.labels.length) return [...one.labels].some(text);
    if (one.matches("input, select, textarea")) return !!one.title;
    return !!text(one) || !!one.title;
  };
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title.trim()) found.push("the page has no title");
  if (all("h1").length !== 1) found.push("the page has " + all("h1").length + " h1");
  if (all("main").length !== 1) found.push("the page has no main part");
  let level = 0;
  for (const one of all("h1, h2, h3, h4, h5, h6").filter(shown)) {
    const own = Number(one.tagName[1]);
    if (own > level + 1 && level) say("a heading leaves a level out", one);
    if (!text(one)) say("a heading is empty", one);
    level = own;
  }
  const ids = all("[id]").map((one) => one.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push("an id is used twice: " + id);
  for (const one of all("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [tabindex]")) {
    if (!shown(one) || one.matches("main, .scroll:not([aria-label])")) continue;
    if (!named(one)) say("a control has no name", one);
    const size = one.getBoundingClientRect();
    if (one.matches("button, select, input:not([type=checkbox]):not([type=radio])") && size.height < 24 && size.width > 1)
      say("a control is less than 24 pixels high", one);
    if (one.tabIndex > 0) say("a control changes the order of focus", one);
  }
  for (const one of all("nav, aside, section, [role=region], [role=group], form[role=search], dialog")) {
    if (one.matches("nav, [role=region], [role=group], dialog") && !named(one)) say("a part of the page has no name", one);
  }
  for (const one of all("svg, img").filter(shown)) {
    if (!one.closest("[aria-hidden]") && !one.getAttribute("aria-label") && !one.getAttribute("alt")) say("a picture has no name", one);
  }
  for (const one of all("th:not([scope])")) say("a heading of a table has no scope", one);
  for (const one of all("label")) if (one.htmlFor && !document.getElementById(one.htmlFor)) say("a label has no field", one);
  for (const one of all("ul, ol")) for (const child of one.children) if (!child.matches("li, template, script")) say("a list has more than items", child);
  for (const one of all("dl")) for (const child of one.children) if (!child.matches("dt, dd, div")) say("a dl has something else", child);
  const roles = "alert status region group search button img dialog note tablist tab tabpanel list listitem radiogroup meter progressbar";
  for (const one of all("[role]")) if (!roles.split(" ").includes(one.getAttribute("role"))) say("a role is not known", one);
  for (const one of all("[aria-controls], [aria-describedby], [aria-labelledby]")) {
    for (const name of ["aria-controls", "aria-describedby", "aria-labelledby"]) {
      for (const id of (one.getAttribute(name) || "").split(" ").filter(Boolean)) if (!document.getElementById(id)) say(name + " names nothing", one);
    }
  }
  for (const one of all("button button, a a, a button, button a, label label")) say("a control is inside another", one);
  return found;
})()
"""
