"use strict";
// Keys press what is on the page: an element with data-key is clicked, or focused if it is a field.
(() => {
  const off = () => localStorage.getItem("neardup-keys") === "off";
  const typing = (one) => one.closest("textarea, select, [contenteditable]")
    || one.matches("input:not([type=checkbox]):not([type=radio]):not([type=button]):not([type=submit])");
  const keyed = () => [...document.querySelectorAll("[data-key]")]
    .filter((one) => one.getClientRects().length && !one.disabled);
  const press = (one) => {
    if (one.matches("input:not([type=checkbox]):not([type=radio]), select, textarea, [data-focus]")) {
      one.focus();
      if (one.select) one.select();
    } else {
      one.click();
    }
  };

  const help = document.createElement("dialog");
  help.className = "keys";
  help.setAttribute("aria-labelledby", "keys-h");
  const names = { Enter: "↵", ArrowDown: "↓", ArrowUp: "↑", " ": "space" };
  const element = (name, text, parent) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };
  const fill = () => {
    help.replaceChildren();
    element("h2", "Keys", help).id = "keys-h";
    const list = element("dl", "", help), seen = new Set();
    for (const one of keyed()) {
      if (seen.has(one.dataset.key)) continue;
      seen.add(one.dataset.key);
      element("kbd", names[one.dataset.key] || one.dataset.key, element("dt", "", list));
      element("dd", one.dataset.help || one.textContent, list);
    }
    element("kbd", "?", element("dt", "", list));
    element("dd", "Show or close this list", list);
    const label = element("label", "", help);
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = !off();
    box.addEventListener("change", () => localStorage.setItem("neardup-keys", box.checked ? "on" : "off"));
    label.append(box, " Single keys press buttons");
    const close = element("button", "Close", help);
    close.type = "button";
    close.addEventListener("click", () => help.close());
  };
  const toggle = () => {
    if (help.open) { help.close(); return; }
    fill();
    if (!help.isConnected) document.body.append(help);
    help.showModal();
  };

  let leaving = false; // a key that repeats must not press the button of a page that is going away
  addEventListener("pageshow", () => { leaving = false; });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.key === "Escape" && typing(target)) { target.blur(); return; }
    if (typing(target)) return;
    if (event.key === "?") { event.preventDefault(); toggle(); return; }
    if (off() || help.open || leaving) return;
    const native = target.closest("a, button, summary, [role=button]");
    if (native && (event.key === "Enter" || event.key === " ")) return;
    const found = keyed().find((one) => one.dataset.key === event.key);
    if (!found) return;
    event.preventDefault();
    if (event.repeat && found.matches("button")) return;
    press(found);
  });
  addEventListener("submit", (event) => {
    if (leaving) event.preventDefault();
    else leaving = true;
  });
  const showHelp = () => {
    for (const one of document.querySelectorAll("[data-open-keys]")) one.hidden = false;
  };
  showHelp();
  addEventListener("neardup-page", showHelp);
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-open-keys]")) toggle();
  });
})();
