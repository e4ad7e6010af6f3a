// What a page does by itself: times that go on, news from the server, drag and drop, comments.
// Without this file everything can still be read and done by forms.
// Nothing is loaded later: a page that is there is one whose keys and buttons work.
import { board } from "./board.js";
import { live } from "./live.js";
import { remarks } from "./remarks.js";

function elapsed(since) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function tick() {
  for (const time of document.querySelectorAll("time[data-since]")) {
    const text = elapsed(time.dataset.since);
    if (time.textContent !== text) {
      time.textContent = text;
    }
  }
}

// Keys: "/" goes to the search of the page.
document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input, textarea, select, dialog");
  if (inField || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const field = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (field) {
    event.preventDefault();
    field.focus();
    field.select?.();
  }
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) {
    event.preventDefault();
    return;
  }
  if (form.method === "post") {
    const pressed = event.submitter;
    setTimeout(() => { if (pressed) pressed.disabled = true; });
  }
});

for (const select of document.querySelectorAll(".filters select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

tick();
setInterval(tick, 1000);

const log = document.querySelector("[data-follow]");
if (log) {
  log.scrollTop = log.scrollHeight;
}
board();
remarks();
if (document.querySelector("[data-live]")) {
  live();
}
