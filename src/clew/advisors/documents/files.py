"""Where documents are in a project, and how they get there: inside it, whole, and never blindly."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from clew.advisors.documents import adr
from clew.advisors.documents.templates import Kind
from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.kit.files import write_atomic
from clew.kit.project import clew_home, find_project, followed
from clew.kit.text.display import clipped, os_reason, shown_text

DIRECTORY = "CLEW_DOCS"
DEFAULT_DIRECTORY: Final = "docs"
LARGEST_FILE: Final = 2_000_000
INDEX: Final = "README.md"
_BESIDE: Final = "-clew"


def project_of(settings: Mapping[str, str], explicit: str | None = None) -> Path | None:
    """The project that a call is about; None where there is none and none was named."""
    try:
        return find_project(explicit, settings)
    except NotFound:
        if explicit or settings.get("project"):
            raise
        return None


def lock_file(project: Path | None, conversation_id: str = "") -> Path:
    """What is held while documents are written: the project's lock, else the conversation's."""
    what = f"project {project}" if project else f"conversation {conversation_id}"
    name = hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return clew_home() / "locks" / f"advisors-{name}.lock"


def documents_directory(project: Path) -> Path:
    """Where a project's documents are: `docs`, or what `CLEW_DOCS` names."""
    named = os.environ.get(DIRECTORY, "").strip() or DEFAULT_DIRECTORY
    if "\0" in named or named.startswith(("/", "~")):
        raise Invalid(
            f"{DIRECTORY} is not a directory in the project: {clipped(shown_text(named))}",
            "Use a path from the project's root, for example docs/design.",
        )
    return confined(project, project / named)


def confined(project: Path, path: Path) -> Path:
    """The path, if it is in the project when all links are followed."""
    root, target = project.resolve(), path.resolve()
    if not target.is_relative_to(root) or ".git" in target.relative_to(root).parts:
        raise Invalid(
            f"Nothing is written outside of the project: {clipped(shown_text(str(path)))}",
            "Use a path in the project that does not link elsewhere.",
        )
    return target


def place_of(project: Path, kind: Kind) -> Path:
    """The file of a vision or an architecture."""
    return confined(project, documents_directory(project) / f"{kind}.md")


def beside(path: Path) -> Path:
    """Where a document goes when its place is taken by a file that Clew did not write."""
    return path.with_name(f"{path.stem}{_BESIDE}{path.suffix}")


def records_directory(project: Path) -> Path:
    """The directory of decision records: the project's own, or `adr` among its documents."""
    known = adr.find_directory(project)
    return confined(project, known or documents_directory(project) / "adr")


def records_place(project: Path) -> str:
    """How links in a project's documents reach its records."""
    place = os.path.relpath(records_directory(project), documents_directory(project))
    return place.replace(os.sep, "/")


def shown(project: Path, path: Path) -> str:
    """The path from the project's root."""
    return path.relative_to(project.resolve()).as_posix()


def read_text(path: Path) -> str | None:
    """The file's text; None if there is no file."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise Invalid(f"{path.name} is not a regular file", "Move it away.")
        if found.st_size > LARGEST_FILE:
            raise Invalid(f"{path.name} is larger than 2 MB", "Move it away, or make it shorter.")
        return Path(followed(path)).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Invalid(f"{path.name} is not UTF-8 text", "Save it as UTF-8.") from None
    except OSError as error:
        raise Unavailable(f"A document cannot be read: {os_reason(error)}") from error


def write_text(project: Path, path: Path, text: str) -> None:
    """Replace a document in one step."""
    try:
        write_atomic(confined(project, path), text)
    except OSError as error:
        raise Unavailable(
            f"A document cannot be written: {os_reason(error)}", "Make its directory writable."
        ) from error


def write_index(project: Path) -> None:
    """Update the list of decision records; hand-written text around it is kept."""
    directory = adr.read_directory(records_directory(project))
    index = directory.path / INDEX
    text = read_text(index)
    if text is None:
        write_text(project, index, adr.index_text(directory.files))
    elif adr.INDEX_START in text:
        write_text(project, index, adr.index_into(text, directory.files))
