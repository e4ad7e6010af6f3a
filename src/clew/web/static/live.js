// News from the server: parts of the page are fetched again when something changed, logs grow.

const FIELDS = "input, textarea";
const REACHED = "a[href], button, summary";

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
  document.addEventListener("pointerdown", (event) => {
    pressed = event.button === 0 && event.target.closest("[data-fresh]") !== null;
  }, true);
  document.addEventListener("keydown", (event) => {
    pressed = event.key === " " && event.target.closest("[data-fresh]") !== null;
  }, true);
  for (const name of ["pointerup", "pointercancel", "keyup"]) {
    document.addEventListener(name, () => { pressed = false; }, true);
  }
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
let isWhole = false;
let asked = 0;
let shown = 0;
let served = partsOf(document);
let pressed = false;

export function refresh(whole = false) {
  isWhole ||= whole === true;
  clearTimeout(waiting);
  waiting = setTimeout(fetchAnew, 60);
}

// The reader's script has changed this part: what the server says next is shown in any case.
export function touched(part) {
  served.delete(part.id);
}

function later(isInUse) {
  clearTimeout(waiting);
  waiting = setTimeout(() => isInUse() ? later(isInUse) : fetchAnew(), 1000);
}

// A click on something that is replaced before the button is let go would be no click.
function isHeld() {
  return pressed || document.body.classList.contains("dragging") || document.querySelector("dialog[open]") !== null;
}

function isWrittenIn(part) {
  return [...part.querySelectorAll(FIELDS)].some((field) =>
    field === document.activeElement || (field.type !== "hidden" && field.value !== field.defaultValue));
}

// The parts as the server gave them, without what the reader opened and the clock went on to.
function partsOf(page) {
  const parts = [...page.querySelectorAll("[data-fresh]")].map((part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("details[open]").forEach((element) => element.removeAttribute("open"));
    copy.querySelectorAll("time[data-since]").forEach((element) => element.replaceChildren());
    return [part.id, copy.innerHTML];
  });
  return new Map(parts);
}

async function fetchAnew() {
  if (isHeld()) {
    later(isHeld);
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
  if (isHeld()) {
    later(isHeld);
    return;
  }
  shown = number;
  show(new DOMParser().parseFromString(text, "text/html"));
}

function show(fresh) {
  const news = partsOf(fresh);
  const kept = [];
  const names = [...news.keys()].filter((name) => news.get(name) !== served.get(name));
  const giveBack = keepFocus();
  for (const name of isWhole ? [...names, "runs"] : names) {
    const mine = document.getElementById(name);
    const other = fresh.getElementById(name);
    if (mine && isWrittenIn(mine)) {
      kept.push(name);
      news.set(name, served.get(name));
    } else if (mine && other) {
      replace(mine, other);
    }
  }
  giveBack();
  isWhole = false;
  served = news;
  if (kept.length) {
    later(() => kept.some((name) => isWrittenIn(document.getElementById(name))));
  }
}

function replace(mine, other) {
  const open = [...mine.querySelectorAll("details[open][id]")].map((element) => element.id);
  mine.replaceWith(document.adoptNode(other));
  for (const id of open) {
    document.getElementById(id)?.setAttribute("open", "");
  }
}

// Gives the focus back once all parts are replaced: a card may have gone from one to another.
function keepFocus() {
  const focused = document.activeElement;
  const holder = focused.closest("[data-fresh] [id], [data-fresh]");
  const place = holder && [holder, ...holder.querySelectorAll(REACHED)].indexOf(focused);
  return () => {
    const now = holder && !focused.isConnected && document.getElementById(holder.id);
    if (now) {
      const all = [now, ...now.querySelectorAll(REACHED)];
      const same = [all[place], ...all].find((element) => element?.isEqualNode(focused));
      // Never another button: Enter would do what nobody asked for.
      (same ?? now.querySelector("a[href], summary"))?.focus();
    }
  };
}
