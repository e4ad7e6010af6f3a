"""Announcing added, removed and changed commands to clients, by polling the files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from clew.commands.registry.registry import known_agents, shelf
from clew.kit.errors import ClewError

Announce = Callable[[str, str | None], None]


PAUSE_SECONDS = 1.0
_SHARE = 20  # polling may use a twentieth of the time


class Watcher:
    """Polls the registries of all agents in a thread of its own."""

    def __init__(self, settings: Mapping[str, str], announce: Announce) -> None:
        self._settings = settings
        self._announce = announce
        self._seen: dict[str, object] = {}
        self._seen = self._look()

    def start(self) -> None:
        """Poll for as long as the process lives."""
        threading.Thread(target=self._run, daemon=True, name="clew-commands").start()

    def _run(self) -> None:
        while True:
            started = time.monotonic()
            self.look_once()
            time.sleep(max(PAUSE_SECONDS, _SHARE * (time.monotonic() - started)))

    def look_once(self) -> bool:
        """Poll once, announce changes, and return whether there were any."""
        found = self._look()
        if found == self._seen:
            return False
        self._seen = found
        self._announce("prompts", None)
        self._announce("resources", None)
        return True

    def _look(self) -> dict[str, object]:
        found: dict[str, object] = {}
        try:
            for agent in known_agents(self._settings):
                found[agent] = shelf(agent, self._settings).registry(fresh=True).commands
        except (ClewError, OSError):  # a project that is gone for a moment
            return self._seen
        return found
