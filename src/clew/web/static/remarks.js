// A comment on a line of a diff: the form of its file, put below that line.

export function remarks() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".remark-here");
    if (button) {
      place(button);
    }
  });
}

function place(button) {
  const box = document.getElementById(`remark-${button.dataset.file}`);
  const form = box.querySelector("form");
  form.elements.line.value = button.dataset.line;
  form.elements.side.value = button.dataset.side;
  const row = document.createElement("tr");
  row.className = "remark";
  const cell = row.insertCell();
  cell.colSpan = 3;
  const old = box.closest("tr.remark");
  cell.append(box);
  old?.remove();
  button.closest("tr").after(row);
  box.open = true;
  form.elements.text.focus();
}
