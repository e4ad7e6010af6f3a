"""What every page knows: the project, its stores, and how an answer is made of a template."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from clew.kit.call import SEES
from clew.kit.errors import ClewError
from clew.kit.text.display import shown_text
from clew.kit.times import parse_iso
from clew.web.security import CSRF_FIELD, Keys, Visitor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.history.store.interface import HistoryStore
    from clew.kit.paths import ProjectPaths
    from clew.specs.store.store import SpecStore
    from clew.team.operations.board import TeamBoard
    from clew.work.workspace import Workspace

ACTOR = "web"
PAGES = (
    ("board", "/", "Board"),
    ("thread", "/thread", "Thread"),
    ("history", "/history", "History"),
    ("documents", "/documents", "Documents"),
    ("commands", "/commands", "Commands"),
    ("pulse", "/pulse", "Pulse"),
    ("fleet", "/fleet", "Fleet"),
)
_OF_PROJECT = {"board", "thread", "documents"}
STATE_WORDS = {
    "ready": "Ready",
    "pending": "Pending",
    "blocked": "Blocked",
    "in_progress": "In progress",
    "paused": "Paused",
    "needs_attention": "Needs attention",
    "failed": "Failed",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "leased": "At work",
    "lost": "Worker silent",
}
_AGES = ((60, "s"), (3600, "min"), (86400, "h"), (86400 * 60, "d"), (86400 * 730, "mo"))
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "mo": 86400 * 30, "y": 86400 * 365}


class NotAllowed(ClewError):
    """Something that the visitor's groups do not include."""


@dataclass(frozen=True)
class Site:
    """One project as the board shows it."""

    root: Path
    keys: Keys = field(default_factory=Keys)
    settings: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    is_export: bool = False
    team: TeamBoard | None = None
    visitor: Visitor = field(default_factory=lambda: Visitor(""))

    @property
    def name(self) -> str:
        """What the project is called: its directory."""
        if not self.shows_project():
            return "Clew"
        return shown_text(self.root.name) or str(self.root)

    def shows_project(self, scope: str = "read") -> bool:
        """Whether the visitor may look at the project itself, or do that much there."""
        if self.team is None or self.visitor.sees is None:
            return True
        return self.team.project is not None and self.visitor.may(scope, self.team.project)

    def shows_machine(self) -> bool:
        """Whether the visitor may look at what else is on this machine."""
        return not self.is_export and self.visitor.may("admin")

    def specs(self) -> SpecStore:
        """The project's specs."""
        from clew.specs.store.store import open_store

        return open_store(project=str(self.root))

    def work(self) -> ProjectPaths:
        """Where the project's runs are."""
        from clew.kit.paths import ProjectPaths

        return ProjectPaths(self.root)

    def workspace(self) -> Workspace:
        """The project at work, for one request; whoever asks closes it."""
        from clew.daemons import WIRING
        from clew.work.workspace import Workspace

        return Workspace(self.root, WIRING, self.specs())

    def history(self) -> HistoryStore:
        """The index of commits, for reading."""
        from clew.history.reader import reading_store
        from clew.kit.call import Call

        return reading_store(Call(settings=self.settings))

    def own_repo(self, store: HistoryStore) -> str:
        """The name of the project's repository in the index; empty where it is not there."""
        from clew.history.upkeep import own_repo

        if self.team is not None:
            named = self.team.project
            return named if named in {repo.name for repo in store.repos()} else ""
        own = own_repo(store, self.root)
        return own.name if own else ""


def site_of(request: Request) -> Site:
    """The site that a request is about, as far as its visitor may see it."""
    found = request.app.state.site
    assert isinstance(found, Site)
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    if visitor is None:
        return found
    narrowed = {} if visitor.sees is None else {SEES: visitor.sees}
    return replace(found, visitor=visitor, settings={**found.settings, **narrowed})


def form_of(request: Request) -> dict[str, str]:
    """The fields of the form that came with a change."""
    form: dict[str, str] = request.state.form
    return form


