"""Documents: the vision, the architecture, the decisions, and what their checks say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

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
    text: str
    number: int | None = None


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
    from clew.advisors.documents import adr, files
    from clew.advisors.documents.document import parse

    found = []
    for kind in ("vision", "architecture"):
        place = files.place_of(root, kind)
        for path in (place, files.beside(place)):
            text = files.read_text(path)
            if text is not None:
                document = parse(text, kind)
                status = document.metadata.get("status", "")
                name = files.shown(root, path)
                found.append(Paper(name, kind, document.title, status, document, text))
    directory = files.records_directory(root)
    for record in adr.read_directory(directory).files if directory.is_dir() else ():
        place = files.confined(root, directory / record.path.name)
        text = files.read_text(place) or ""
        title, status = adr.plain_title(record.document), adr.status_of(record.document)
        name = files.shown(root, place)
        found.append(Paper(name, "adr", title, status, record.document, text, record.number))
    return found


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


ROUTES = [
    Route("/documents", browse),
    Route("/documents/{path:path}", show),
]
