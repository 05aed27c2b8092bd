"use strict";
// A file that is chosen fills the field that is sent; without scripts the table is pasted.
for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  input.hidden = false;
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    document.getElementById(input.dataset.into).value = await file.text();
    input.form.elements.name.value = file.name;
  });
}
