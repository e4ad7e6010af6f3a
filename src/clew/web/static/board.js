// Cards move by dragging, or by the button of each card, which every keyboard and reader knows.
import { post, toast } from "./kit.js";
import { refresh, touched } from "./live.js";

export function board() {
  let dragged = null;

  document.addEventListener("dragstart", (event) => {
    const card = event.target.closest?.(".card[draggable]");
    if (!card) {
      return;
    }
    dragged = card;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.dataset.id);
    card.classList.add("dragged");
    document.body.classList.add("dragging");
    card.closest(".column").classList.add("from");
    for (const name of card.dataset.moves.split(" ")) {
      document.querySelector(`[data-column="${name}"]`)?.classList.add("may");
    }
  });

  document.addEventListener("dragover", (event) => {
    const column = event.target.closest?.(".column.may");
    for (const other of document.querySelectorAll(".column.over")) {
      other.classList.toggle("over", other === column);
    }
    if (column && dragged) {
      event.preventDefault();
      column.classList.add("over");
    }
  });

  document.addEventListener("drop", (event) => {
    const column = event.target.closest?.(".column.may");
    if (column && dragged) {
      event.preventDefault();
      move(dragged, column);
    }
  });

  document.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    document.body.classList.remove("dragging");
    for (const column of document.querySelectorAll(".column")) {
      column.classList.remove("may", "over", "from");
    }
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".card .move");
    if (button) {
      choose(button.closest(".card"));
    }
  });

  document.addEventListener("keydown", (event) => {
    const card = event.target.closest?.(".card");
    if (card && event.key === "m" && !event.ctrlKey && !event.metaKey) {
      choose(card);
    }
  });

  markNew();
}

function markNew() {
  const id = new URLSearchParams(location.search).get("new");
  const card = id && document.getElementById(`card-${id}`);
  card?.classList.add("new");
  card?.scrollIntoView({ block: "nearest" });
}

async function move(card, column) {
  const list = column.querySelector(".cards");
  const home = card.parentElement;
  const next = card.nextElementSibling;
  touched(column);
  touched(home.closest(".column"));
  list.prepend(card);
  try {
    const fields = { to: column.dataset.column, stamp: card.dataset.stamp };
    const done = await post(`/specs/${encodeURIComponent(card.dataset.id)}/move`, fields);
    toast(done.message);
  } catch (error) {
    home.insertBefore(card, next);
    toast(error.message, true);
  }
  refresh();
}

function choose(card) {
  const dialog = document.getElementById("move-dialog");
  const names = card.dataset.moves.split(" ").filter(Boolean);
  if (!dialog || !names.length) {
    return;
  }
  const buttons = names.map((name) => {
    const column = document.querySelector(`[data-column="${name}"]`);
    const button = document.createElement("button");
    button.className = "button";
    button.value = name;
    button.textContent = column.dataset.title;
    return button;
  });
  dialog.querySelector(".choices").replaceChildren(...buttons);
  dialog.querySelector("#move-title").textContent = `Move ${card.dataset.id} to`;
  dialog.returnValue = "";
  dialog.onclose = () => {
    const column = document.querySelector(`[data-column="${dialog.returnValue}"]`);
    if (dialog.returnValue && column) {
      move(card, column);
    }
  };
  dialog.showModal();
}
