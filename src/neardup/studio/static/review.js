"use strict";
// Marks of a cluster stay while its documents are looked at; a page that waits loads again.
const startReview = () => {
  const work = document.querySelector(".work");
  if (work) {
    const key = "neardup-marks:" + work.dataset.cluster;
    const boxes = [...work.querySelectorAll("input[name=marked]")];
    let marked = new Set(JSON.parse(sessionStorage.getItem(key) || "[]"));
    for (const box of boxes) {
      box.checked = marked.has(box.value);
      box.addEventListener("change", () => {
        if (box.checked) marked.add(box.value);
        else marked.delete(box.value);
        sessionStorage.setItem(key, JSON.stringify([...marked]));
        show();
      });
    }
    const split = work.querySelector("button[value=split]");
    const label = split && split.firstChild;
    const show = () => { if (label) label.textContent = marked.size ? `Split off ${marked.size} marked ` : "Split off marked "; };
    show();
    // Marked documents of other parts of a large cluster go with the form.
    work.addEventListener("submit", (event) => {
      if (event.submitter && event.submitter.value === "split") {
        const here = new Set(boxes.map((box) => box.value));
        for (const name of marked) {
          if (here.has(name)) continue;
          const field = document.createElement("input");
          field.type = "hidden";
          field.name = "marked";
          field.value = name;
          work.append(field);
        }
      }
      if (event.submitter && event.submitter.value !== "undo") sessionStorage.removeItem(key);
    });
    const chosen = work.querySelector("tr.selected");
    const list = work.querySelector(".scroll"); // not scrollIntoView, which moves where the Tab key begins
    if (chosen && list) list.scrollTop = chosen.offsetTop - list.clientHeight / 2;
  }
  const waits = document.querySelector("[data-reload]");
  if (waits) setTimeout(() => location.reload(), Number(waits.dataset.reload));
};
startReview();

// Another cluster, document or pair takes the place of this one without a new page: a key is answered in a moment.
// Whatever is not a page of ours, or does not arrive, is loaded as usual.
(() => {
  let latest = 0;
  const swap = async (where) => {
    const own = ++latest;
    try {
      const answer = await fetch(where, { headers: { accept: "text/html" } });
      const text = await answer.text();
      if (own !== latest) return; // a later key has been pressed
      const found = new DOMParser().parseFromString(text, "text/html");
      const main = found.querySelector("main .review") && found.querySelector("main");
      if (!answer.ok || answer.redirected || !main) throw new Error("not a page of the review");
      document.querySelector("main").replaceWith(document.adoptNode(main));
      document.title = found.title;
      history.pushState(null, "", where);
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
      startReview();
      dispatchEvent(new Event("neardup-page"));
    } catch {
      location.assign(where);
    }
  };
  document.addEventListener("click", (event) => {
    const one = event.target instanceof Element && event.target.closest(".review a[href]");
    if (!one || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (one.origin !== location.origin || one.pathname !== location.pathname || one.hash) return;
    event.preventDefault();
    swap(one.href);
  });
  addEventListener("popstate", () => location.reload());
})();
