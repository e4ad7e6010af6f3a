"""Documents: the vision, the architecture, the decisions, and what their checks say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clew.kit.errors import ClewError, NotFound
from clew.web.site import page, site_of

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.advisors.documents.model import Document, Finding


@dataclass(frozen=True)
class Paper:
    """One document of the project, read."""

    path: str
    kind: str
    title: str
    status: str
    document: Document
    number: int | None = None
    text: str = ""


def browse(request: Request) -> Response:
    """Every document, with how many findings its checks have."""
    papers = read_papers(site_of(request).root)
    checked = [(paper, _findings(paper, papers)) for paper in papers]
    return page(request, "documents.html", here="documents", papers=checked)


def show(request: Request) -> Response:
    """One document, its items and its checks."""
    site = site_of(request)
    wanted = request.path_params["path"]
    papers = read_papers(site.root)
    paper = next((paper for paper in papers if paper.path == wanted), None)
    if paper is None:
        raise NotFound(f"No such document: {wanted}", "The list of documents has them all.")
    return page(
        request,
        "document.html",
        here="documents",
        paper=paper,
        text=_without_title(paper.text),
        findings=_findings(paper, papers),
        specs=_specs_from(request, paper),
    )


def read_papers(root: Path) -> list[Paper]:
    """The vision, the architecture and the decision records of a project."""
    from clew.advisors.documents.files import read_text
    from clew.thread.why.documents import read_documents

    known = read_documents(root)
    found = [
        Paper(
            one.path,
            kind,
            one.document.title,
            one.document.metadata.get("status", ""),
            one.document,
        )
        for kind, documents in (("vision", known.vision), ("architecture", known.architecture))
        for one in documents
    ]
    found += [
        Paper(one.path, "adr", one.title, one.status, one.document, one.number)
        for one in known.decisions
    ]
    return [replace(one, text=read_text(root / one.path) or "") for one in found]


def _findings(paper: Paper, papers: list[Paper]) -> list[Finding]:
    from clew.advisors.checks.document import check_document

    others = tuple(other.document for other in papers if other is not paper)
    return list(check_document(paper.document, context=others))


def _specs_from(request: Request, paper: Paper) -> dict[str, list[Any]]:
    """The specs that name an item of this document as where they come from."""
    try:
        heads = site_of(request).specs().heads(archived=True)
    except ClewError:
        return {}
    names = {item.id for section in paper.document.sections for item in section.items}
    found: dict[str, list[Any]] = {}
    for head in heads:
        for origin in (*head.origin, *head.informed_by):
            item = origin.rpartition("#")[2]
            if origin.partition("#")[0] == paper.path or item in names:
                found.setdefault(item if item in names else "", []).append(head)
    return found


def _without_title(text: str) -> str:
    """The text below its front matter and its first heading, which the page itself shows."""
    if text.startswith("---\n"):
        text = text.partition("\n---\n")[2] or text
    first, _, rest = text.lstrip("\n").partition("\n")
    return rest if first.startswith("# ") else text
