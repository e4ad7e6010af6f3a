"""What a page does wrong for people who use a keyboard, a screen reader, or weak eyes.

The rules are those of the usual checkers that count as serious; every finding names its element.
"""

from __future__ import annotations

RULES = r"""
() => {
  const found = [];
  const say = (rule, element, more = "") => {
    const text = element.outerHTML.slice(0, 140).replace(/\s+/g, " ");
    found.push(`${rule}: ${text} ${more}`.trim());
  };
  const isShown = (element) => {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
      && box.width > 0 && box.height > 0 && !element.closest("[aria-hidden=true]");
  };
  const byIds = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id));
  const nameOf = (element) => {
    const named = element.getAttribute("aria-labelledby");
    if (named) return byIds(named).map((one) => one?.textContent ?? "").join(" ").trim();
    const label = element.getAttribute("aria-label");
    if (label) return label.trim();
    if (element.labels?.length) return [...element.labels].map((one) => one.textContent).join(" ").trim();
    if (element.matches("input, select, textarea")) return element.title;
    const images = [...element.querySelectorAll("img")].map((one) => one.alt).join(" ");
    return (element.textContent + images).trim() || element.title;
  };

  if (!document.documentElement.lang) found.push("html has no lang");
  if (!document.title.trim()) found.push("no title");
  if (document.querySelectorAll("main").length !== 1) found.push("not one main landmark");
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  for (const nav of document.querySelectorAll("nav, aside")) if (!nameOf(nav)) say("landmark without name", nav);

  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) say("heading level skipped", heading);
    if (!heading.textContent.trim()) say("empty heading", heading);
    level = now;
  }
  const seen = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (seen.has(element.id)) say("id twice", element);
    seen.add(element.id);
  }
  for (const attribute of ["aria-labelledby", "aria-controls", "aria-describedby", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      if (byIds(element.getAttribute(attribute)).includes(null)) say(`${attribute} names nothing`, element);
    }
  }
  for (const element of document.querySelectorAll("a[href], button, summary, [role=button], [role=link]")) {
    if (!nameOf(element)) say("no name", element);
    if (element.matches("a[href]") && element.querySelector("a, button")) say("nested control", element);
  }
  for (const element of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!nameOf(element)) say("field without label", element);
  }
  for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) say("no alt", image);
  for (const image of document.querySelectorAll("svg[role]")) if (!nameOf(image)) say("svg without name", image);
  for (const element of document.querySelectorAll("[tabindex]")) {
    if (Number(element.getAttribute("tabindex")) > 0) say("positive tabindex", element);
  }
  for (const list of document.querySelectorAll("ul, ol")) {
    if ([...list.children].some((one) => !one.matches("li"))) say("list holds more than items", list);
  }
  for (const table of document.querySelectorAll("table.plain, table.diff:not(.snippet)")) {
    if (!table.querySelector("th")) say("table without headings", table);
  }
  for (const element of document.querySelectorAll("main *, header *")) {
    const style = getComputedStyle(element);
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY)
      && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1);
    if (scrolls && isShown(element) && element.tabIndex < 0 && !element.querySelector("a[href], button, input")) {
      say("scrolls, but no key reaches it", element);
    }
  }

  const parts = (colour) => {
    const numbers = colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    const scale = colour.startsWith("color(") ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parts(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isShown(element) || element.closest(".unseen, .skip, option, title")) continue;
    const style = getComputedStyle(element);
    const below = ground(element);
    const colour = over(parts(element.closest("svg") ? style.fill : style.color), below);
    const [bright, dark] = [light(colour), light(below)].sort((a, b) => b - a);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) say("contrast", element, ratio.toFixed(2));
  }
  return found;
}
"""


def findings(page):
    """Everything that is wrong with the page as it is shown now."""
    return page.evaluate(RULES)
