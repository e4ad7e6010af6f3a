"""Every tool of the history room, each declared beside its handler."""

from __future__ import annotations

from clew.history.tools.commits import COMMIT_TOOLS
from clew.history.tools.questions import QUESTION_TOOLS
from clew.history.tools.search import SEARCH_TOOLS

HISTORY_TOOLS = (*SEARCH_TOOLS, *QUESTION_TOOLS, *COMMIT_TOOLS)
