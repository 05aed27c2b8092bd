"use strict";
// A slider that says how many recorded removals and pairs reach a higher threshold.
for (const box of document.querySelectorAll(".slider")) {
  const input = box.querySelector("input");
  const counts = (name) => box.dataset[name].split(",").map(Number);
  const series = { removals: counts("removals"), pairs: counts("pairs") };
  const cut = document.querySelector(".cut");
  const show = () => {
    const at = Number(input.value);
    for (const [name, values] of Object.entries(series)) {
      box.querySelector("." + name).textContent = values[at].toLocaleString("en");
    }
    const threshold = Number(input.min) === at ? Number(box.dataset.threshold) : at / Number(box.dataset.bins);
    const words = String(Number(threshold.toFixed(3)));
    box.querySelector("output").textContent = words;
    input.setAttribute("aria-valuetext", words);
    if (cut) {
      const { low, high, left, right } = cut.dataset;
      const x = Number(left) + ((right - left) * (threshold - low)) / (high - low);
      cut.setAttribute("x1", x);
      cut.setAttribute("x2", x);
    }
  };
  input.addEventListener("input", show);
  box.hidden = false;
  show();
}
// Paper has no way to open a pair.
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});
