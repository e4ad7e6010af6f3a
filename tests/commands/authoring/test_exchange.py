"""To and from other programs."""

from __future__ import annotations

import json

import pytest

from clew.commands.authoring.imports import guess_kind
from tests.commands.project import HOME, record

BODY = "Write {uv-tone} about {input_text}\n\nKeep \\{uv-tone} as text."


@pytest.fixture
def page(project):
    project.template(
        "docs/write/page", BODY, title="Page", description="Write: a page", uv=[{"tone": "How"}],
        options={"stdin": True},
    )  # fmt: skip
    return project


@pytest.mark.parametrize(
    ("kind", "place", "words"),
    [
        ("claude", ".claude/commands/docs/write-page.md", "Write $1 about $ARGUMENTS"),
        ("skill", ".claude/skills/docs-write-page/SKILL.md", "about (the text given"),
        ("cursor", ".cursor/commands/docs-write-page.md", "Write <tone> about (the text"),
        ("fabric", "patterns/write_page/system.md", "Write {{tone}} about {{input}}"),
    ],
)
def test_a_command_goes_out(page, kind, place, words):
    assert page.data("export", "docs", "--to", kind, "--dry-run")["files"] == [
        str(page.root / place)
    ]
    assert not (page.root / place).exists()
    page.ok("export", "docs", "--to", kind)
    text = (page.root / place).read_text(encoding="utf-8")
    assert words in text
    assert "Keep {uv-tone} as text." in text
    if kind in ("claude", "skill"):
        assert 'description: "Write: a page"' in text
    assert "already exists" in page.fails("export", "docs", "--to", kind)
    page.ok("export", "docs", "--to", kind, "--force")


def test_a_command_comes_back_as_it_was(page, tmp_path):
    page.ok("export", "docs", "--to", "claude", "--out", str(tmp_path / "out"))
    page.ok("import", str(tmp_path / "out"), "--c1", "back")
    words = ("write", "page", "--uv-arg1=dry", "--strict")
    assert page.ok("back", *words, stdin=b"x") == (
        page.ok("docs", "write", "page", "--uv-tone=dry", "--strict", stdin=b"x")
    )


def test_claude_commands_come_in(project):
    project.write(
        ".claude/commands/git/fix-open-issue.md",
        "---\ndescription: Fix an issue\nargument-hint: [n]\n---\nFix $1, see $ARGUMENTS {uv-x} !`ls`",
    )
    project.write(".claude/commands/tidy.md", "Tidy up\n")
    data = project.data("import", ".claude/commands")["commands"]
    assert [one["command"] for one in data] == ["git fix open-issue", "claude tidy task"]
    assert "stay plain text" in data[0]["notes"][0]
    text = project.ok("git", "fix", "open-issue", "--uv-arg1=7", stdin=b"words")
    assert text == "Fix 7, see words {uv-x} !`ls`\n"
    assert project.ok("claude", "tidy", "task") == "Tidy up\n"
    assert project.data("lint")["errors"] == 0
    assert "already exists" in project.fails("import", ".claude/commands")
    project.ok("import", ".claude/commands", "--force")


def test_skills_cursor_and_fabric_come_in(project):
    project.write("skills/make-slides/SKILL.md", "---\nname: make-slides\ndescription: D\n---\nGo")
    project.write(".cursor/commands/review-code.md", "# Review\n\nLook")
    project.write("patterns/extract_wisdom/system.md", "# IDENTITY\n\nYou read {{lang}}.\n")
    assert project.data("import", "skills")["commands"][0]["command"] == "skill make slides"
    assert project.data("import", ".cursor/commands")["commands"][0]["command"] == (
        "cursor review code"
    )
    project.ok("import", "patterns", "--dry-run")
    assert not (project.root / HOME / "prompts/fabric").exists()
    project.ok("import", "patterns")
    text = project.ok("fabric", "extract", "wisdom", "--uv-lang=Latin", stdin=b"words")
    assert text == "# IDENTITY\n\nYou read Latin.\n\nwords\n"


def test_one_file_comes_in(project):
    project.write("notes/plan-week.md", "Plan $ARGUMENTS")
    project.ok("import", "notes/plan-week.md", "--c1", "home")
    assert project.ok("home", "plan", "week", stdin=b"this") == "Plan this\n"


def test_a_registry_comes_in_as_templates(project):
    project.registry(record("docs/write/page", options={"stdin": True}), path="other.json")
    project.ok("import", "other.json")
    assert "words" in project.ok("docs", "write", "page", stdin=b"words")
    assert project.data("lint")["errors"] == 0


def test_the_registry_goes_out(page):
    document = json.loads(page.ok("export", "--out", "-"))
    addresses = [(one["c1"], one["c2"]) for one in document["tools"]["commands"]]
    assert ("docs", "write") in addresses
    assert ("git", "group-commit") in addresses
    page.ok("export", "docs", "--out", "mine.json")
    written = json.loads((page.root / "mine.json").read_text(encoding="utf-8"))
    (found,) = written["tools"]["commands"]
    assert found["uv"] == [{"tone": "How"}]
    assert found["options"]["stdin"] is True


def test_what_is_not_there_or_leads_away(project, tmp_path):
    assert "No such file" in project.fails("import", "nope")
    (project.root / "empty").mkdir()
    assert "Nothing of the kind" in project.fails("import", "empty")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (project.root / "cmds").mkdir()
    (project.root / "cmds" / "x.md").symlink_to(tmp_path / "secret.md")
    assert "leads out of" in project.fails("import", "cmds")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("r.json", "registry"),
        ("a/SKILL.md", "skill"),
        ("p/system.md", "fabric"),
        (".cursor/commands/x.md", "cursor"),
        (".claude/commands/x.md", "claude"),
    ],
)
def test_kinds_by_their_looks(project, path, kind):
    assert guess_kind(str(project.write(path, "x"))) == kind
