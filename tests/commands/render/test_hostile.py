"""Names, links and files that mean harm lead nowhere."""

from __future__ import annotations

import os

import pytest

from clew.commands.files.declarations import is_name
from clew.commands.files.disk import is_inside
from clew.commands.files.errors import CommandFailure, CommandNotFound, ExecutionFailure
from clew.commands.render.execute import Request, execute
from clew.commands.tools import redacted, within

BAD_NAMES = ["", "..", "../x", "a/b", "/etc", "a\0b", "-x", "_x", "a b", "a" * 65, "é", ".", "a.b"]


def run(project, *address, **given):
    request = Request(*address)
    request.base = str(project.root)
    for key, value in given.items():
        setattr(request, key, value)
    return execute(request, project.settings)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_no_names(project, name):
    assert not is_name(name)
    for place in range(3):
        address = ["git", "group-commit", "unstaged-changes"]
        address[place] = name
        with pytest.raises(CommandNotFound):
            run(project, *address)


@pytest.mark.parametrize("name", BAD_NAMES[1:])
@pytest.mark.parametrize("option", ["edition", "adaptation", "agent"])
def test_bad_variants_and_agents_are_refused(project, option, name):
    with pytest.raises(CommandFailure):
        run(project, "git", "group-commit", "unstaged-changes", **{option: name})


@pytest.mark.parametrize("level", ["prompts/git", "prompts/git/do", "prompts/git/do/it"])
def test_a_linked_directory_cannot_lead_out(project, tmp_path, level):
    outside = tmp_path / "outside"
    depth = level.count("/")
    inner = outside.joinpath(*["do", "it"][depth - 1 :]) if depth < 3 else outside
    inner.mkdir(parents=True)
    (inner / "f_default.md").write_text("secret", encoding="utf-8")
    link = project.root / ".agent/climpt" / level
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    with pytest.raises(ExecutionFailure, match="leads out of"):
        run(project, "git", "do", "it")


def test_a_linked_file_cannot_lead_out(project, tmp_path):
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    path = project.template("git/do/it", "x")
    path.unlink()
    path.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ExecutionFailure, match="leads out of"):
        run(project, "git", "do", "it")
    done = project.fails("git", "do", "it")
    assert "secret" not in done.replace("secret.txt", "")


def test_links_inside_the_prompt_directory_are_fine(project):
    project.template("git/do/it", "Body")
    link = project.root / ".agent/climpt/prompts/git/do/same"
    link.symlink_to("it")
    assert run(project, "git", "do", "same").prompt == "Body\n"


def test_a_pipe_in_the_place_of_a_template_makes_nobody_wait(project):
    path = project.template("git/do/it", "x")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CommandFailure):
        run(project, "git", "do", "it")
    assert project.fails("git", "do", "it", timeout=60)


def test_too_large_and_not_text(project):
    path = project.template("git/do/it", "x" * ((1 << 20) + 1))
    with pytest.raises(ExecutionFailure, match="Too large"):
        run(project, "git", "do", "it")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ExecutionFailure, match="Not UTF-8"):
        run(project, "git", "do", "it")


def test_a_file_outside_of_the_project_is_not_read_for_a_tool(project, tmp_path):
    (tmp_path / "other.txt").write_text("secret", encoding="utf-8")
    project.template("git/do/it", "{input_text}")
    for name in ("../other.txt", str(tmp_path / "other.txt")):
        with pytest.raises(ExecutionFailure, match="outside the project"):
            run(project, "git", "do", "it", file=name)


def test_being_inside_follows_links(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "ab").mkdir()
    (tmp_path / "a" / "out").symlink_to(tmp_path / "ab")
    assert is_inside(str(tmp_path / "a"), str(tmp_path / "a" / "x"))
    assert not is_inside(str(tmp_path / "a"), str(tmp_path / "ab"))
    assert not is_inside(str(tmp_path / "a"), str(tmp_path / "a" / "out" / "x"))


def test_secrets_do_not_reach_a_log():
    request = Request("a", "b", "c")
    request.variables = {"api-token": "hunter2", "target": "x"}
    assert redacted(request) == {"api-token": "[redacted]", "target": "x"}


def test_a_source_that_never_comes_is_a_failure_in_time():
    import threading

    never = threading.Event()
    with pytest.raises(ExecutionFailure, match="Timed out"):
        within(0.05, "a b c", never.wait)
    never.set()
    assert within(20, "a b c", lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(20, "a b c", lambda: 1 // 0)
