// What several scripts use: a word to the reader, and a change sent to the server.

const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

export function toast(text, isBad = false) {
  const place = document.getElementById("toasts");
  const box = document.createElement("div");
  box.className = isBad ? "toast bad" : "toast";
  box.textContent = text;
  place.append(box);
  setTimeout(() => box.remove(), isBad ? 9000 : 4000);
}

export async function post(address, fields) {
  const answer = await fetch(address, {
    method: "POST",
    headers: {
      "Accept": "application/json",
      "Content-Type": "application/x-www-form-urlencoded",
      "X-Clew-CSRF": csrf,
    },
    body: new URLSearchParams(fields),
  });
  const kind = answer.headers.get("content-type") ?? "";
  const data = kind.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) {
    throw new Error([data.error, data.hint].filter(Boolean).join("\n"));
  }
  return data;
}
