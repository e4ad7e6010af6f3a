"""Plots as SVG, made here by pygal; their looks come from our own style sheet.

pygal writes styles and a script into every picture. Neither passes the page's security policy, so
both are taken out, and the classes that are left are styled with the page, in light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

_WIDTH, _HEIGHT = 720, 260
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_DROPPED = ("defs", "style", "script", "title", "desc")
_UNSAFE = ("style", "onclick", "onmouseover")


def bars(labels: Sequence[str], series: Mapping[str, Sequence[float]], *, words: str) -> Markup:
    """Upright bars; `words` say to those who cannot see it what it shows."""
    import pygal  # type: ignore[import-untyped]

    return _svg(pygal.Bar(**_settings(legend=len(series) > 1)), labels, series, words)


def lying_bars(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, words: str
) -> Markup:
    """Lying bars, the first on top: for names that are long."""
    import pygal

    height = 60 + 30 * len(labels)
    chart = pygal.HorizontalBar(**_settings(legend=len(series) > 1, height=height))
    turned = {name: list(values)[::-1] for name, values in series.items()}
    return _svg(chart, list(labels)[::-1], turned, words)


def _settings(*, legend: bool, height: int = _HEIGHT) -> dict[str, Any]:
    return {
        "width": _WIDTH,
        "height": height,
        "css": [],
        "js": [],
        "no_prefix": True,
        "show_legend": legend,
        "legend_at_bottom": True,
        "disable_xml_declaration": True,
        "margin": 8,
        "spacing": 6,
        "x_labels_major_count": 8,
        "show_minor_x_labels": False,
        "order_min": 0,
        "min_scale": 3,
        "max_scale": 6,
        "truncate_label": 40,
        "print_values": False,
        "value_formatter": lambda value: f"{value:g}",
    }


def _svg(
    chart: Any, labels: Sequence[str], series: Mapping[str, Sequence[float]], words: str
) -> Markup:
    from xml.etree import ElementTree as ET

    if len(labels) <= 12:
        chart.show_minor_x_labels = True
        chart.x_labels_major_count = None
    chart.x_labels = list(labels)
    for name, values in series.items():
        chart.add(name, list(values))
    tree = chart.render_tree()
    _clean(tree)
    tree.attrib.pop("id", None)
    tree.set("role", "img")
    tree.set("aria-label", words)
    return Markup(ET.tostring(tree, encoding="unicode"))  # noqa: S704 - built as a tree, escaped


def _clean(node: Any) -> None:
    """Without scripts, styles and comments, in place; values become tips of their bars."""
    tip = _tip(node)
    for child in list(node):
        name = child.tag.removeprefix(_NAMESPACE) if isinstance(child.tag, str) else ""
        if not name or name in _DROPPED:
            node.remove(child)
        else:
            _clean(child)
    for name in list(node.attrib):
        if name in _UNSAFE or name.startswith("on"):
            del node.attrib[name]
    if tip:
        node.insert(0, node.makeelement("title", {}))
        node[0].text = tip


def _tip(node: Any) -> str:
    """What pygal says about one bar or dot, in words."""
    said = {child.get("class"): child.text or "" for child in node if child.tag == "desc"}
    parts = (said.get("x_label", ""), said.get("value", ""))
    return ": ".join(part for part in parts if part)
