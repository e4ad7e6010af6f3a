"""Where a team's repositories come from: a file, or the list of a forge."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.clones import check_url, name_of_url, shown_url
from clew.history.sync.repositories import check_name
from clew.kit.errors import Invalid, Unavailable

Named = tuple[str, str]  # name and address
# By forge: its usual address, the path of an owner's list, and the keys of name and address.
_FORGES = {
    "github": ("https://api.github.com", "orgs/{}/repos", "full_name", "clone_url"),
    "gitlab": (
        "https://gitlab.com/api/v4",
        "groups/{}/projects",
        "path_with_namespace",
        "http_url_to_repo",
    ),
    "gitea": ("https://gitea.com/api/v1", "orgs/{}/repos", "full_name", "clone_url"),
}
_PAGE = 50
_MOST_PAGES = 400
_SECONDS = 30
_LARGEST = 32 * 1024 * 1024


def text_in(file: Path) -> str:
    """The text of a file that the user named."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}", "Name a text file.") from error


def named_in_file(file: Path) -> list[Named]:
    """The repositories of a file: an address on each line, after a name or alone."""
    found = []
    for number, line in enumerate(text_in(file).splitlines(), start=1):
        words = line.partition("#")[0].split() if line.lstrip().startswith("#") else line.split()
        if not words:
            continue
        if len(words) > 2:
            raise Invalid(f"{file}, line {number}: expected [NAME] ADDRESS", "One for each line.")
        url = check_url(words[-1])
        found.append((check_name(words[0] if len(words) == 2 else name_of_url(url)), url))
    return found


def named_by_forge(forge: str, owner: str, base: str | None = None) -> list[Named]:
    """The repositories of an organisation or group, as its forge lists them."""
    usual, path, name_key, url_key = _FORGES[forge]
    start = f"{(base or usual).rstrip('/')}/{path.format(quote(owner, safe=''))}"
    if urlsplit(start).scheme not in ("http", "https"):
        raise Invalid(f"Not the address of a forge: {start}", "Begin with https://.")
    try:
        return [(check_name(one[name_key]), check_url(one[url_key])) for one in _entries(start)]
    except (KeyError, TypeError, AttributeError) as error:
        raise Unavailable(
            f"The forge lists something else than repositories: {error}",
            "See that --forge names its kind.",
        ) from error


def _entries(start: str) -> Iterator[dict[str, str]]:
    for page in range(1, _MOST_PAGES + 1):
        part = _asked(f"{start}?per_page={_PAGE}&limit={_PAGE}&page={page}")
        yield from part
        if len(part) < _PAGE:
            return


def _asked(url: str) -> list[dict[str, str]]:
    headers = {"Accept": "application/json", "User-Agent": "clew"}
    token = os.environ.get("CLEW_FORGE_TOKEN")
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - its scheme is checked
        if token:  # which must not follow an answer to another place
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            found = json.loads(answer.read(_LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise Unavailable(f"The forge does not answer: {error}", "Try again later.") from error
    if not isinstance(found, list):
        raise Unavailable("The forge answered with no list", "See that the owner is right.")
    return found


def register_all(store: HistoryStore, named: list[Named]) -> tuple[int, int]:
    """Register these repositories; how many are new, and how many have another address now."""
    known = {repo.name: repo for repo in store.repos()}
    added = changed = 0
    for name, url in named:
        own = known.get(name)
        if own is None:
            known[name] = store.add_repo(
                Repo(0, name, local_path="", remote_url=shown_url(url), managed_clone=True)
            )
            added += 1
        elif own.remote_url != shown_url(url):
            store.update_repo(replace(own, remote_url=shown_url(url)))
            changed += 1
    return added, changed