def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page."""
    return HTMLResponse(render(request, template, **values), status)


def render(request: Request, template: str, /, **values: Any) -> str:
    """A template filled in with what all of them use, and these values."""
    site = site_of(request)
    common = {
        "site": site,
        "nav": _nav(site),
        "csrf_field": CSRF_FIELD,
        "csrf": site.visitor.csrf,
        "can_write": not site.read_only and site.shows_project("write"),
        "notice": request.query_params.get("notice", ""),
        "path": request.url.path,
    }
    environment: Environment = request.app.state.environment
    return environment.get_template(template).render({**common, **values})


def _nav(site: Site) -> list[tuple[str, str, str]]:
    """The pages that this visitor has."""
    hidden = set() if site.shows_project() else _OF_PROJECT
    hidden = hidden if site.shows_machine() or site.is_export else {*hidden, "commands"}
    hidden = hidden if site.team is not None else {*hidden, "fleet"}
    return [one for one in PAGES if one[0] not in hidden]


def back_to(path: str, notice: str = "", **query: str) -> Response:
    """After a change: to a page, which says what was done."""
    wanted = {**query, **({"notice": notice} if notice else {})}
    return RedirectResponse(path + (f"?{urlencode(wanted)}" if wanted else ""), 303)


def wants_data(request: Request) -> bool:
    """Whether a script asks, which needs no page."""
    return request.headers.get("accept", "").startswith("application/json")


def build_environment() -> Environment:
    """The templates, where everything is escaped unless it was made safe."""
    from clew.web.markdown import safe_html

    environment = Environment(
        loader=PackageLoader("clew.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "state": state_word,
        "ago": ago,
        "day": day,
        "moment": moment_text,
        "markdown": safe_html,
        "path": path_part,
        "shown": shown_text,
    }
    environment.globals |= {"url": url, "asset": asset}
    return environment


def state_word(name: str) -> str:
    """A status as people read it."""
    return STATE_WORDS.get(name, name.replace("_", " ").capitalize())


def url(path: str, /, **query: object) -> str:
    """An address of this site; what is empty is left out of the query."""
    pairs = [(name, str(value)) for name, value in query.items() if value not in (None, "")]
    return path + (f"?{urlencode(pairs)}" if pairs else "")


def path_part(text: str) -> str:
    """A text as one part of an address."""
    return quote(text, safe="")


def asset(name: str) -> str:
    """The address of a static file; new content has a new address."""
    return f"/static/{name}?v={_asset_versions()[name]}"


@cache
def _asset_versions() -> dict[str, str]:
    import hashlib

    return {
        entry.name: hashlib.sha256(entry.read_bytes()).hexdigest()[:10]
        for entry in files("clew.web").joinpath("static").iterdir()
        if entry.is_file()
    }


def seconds_of(value: float | str | None) -> float | None:
    """A moment in seconds: given so, or as the texts of specs and journals have it."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        return parse_iso(value).timestamp()
    except ValueError:
        return None


def span(seconds: float | None) -> str:
    """A length of time in its largest fitting unit."""
    if seconds is None:
        return ""
    for most, unit in _AGES:
        if seconds < most:
            return f"{int(seconds // _UNITS[unit])} {unit}"
    return f"{int(seconds // _UNITS['y'])} y"


def ago(value: float | str | None) -> str:
    """How long ago a moment was."""
    seconds = seconds_of(value)
    if seconds is None:
        return ""
    passed = time.time() - seconds
    return "just now" if passed < 45 else f"{span(passed)} ago"


def day(value: float | str | None) -> str:
    """The day of a moment."""
    return _local_time(value, "%Y-%m-%d")


def moment_text(value: float | str | None) -> str:
    """A moment to the minute, in the server's time."""
    return _local_time(value, "%Y-%m-%d %H:%M")


def _local_time(value: float | str | None, form: str) -> str:
    seconds = seconds_of(value)
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone().strftime(form)
    except (OverflowError, ValueError, OSError):
        return ""
