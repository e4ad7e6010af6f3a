"""The configuration: defaults, merging, origins, warnings."""

from __future__ import annotations

import pytest

from clew.kit.errors import Invalid
from clew.specs.store.config import load_config
from clew.specs.store.settings import KEYS
from tests.specs.making import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def user_config(home, yaml):
    path = home / ".config" / "chant" / "config.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{yaml}\n---\n# Notes\n", encoding="utf-8")


def test_without_files_the_documented_defaults_hold(project):
    config = project.settings
    assert config.text("project", "name") == ""
    assert config.text("defaults", "prompt") == "standard"
    assert config.text("defaults", "branch_prefix") == "chant/"
    assert config.text("defaults", "model") is None
    assert config.text("defaults", "rotation_strategy") == "none"
    assert config.number("lint", "thresholds", "complexity_criteria") == 10
    assert config.number("watch", "failure", "backoff_multiplier") == 2.0
    assert config.words("lint", "disable") == ("complexity_words",)
    assert config.words("enterprise", "required") == ()
    assert config.flag("watch", "merge") is True
    assert config.flag("project", "silent") is False
    assert config.maps("parallel", "agents") == ()
    assert config.origin("defaults", "prompt") == "default"
    assert config.warnings == ()


def test_values_are_typed(project):
    project.config(
        "project:\n  name: Demo\n  silent: true\n"
        "lint:\n  thresholds:\n    complexity_files: 9\n    simple_words: 2.5\n  disable: []\n"
        "enterprise:\n  required: [team]\n  derived:\n    team:\n      from: branch\n"
        "      pattern: 'x/(.*)'\n      validate: {type: enum, values: [a, b]}\n"
        "repos:\n- name: other\n  path: ../other\n"
    )
    config = project.settings
    assert config.warnings == ()
    assert config.text("project", "name") == "Demo"
    assert config.flag("project", "silent") is True
    assert config.number("lint", "thresholds", "complexity_files") == 9
    assert config.number("lint", "thresholds", "simple_words") == 2.5
    assert config.words("lint", "disable") == ()
    assert config.text("enterprise", "derived", "team", "from") == "branch"
    assert config.words("enterprise", "derived", "team", "validate", "values") == ("a", "b")
    assert config.maps("repos") == ({"name": "other", "path": "../other"},)
    assert config.origin("project", "name") == ".chant/config.md"


def test_project_and_defaults_merge_by_key_and_other_sections_as_a_whole(project, private_home):
    user_config(
        private_home,
        "defaults:\n  model: opus\n  prompt: mine\nlint:\n  thresholds:\n    complexity_files: 7\n"
        "watch:\n  poll_interval_ms: 1",
    )
    project.config("defaults:\n  prompt: standard\nlint:\n  disable: [complexity]")
    config = project.settings
    assert config.text("defaults", "model") == "opus"
    assert config.text("defaults", "prompt") == "standard"
    assert config.number("lint", "thresholds", "complexity_files") == 5
    assert config.number("watch", "poll_interval_ms") == 1
    assert config.origin("defaults", "model") == "~/.config/chant/config.md"
    assert config.origin("defaults", "prompt") == ".chant/config.md"
    assert config.origin("watch", "poll_interval_ms") == "~/.config/chant/config.md"


def test_some_keys_are_the_users_alone(project, private_home):
    user_config(private_home, "work:\n  sandbox: worktree\n  base: mine")
    project.config("work:\n  sandbox: off\n  trust_checks: true\n  permission: read")
    config = project.settings
    assert config.text("work", "sandbox") == "worktree"
    assert config.origin("work", "sandbox") == "~/.config/chant/config.md"
    assert config.flag("work", "trust_checks") is False
    assert config.text("work", "permission") == "read"
    assert config.text("work", "base") is None
    assert len(config.warnings) == 2


def test_agents_come_from_their_own_file_and_nothing_else_does(project):
    project.config("parallel:\n  stagger_delay_ms: 5\n  agents:\n  - name: a")
    agents = project.root / ".chant" / "agents.md"
    agents.write_text(
        "---\nparallel:\n  agents:\n  - name: b\n    weight: 3\nproject:\n  name: no\n---\n"
    )
    config = project.settings
    (agent,) = config.maps("parallel", "agents")
    assert agent == {"name": "b", "command": "claude", "max_concurrent": 2, "weight": "3"}
    assert config.number("parallel", "stagger_delay_ms") == 5
    assert config.text("project", "name") == ""


def test_unknown_keys_and_wrong_values_are_named_with_their_line(project):
    project.config(
        "# comment\nlint:\n  treshholds:\n    x: 1\n  thresholds:\n    complexity_files: many\n"
        "defaults:\n  provider: abacus\n  prompt: [a]\nproject: demo\nsilent: true\nwatch:\n  failure: [x]\n"
        "parallel:\n  agents: x\nsite:\n  title: Specs"
    )
    config = project.settings
    found = {warning.cause: warning.line for warning in config.warnings}
    assert found == {
        "unknown key `lint.treshholds`; did you mean `thresholds`?": 4,
        "`lint.thresholds.complexity_files` must be a number": 7,
        "`defaults.provider` must be one of: claude, codex, opencode, gemini, copilot, qwen, "
        "cursor-agent, aider, ollama, openai, kirocli, command": 9,
        "`defaults.prompt` must be a text": 10,
        "`project` must be a section with keys of its own": 11,
        "unknown key `silent`": 12,
        "`watch.failure` must be a section with keys of its own": 14,
        "`parallel.agents` must be a list of maps": 16,
        "`site` has no effect: `clew web --export DIR` writes a site": 17,
    }
    assert {warning.path for warning in config.warnings} == {".chant/config.md"}
    assert config.number("lint", "thresholds", "complexity_files") == 5
    assert config.text("defaults", "provider") is None
    assert config.text("defaults", "prompt") == "standard"
    assert config.number("watch", "failure", "max_retries") == 3
    assert config.text("project", "name") == ""


def test_a_broken_file_is_an_error_with_its_line(project):
    project.config("project:\n  name: a\n name: b")
    with pytest.raises(Invalid, match=r"^\.chant/config\.md:\d: the frontmatter is not valid"):
        load_config(project.root)


def test_a_changed_file_is_read_again(project):
    for number in range(30):
        project.config(f"project:\n  name: n{number:02}")
        assert project.settings.text("project", "name") == f"n{number:02}"


def test_every_default_can_be_asked_for(project):
    config = project.settings
    for name, setting in KEYS.items():
        path = name.replace("*", "x").split(".")
        if setting.kind == "number":
            assert config.number(*path) == setting.default
        elif setting.kind == "flag":
            assert config.flag(*path) == setting.default
        elif setting.kind == "words":
            assert config.words(*path) == setting.default
        elif setting.kind not in {"maps", "any"}:
            assert config.text(*path) == setting.default
