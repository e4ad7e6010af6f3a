"""Markdown from specs and documents as HTML that can do no harm.

The text is somebody's: an agent's, or a repository's. HTML in it is shown as text, images become
links (nothing is loaded from elsewhere), and what is left passes an allow-list.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

MOST_CHARACTERS = 1_000_000
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def safe_html(text: str) -> Markup:
    """The text as HTML for a page; a text that is much too long is cut."""
    return Markup(_clean(_parser().render(text[:MOST_CHARACTERS])))  # noqa: S704 - cleaned


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.options["maxNesting"] = 40
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return parser


def _image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """A link to the image, with its words; nothing is loaded unasked."""
    from html import escape

    token = tokens[index]
    words = self.renderInlineAsText(token.children or [], options, env) or "image"
    return f'<a href="{escape(str(token.attrGet("src") or ""))}">{escape(words)}</a>'


def _heading(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Headings below the first level: the page itself has that one."""
    token: Any = tokens[index]
    level = max(int(token.tag[1]), 2)
    return f"</h{level}>\n" if token.nesting < 0 else f"<h{level}>"
