"""What makes commands comfortable: questions, the clipboard, receivers, repairs, counts."""

import os
import pty
import subprocess
import time
from contextlib import suppress

import pytest

from clew.commands.registry.usage import uses
from tests.advisors.fake_model import running_model
from tests.commands.project import HOME
from tests.support.client import BIN


def on_a_terminal(project, *words, typed):
    """What a program prints on a terminal where somebody types."""
    mine, theirs = pty.openpty()
    child = subprocess.Popen(
        [str(BIN / "climpt"), *words],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=project.root,
    )
    os.close(theirs)
    os.write(mine, typed)
    out, _ = child.communicate(timeout=60)
    asked = b"".join(_all_of(mine)).decode()
    os.close(mine)
    return child.returncode, out.decode(), asked


def _all_of(terminal):
    """What was shown, piece by piece; Linux tells the end of it by an error."""
    with suppress(OSError):
        while piece := os.read(terminal, 65536):
            yield piece


def test_a_terminal_is_asked_for_what_is_missing(project):
    project.template(
        "docs/write/page", "Write {uv-tone} for {uv-reader}", uv=[{"tone": "How it sounds"}]
    )
    code, out, asked = on_a_terminal(
        project, "docs", "write", "page", "--uv-reader=me", typed=b"dry\n"
    )
    assert (code, out) == (0, "Write dry for me\n")
    assert "How it sounds" in asked


def test_a_pipe_is_never_asked(project):
    project.template("docs/write/page", "Write {uv-tone}")
    done = project.run("docs", "write", "page")
    assert done.stdout == b"Write {uv-tone}\n"
    assert b"Nothing was given for {uv-tone}" in done.stderr


def test_the_prompt_is_copied(project, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    copier = programs / "wl-copy"
    copier.write_text(f"#!/bin/sh\nexec cat > {tmp_path}/clipboard\n", encoding="utf-8")
    copier.chmod(0o755)
    project.template("docs/write/page", "Write ✓")
    done = project.run(
        "docs", "write", "page", "--copy", env={"PATH": f"{programs}:{os.environ['PATH']}"}
    )
    assert done.stdout.decode() == "Write ✓\n"
    assert b"copied by wl-copy" in done.stderr
    assert (tmp_path / "clipboard").read_text(encoding="utf-8") == "Write ✓\n"


def test_without_a_clipboard_there_is_a_hint(project, tmp_path):
    project.template("docs/write/page", "Write")
    (tmp_path / "empty").mkdir()
    told = project.fails("docs", "write", "page", "--copy", env={"PATH": str(tmp_path / "empty")})
    assert "no clipboard program" in told
    assert "xclip" in told


def test_receivers_that_are_not_there_are_named(project, monkeypatch):
    monkeypatch.delenv("CLEW_MODEL", raising=False)
    project.template("docs/write/page", "Write")
    assert "Agents: " in project.fails("docs", "write", "page", "--to=nobody")
    assert "CLEW_MODEL" in project.fails("docs", "write", "page", "--to=model")


def test_uses_are_counted_on_this_machine(project, monkeypatch, tmp_path):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "clew"))
    project.template("docs/write/page", "Write")
    project.template("docs/read/page", "Read")
    for _ in range(2):
        project.ok("docs", "write", "page")
    project.ok("docs", "write", "page", env={"CLEW_USAGE": "off"})
    counts, first = uses(str(project.root), "climpt")
    assert counts == {("docs", "write", "page"): 2}
    assert abs(time.time() - first) < 600
    assert (tmp_path / "clew/command-usage.tsv").stat().st_mode & 0o777 == 0o600
    listed = project.data("list", "--c1", "docs", "--usage")["commands"]
    assert [(one["c2"], one["uses"]) for one in listed] == [("write", 2), ("read", 0)]


@pytest.mark.parametrize(("age", "found"), [(40, ["never-used"]), (2, [])])
def test_what_is_never_used_is_told_after_a_while(project, monkeypatch, tmp_path, age, found):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "clew"))
    for name in ("write", "read"):
        project.template(f"docs/{name}/page", "Do", title="T", description="D")
    (tmp_path / "clew").mkdir()
    line = f"{int(time.time()) - age * 86400}\t{project.root}\tclimpt\tdocs\twrite\tpage\n"
    (tmp_path / "clew/command-usage.tsv").write_text(line + "broken\n", encoding="utf-8")
    findings = [f for f in project.data("lint")["findings"] if f["code"] == "never-used"]
    assert [f["code"] for f in findings] == found
    assert all("docs read page" in f["message"] for f in findings)


def test_lint_mends_what_the_templates_say(project):
    path = project.template(
        "docs/write/page",
        "Write {uv-tone} to {destination_path}\n\n{input_text}",
        title="Page",
        uv=[{"old": "Gone"}],
        options={"edition": ["default", "gone"], "stdin": False, "file": True},
    )
    bare = project.template("docs/read/page", "Read it all")
    before = path.read_text(encoding="utf-8")
    assert project.run("lint").returncode == 1
    data = project.data("lint", "--fix")
    assert sorted(data["fixed"]) == sorted([str(path), str(bare)])
    assert data["findings"] == []
    text = path.read_text(encoding="utf-8")
    assert text.endswith(before.partition("---\n\n")[2])
    assert "tone" in text
    assert "title: Read page" in bare.read_text(encoding="utf-8")
    assert project.data("lint", "--fix")["fixed"] == []


def test_lint_leaves_alone_what_it_cannot_read(project):
    broken = project.template("docs/write/page", '---\ntitle: "\n---\nBody')
    before = broken.read_text(encoding="utf-8")
    project.run("lint", "--fix")
    assert broken.read_text(encoding="utf-8") == before
    assert (project.root / HOME).is_dir()


def test_the_configured_model_answers(project, monkeypatch):
    project.template("docs/write/page", "Write about {uv-what}")
    with running_model() as (model, address):
        model.answer = lambda _: "Here it is."
        monkeypatch.setenv("CLEW_MODEL", "openai:fake")
        monkeypatch.setenv("CLEW_MODEL_URL", address)
        monkeypatch.setenv("CLEW_MODEL_SECONDS", "120")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        words = ("docs", "write", "page", "--uv-what=bees", "--to=model")
        assert project.ok(*words, timeout=180) == "Here it is.\n"
    assert "Write about bees" in str(model.prompts)
