"""The index kept current by the questions themselves: read in at the first, brought along by later ones.

Nothing is fetched and no model is asked here: only what git has on this machine is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from clew.history.model import Repo
from clew.history.reader import reading_store
from clew.history.store.engines import create_index, index_address, is_remote
from clew.history.store.interface import HistoryStore
from clew.history.sync.freshness import commits_behind, freshness
from clew.kit.call import Call
from clew.kit.errors import ClewError
from clew.kit.git import git_line, guard
from clew.kit.project import find_repository
from clew.kit.text.display import os_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.history.sync.sync import Progress

# Shows how far reading is: of which repository, how many commits there are, whether for the first time.
Meter = Callable[[str, int, bool], "AbstractContextManager[Progress | None]"]
_Asked = tuple[Repo, bool]

_MOST_NAMESAKES = 1000


@contextmanager
def _unseen(_name: str, _total: int, _first: bool) -> Iterator[None]:  # noqa: FBT001 - a Meter
    yield None


def own_repo(store: HistoryStore, root: Path) -> Repo | None:
    """The registered repository at a place."""
    place = root.resolve()
    return next((repo for repo in store.repos() if Path(repo.local_path).resolve() == place), None)


def keep_current(
    settings: Mapping[str, str],
    named: Collection[str] | None = None,
    *,
    every: bool = False,
    adds: bool = True,
    meter: Meter = _unseen,
) -> list[str]:
    """Bring the index up to date with the repository that the caller is in, with named ones, or all.

    With `adds`, the caller's own is added if it is not indexed yet. What could not be done is told:
    the question can still be answered from what is there.
    """
    if is_remote(index_address(settings)):  # its workers keep it
        return []
    try:
        root = find_repository(settings)
        asked = _asked(settings, named, root, every=every)
        if adds and named is None and root is not None and not _is_among(asked, root):
            asked += [_added(settings, root)] if _head(root, "HEAD") else []
        return _read_in(settings, asked, meter) if asked else []
    except ClewError as error:
        return [error.message]
    except OSError as error:
        return [os_reason(error)]


def _asked(
    settings: Mapping[str, str], named: Collection[str] | None, root: Path | None, *, every: bool
) -> list[_Asked]:
    """The registered repositories in question, and which of them have news."""
    if not Path(index_address(settings)).exists():
        return []
    store = reading_store(Call(settings=settings))
    if every or named is not None:
        repos = [repo for repo in store.repos() if every or repo.name in (named or ())]
    else:
        own = None if root is None else own_repo(store, root)
        repos = [own] if own else []
    return [(repo, _is_stale(store, repo)) for repo in repos]


def _is_among(asked: list[_Asked], root: Path) -> bool:
    return any(Path(repo.local_path).resolve() == root.resolve() for repo, _ in asked)


def _is_stale(store: HistoryStore, repo: Repo) -> bool:
    """Whether there is more to read: not where the last try ended here with an error."""
    state = freshness(store, [repo])["stale"]
    ref, last = repo.default_branch or "HEAD", store.state(repo.repo_id)
    if state is False or (state and last.error is None):
        return bool(state)
    head = _head(Path(repo.local_path), ref)
    return bool(head) and head not in (store.tips(repo.repo_id).get(ref), last.sha)


def _head(root: Path, ref: str) -> str:
    """The commit of a ref as git tells it, where its files do not; nothing where there is none."""
    asked = ("rev-parse", "--verify", "--quiet", f"{guard(ref)}^{{commit}}")
    return git_line(root, *asked, check=False) if root.is_dir() else ""


def _added(settings: Mapping[str, str], root: Path) -> _Asked:
    """The repository, registered under a name that is free."""
    from clew.history.sync.repositories import plain_name, register

    with closing(create_index(index_address(settings))) as store, store.locked():
        known = own_repo(store, root)  # another process may have been first
        if known is None:
            taken = {repo.name for repo in store.repos()}
            name = plain_name(root)
            later = (f"{name}-{number}" for number in range(2, _MOST_NAMESAKES))
            known = register(store, root, name=next(n for n in (name, *later) if n not in taken))
        return known, True


def _read_in(settings: Mapping[str, str], asked: list[_Asked], meter: Meter) -> list[str]:
    stale = [repo for repo, has_news in asked if has_news]
    if not stale:
        return []
    from clew.history.sync.sync import bring_up_to_date

    problems = []
    with closing(create_index(index_address(settings))) as store:
        for repo in stale:
            is_first = not store.tips(repo.repo_id)
            with meter(repo.name, commits_behind(store, repo) or 0, is_first) as progress:
                try:
                    bring_up_to_date(store, repo, progress, local=True, may_skip=not is_first)
                except ClewError as error:
                    problems.append(f"{repo.name}: {error.message}")
    return problems
