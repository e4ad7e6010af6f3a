"""The configuration: the project's `.chant/config.md` over the user's, checked key by key."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import Invalid, Unavailable
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import os_reason
from clew.kit.text.frontmatter import FrontmatterError
from clew.specs.files.parse import Identity, read_document, read_file
from clew.specs.model import Problem, words_of
from clew.specs.store.settings import ELEMENTS, KEYS, MERGED, USERS_OWN, WITHOUT_EFFECT, Setting

DEFAULT = "default"
_USER_FILE = "~/.config/chant/config.md"
_TRUTHS = {"true": True, "false": False}


class _File(NamedTuple):
    """One configuration file, read and checked."""

    shown: str
    fields: dict[str, Any]
    warnings: tuple[Problem, ...]


class Config:
    """The settings that hold, each with where it comes from."""

    def __init__(self, files: list[_File]) -> None:
        self._values: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self.warnings = tuple(warning for file in files for warning in file.warnings)
        for file in files:
            for section, value in file.fields.items():
                self._lay_over(section, value, file.shown)

    def _lay_over(self, section: str, value: Any, origin: str) -> None:
        if section in MERGED and isinstance(value, dict):
            self._values.setdefault(section, {}).update(value)
            self._origins.update({f"{section}.{key}": origin for key in value})
        elif value is not None:
            self._values[section] = value
            self._origins[section] = origin

    def keep_users_own(self, user: _File) -> None:
        """Let the keys that no project may decide be as the user's own file says, or unsaid."""
        for section, name in USERS_OWN:
            said, mine = self._values.get(section), user.fields.get(section)
            if not isinstance(said, dict):
                continue
            said = {key: value for key, value in said.items() if key != name}
            if isinstance(mine, dict) and name in mine:
                said[name] = mine[name]
                self._origins[f"{section}.{name}"] = user.shown
            self._values[section] = said

    def value(self, *path: str) -> Any:
        """What the files say, as texts, lists and maps; None where they say nothing."""
        found: Any = self._values
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def text(self, *path: str, default: str | None = None) -> str | None:
        """A text."""
        setting, value = _setting(path), self.value(*path)
        if isinstance(value, str) and _cause(setting, value) is None:
            return value
        return default if default is not None else _text_or_none(setting.default)

    def number(self, *path: str) -> int | float | None:
        """A number; a whole one where it is written so."""
        setting, value = _setting(path), self.value(*path)
        found = _as_number(value) if isinstance(value, str) else None
        usual = setting.default
        return found if found is not None else usual if isinstance(usual, int | float) else None

    def flag(self, *path: str) -> bool:
        """Yes or no."""
        value = self.value(*path)
        found = _TRUTHS.get(value.lower()) if isinstance(value, str) else None
        return bool(_setting(path).default) if found is None else found

    def words(self, *path: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of texts; an empty list that is written down counts."""
        value = self.value(*path)
        if isinstance(value, list | str):
            return words_of(value)
        usual = _setting(path).default
        return default if default is not None else usual if isinstance(usual, tuple) else ()

    def maps(self, *path: str) -> tuple[dict[str, Any], ...]:
        """A list of maps; what an element leaves out is filled in."""
        usual = {k: s.default for k, s in ELEMENTS.get(".".join(path), {}).items()}
        value = self.value(*path)
        elements = value if isinstance(value, list) else []
        return tuple(usual | element for element in elements if isinstance(element, dict))

    def origin(self, *path: str) -> str:
        """The file that a value comes from, or `default`."""
        if self.value(*path) is None:
            return DEFAULT
        return self._origins.get(".".join(path[:2])) or self._origins.get(path[0], DEFAULT)


def load_config(project: Path) -> Config:
    """The settings of a project: the user's, then the project's, then its `agents.md`."""
    paths = ProjectPaths(project)
    files = [_user_file(), _read(paths.config, paths.relative(paths.config))]
    agents = _read(paths.agents, paths.relative(paths.agents))
    section = agents.fields.get("parallel")
    if isinstance(section, dict) and isinstance(section.get("agents"), list):
        said = Config(files).value("parallel")
        parallel = (said if isinstance(said, dict) else {}) | {"agents": section["agents"]}
        files.append(agents._replace(fields={"parallel": parallel}))
    config = Config(files)
    config.keep_users_own(files[0])
    return config


def user_config() -> Config:
    """The user's own settings, which no project changes."""
    return Config([_user_file()])


def _user_file() -> _File:
    try:
        home = Path.home()
    except RuntimeError:
        return _File("", {}, ())
    return _read(home / ".config" / "chant" / "config.md", _USER_FILE)


_known_files: dict[Path, tuple[Identity, _File]] = {}


def _read(path: Path, shown: str) -> _File:
    """The file, or an empty one where it is missing; read again only when it changed."""
    try:
        raw, identity = read_file(str(path), now_ns=time.time_ns())
    except FileNotFoundError:
        return _File(shown, {}, ())
    except OSError as error:
        raise Unavailable(f"Failed to read config from {shown}: {os_reason(error)}") from error
    known = _known_files.get(path)
    if known is not None and identity.settled and known[0] == identity:
        return known[1]
    try:
        document = read_document(raw)
    except FrontmatterError as error:
        place = shown if error.line is None else f"{shown}:{error.line}"
        raise Invalid(f"{place}: {error.cause}", "Correct the file.") from None
    first_line = document.line_at(document.yaml_start)
    warnings = tuple(_warnings(document.fields, document.yaml, shown, first_line))
    file = _File(shown, document.fields, warnings)
    _known_files[path] = (identity, file)
    return file


def _warnings(fields: dict[str, Any], yaml: str, shown: str, first: int) -> Iterator[Problem]:
    from clew.kit.text.yaml_edit import key_lines

    found = list(_findings(fields, ()))
    if shown != _USER_FILE:
        found += [
            (
                (section, name),
                f"`{section}.{name}` has no effect here: it counts only in {_USER_FILE}",
            )
            for section, name in USERS_OWN
            if isinstance(fields.get(section), dict) and name in fields[section]
        ]
    lines = key_lines(yaml) if found else {}
    for path, cause in found:
        line = lines.get(path)
        yield Problem(shown, None if line is None else first + line, cause)


def _findings(
    fields: dict[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of keys that are unknown or have the wrong form, and what is wrong."""
    for key, value in fields.items():
        path = (*above, key)
        name = ".".join(path)
        setting = _find(path)
        if setting is not None:
            cause = _cause(setting, value)
            if cause is not None:
                yield path, f"`{name}` {cause}"
        elif name in WITHOUT_EFFECT:
            yield path, f"`{name}` has no effect: {WITHOUT_EFFECT[name]}"
        elif not _is_section(path):
            yield path, f"unknown key `{name}`{_suggestion(path)}"
        elif isinstance(value, dict):
            yield from _findings(value, path)
        elif value is not None:
            yield path, f"`{name}` must be a section with keys of its own"


def _setting(path: tuple[str, ...]) -> Setting:
    setting = _find(path)
    assert setting is not None, f"no such setting: {'.'.join(path)}"
    return setting


@cache
def _patterns() -> dict[int, list[tuple[tuple[str, ...], Setting]]]:
    by_length: dict[int, list[tuple[tuple[str, ...], Setting]]] = {}
    for name, setting in KEYS.items():
        parts = tuple(name.split("."))
        by_length.setdefault(len(parts), []).append((parts, setting))
    return by_length


def _find(path: tuple[str, ...]) -> Setting | None:
    for pattern, setting in _patterns().get(len(path), ()):
        if all(p in {"*", name} for p, name in zip(pattern, path, strict=True)):
            return setting
    return None


def _is_section(path: tuple[str, ...]) -> bool:
    for name in KEYS:
        parts = name.split(".")
        if len(parts) > len(path) and all(
            p in {"*", given} for p, given in zip(parts, path, strict=False)
        ):
            return True
    return False


def _suggestion(path: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    depth = len(path) - 1
    beside = {n.split(".")[depth] for n in KEYS if n.split(".")[:depth] == list(path[:depth])}
    near = get_close_matches(path[-1], sorted(beside), n=1, cutoff=0.75)
    return f"; did you mean `{near[0]}`?" if near else ""


def _cause(setting: Setting, value: Any) -> str | None:
    """What is wrong with a value, or None."""
    kind = setting.kind
    if value is None or kind == "any":
        return None
    if isinstance(kind, tuple):
        return None if value in kind else f"must be one of: {', '.join(kind)}"
    wrong = {
        "text": (not isinstance(value, str), "must be a text"),
        "number": (not isinstance(value, str) or _as_number(value) is None, "must be a number"),
        "flag": (str(value).lower() not in _TRUTHS, "must be true or false"),
        "words": (_is_no_list(value, str), "must be a list of texts"),
        "maps": (_is_no_list(value, dict), "must be a list of maps"),
    }
    return wrong[kind][1] if wrong[kind][0] else None


def _is_no_list(value: Any, kind: type) -> bool:
    if isinstance(value, str):
        return kind is not str
    return not isinstance(value, list) or not all(isinstance(item, kind) for item in value)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _as_number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
