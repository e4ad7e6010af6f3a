"""Every key that a configuration may have: its kind and what holds without it.

A kind is `text`, `number`, `flag`, `words` (a list of texts), `maps` (a list of maps), `any`, or the
words that are allowed. `*` stands for names that people choose.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Setting(NamedTuple):
    """One key's kind and default."""

    kind: str | tuple[str, ...]
    default: str | float | bool | tuple[str, ...] | None = None


_TEXT = Setting("text")
_WORDS = Setting("words", ())
_ON, _OFF = Setting("flag", default=True), Setting("flag", default=False)

PROVIDERS: Final = (
    "claude", "codex", "opencode", "gemini", "copilot", "qwen", "cursor-agent", "aider",
    "ollama", "openai", "kirocli", "command",
)  # fmt: skip
SANDBOXES: Final = ("off", "worktree", "strict")
# Sections that other programs have in these files, and what does their work here.
WITHOUT_EFFECT: Final = {"site": "`clew web --export DIR` writes a site"}
KEYS: Final[dict[str, Setting]] = {
    "project.name": Setting("text", ""),
    "project.prefix": _TEXT,
    "project.silent": _OFF,
    "defaults.prompt": Setting("text", "standard"),
    "defaults.branch_prefix": Setting("text", "chant/"),
    "defaults.model": _TEXT,
    "defaults.split_model": _TEXT,
    "defaults.main_branch": Setting("text", "main"),
    "defaults.provider": Setting(PROVIDERS),
    "defaults.command": _WORDS,  # the program of provider `command`, word by word
    "defaults.rotation_strategy": Setting(("none", "random", "round_robin", "round-robin"), "none"),
    "defaults.prompt_extensions": _WORDS,
    "work.permission": Setting(("read", "edit", "full"), "edit"),
    "work.base": _TEXT,
    "work.wall_minutes": Setting("number", 240),
    "work.idle_minutes": Setting("number", 30),
    "work.cost_usd": Setting("number"),
    "work.prices.*.input": Setting("number"),  # dollars for a million tokens of a model
    "work.prices.*.output": Setting("number"),
    "work.prices.*.cached": Setting("number"),
    "work.check_seconds": Setting("number", 600),
    "work.allow_no_criteria": _OFF,
    "work.on_failure": Setting(("stop", "skip", "retry")),
    "work.trust_checks": _OFF,
    "work.sandbox": Setting(SANDBOXES),
    "work.sandboxes.*": Setting(SANDBOXES),
    "work.sandbox_read": _WORDS,
    "work.sandbox_write": _WORDS,
    "work.sandbox_hosts": _WORDS,  # what a strict one may reach
    "worktree.setup": _WORDS,
    "worktree.teardown": _WORDS,
    "worktree.sparse": _WORDS,
    "worktree.command_seconds": Setting("number", 600),
    "merge.checks": _WORDS,  # command lines that must pass before the main branch moves
    "merge.check_seconds": Setting("number", 900),
    "merge.strategy": Setting(("merge", "rebase"), "merge"),
    "parallel.agents": Setting("maps"),
    "parallel.stagger_delay_ms": Setting("number", 1000),
    "parallel.stagger_jitter_ms": Setting("number", 200),
    "repos": Setting("maps"),
    "providers": Setting("any"),
    "enterprise.derived.*.from": Setting(("branch", "path", "env", "git_user")),
    "enterprise.derived.*.pattern": _TEXT,
    "enterprise.derived.*.validate.type": Setting(("enum",)),
    "enterprise.derived.*.validate.values": _WORDS,
    "enterprise.required": _WORDS,
    "approval.rejection_action": Setting(("manual", "dependency", "group"), "manual"),
    "approval.require_approval_for_agent_work": _OFF,
    "validation.strict_output_validation": _OFF,
    "lint.thresholds.complexity_criteria": Setting("number", 10),
    "lint.thresholds.complexity_files": Setting("number", 5),
    "lint.thresholds.complexity_words": Setting("number", 150),
    "lint.thresholds.simple_criteria": Setting("number", 1),
    "lint.thresholds.simple_files": Setting("number", 1),
    "lint.thresholds.simple_words": Setting("number", 3),
    "lint.disable": Setting("words", ("complexity_words",)),
    "watch.poll_interval_ms": Setting("number", 5000),
    "watch.idle_timeout_minutes": Setting("number", 5),
    "watch.merge": _ON,
    "watch.cleanup": _ON,
    "watch.failure.max_retries": Setting("number", 3),
    "watch.failure.retry_delay_ms": Setting("number", 60000),
    "watch.failure.backoff_multiplier": Setting("number", 2.0),
    "watch.failure.retryable_patterns": _WORDS,
    "watch.failure.on_permanent_failure": Setting(("skip", "stop"), "skip"),
}

# What one element of a list of maps may have.
ELEMENTS: Final[dict[str, dict[str, Setting]]] = {
    "parallel.agents": {
        "name": Setting("text", "main"),
        "command": Setting("text", "claude"),
        "max_concurrent": Setting("number", 2),
        "weight": Setting("number", 1),
    },
    "repos": {"name": _TEXT, "path": _TEXT},
}

# These merge key by key; any other section of the project replaces the user's whole section.
MERGED: Final = frozenset({"project", "defaults"})

# What no project may decide; in its files these keys have no effect.
USERS_OWN: Final = (
    ("work", "trust_checks"),
    *(("work", f"sandbox{end}") for end in ("", "es", "_read", "_write", "_hosts")),
)
