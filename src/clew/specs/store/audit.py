"""The audit trail: one line for every change, never rewritten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from clew.kit.errors import Unavailable
from clew.kit.files import itself, open_regular
from clew.kit.jsontext import JsonError, dumps_bytes, loads_bytes
from clew.kit.locks import locked
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import os_reason
from clew.kit.times import utc_now

_LONGEST_VALUE = 500


def record(paths: ProjectPaths, spec_id: str, event: str, actor: str, **details: Any) -> None:
    """Add one line: when, who, which tool, what was done to which spec."""
    paths.make_store()
    with locked(paths.lock_file("-audit")), open(paths.audit, "ab+", opener=itself) as trail:
        now = utc_now(milliseconds=True)
        entry = {"at": now, "by": own_name(), "tool": actor, "spec": spec_id, "event": event}
        entry.update({key: value for key, value in details.items() if value is not None})
        line = dumps_bytes(entry) + b"\n"
        if _is_torn(trail.fileno()):
            line = b"\n" + line
        trail.write(line)


def entries(paths: ProjectPaths, spec_id: str | None = None) -> Iterator[dict[str, Any]]:
    """The lines, the oldest first; what is not a line (torn by a crash) is ignored."""
    try:
        trail = open(open_regular(paths.audit), "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        return
    except OSError as error:
        reason = os_reason(error)
        raise Unavailable(f"The audit trail cannot be read: {reason}", "Move it away.") from error
    with trail:
        for line in trail:
            try:
                entry = loads_bytes(line)
            except JsonError:
                continue
            if isinstance(entry, dict) and spec_id in {None, entry.get("spec")}:
                yield entry


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[Any]]:
    """Each field that is different, as what it was and what it is; long values are cut."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return {name: [_cut(old.get(name)), _cut(new.get(name))] for name in names}


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else dumps_bytes(value).decode()
    return value if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def own_name() -> str:
    """Who this is, as the system knows."""
    return os.environ.get("LOGNAME") or os.environ.get("USER") or user_name(str(os.getuid()))


def user_name(text: str) -> str:
    """The name of the user with this number; anything else as it is."""
    import pwd

    try:
        return pwd.getpwuid(int(text)).pw_name
    except (ValueError, KeyError, OverflowError):
        return text


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
