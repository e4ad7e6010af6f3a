// News from the server: parts of the page are fetched again when something changed, logs grow.

const BUSY = "input, textarea, select";

export function live() {
  const place = document.querySelector("[data-live]");
  const start = new URL(place.dataset.live, location.href);
  let source = null;
  let offset = start.searchParams.get("offset");

  function open() {
    if (source || document.hidden) {
      return;
    }
    const address = new URL(start);
    if (offset !== null) {
      address.searchParams.set("offset", offset);
    }
    source = new EventSource(address);
    source.addEventListener("hello", () => {
      document.documentElement.dataset.connected = "yes";
      refresh(); // what changed since the page was made, or while the connection was lost
    });
    source.addEventListener("changed", refresh);
    source.addEventListener("lines", (event) => showLines(JSON.parse(event.data).lines));
    source.addEventListener("log", (event) => {
      const news = JSON.parse(event.data);
      offset = String(news.offset);
      grow(news.text);
    });
    source.addEventListener("error", () => {
      // A lost connection is opened anew from where the log ended, not from where it began.
      close();
      setTimeout(open, 2000);
    });
  }

  function close() {
    source?.close();
    source = null;
    document.documentElement.dataset.connected = "no";
  }

  // A browser opens few connections to one host: pages that nobody looks at give theirs back.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
    } else {
      refresh();
      open();
    }
  });
  window.addEventListener("pagehide", close);
  open();
}

function showLines(lines) {
  for (const [id, text] of Object.entries(lines)) {
    const place = document.querySelector(`[data-log="${CSS.escape(id)}"]`);
    if (place) {
      place.textContent = text;
    }
  }
}

function grow(text) {
  const log = document.getElementById("log");
  if (!log) {
    refresh(true);
    return;
  }
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(text);
  if (atEnd) {
    log.scrollTop = log.scrollHeight;
  }
}

let waiting = null;
let asked = 0;
let shown = 0;

export function refresh(whole = false) {
  clearTimeout(waiting);
  waiting = setTimeout(() => fetchAnew(whole === true), 60);
}

async function fetchAnew(whole) {
  const busy = document.activeElement?.matches(BUSY) && document.activeElement.closest("[data-fresh]");
  if (document.body.classList.contains("dragging") || busy || document.querySelector("dialog[open]")) {
    waiting = setTimeout(() => fetchAnew(whole), 1000);
    return;
  }
  const number = ++asked;
  let answer, text;
  try {
    answer = await fetch(location.href, { headers: { "Accept": "text/html" } });
    text = await answer.text();
  } catch {
    return; // the server is gone; the next connection asks again
  }
  // Answers may overtake each other: an older one than what is shown would stay.
  if (!answer.ok || number < shown) {
    return;
  }
  shown = number;
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const parts = whole ? ["#runs"] : [...document.querySelectorAll("[data-fresh]")].map((e) => `#${e.id}`);
  for (const name of parts) {
    const mine = document.querySelector(name);
    const other = fresh.querySelector(name);
    if (mine && other && mine.innerHTML !== other.innerHTML) {
      replace(mine, other);
    }
  }
  document.dispatchEvent(new Event("clew:fresh"));
}

function replace(mine, other) {
  const focused = mine.contains(document.activeElement) ? document.activeElement : null;
  const card = focused?.closest("[id]")?.id;
  const open = [...mine.querySelectorAll("details[open][id]")].map((element) => element.id);
  mine.replaceWith(document.adoptNode(other));
  for (const id of open) {
    document.getElementById(id)?.setAttribute("open", "");
  }
  if (card) {
    document.getElementById(card)?.querySelector("a, button")?.focus();
  }
}
