"""Every reader; a new one is a module and a row here."""

from __future__ import annotations

from clew.sessions.readers.aider import AiderReader
from clew.sessions.readers.claude import ClaudeReader
from clew.sessions.readers.codex import CodexReader
from clew.sessions.readers.copilot import CopilotReader
from clew.sessions.readers.cursor import CursorReader
from clew.sessions.readers.gemini import GeminiReader
from clew.sessions.readers.interface import Reader
from clew.sessions.readers.opencode import OpencodeReader
from clew.sessions.readers.qwen import QwenReader

READERS: tuple[type[Reader], ...] = (
    ClaudeReader,
    CodexReader,
    OpencodeReader,
    GeminiReader,
    CopilotReader,
    QwenReader,
    AiderReader,
    CursorReader,
)
