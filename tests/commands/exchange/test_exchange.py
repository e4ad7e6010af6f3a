"""To and from other programs."""

from __future__ import annotations

import json

import pytest

from clew.commands.exchange.formats import guess_format
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
        ("claude", ".claude/commands/docs/write-page.md", "Write $ARGUMENTS[0] about $ARGUMENTS"),
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


@pytest.mark.parametrize("kind", ["claude", "codex", "copilot", "gemini", "llm", "fabric"])
def test_a_command_comes_back_as_it_was(page, tmp_path, kind):
    page.ok("export", "docs", "--to", kind, "--out", str(tmp_path / "out"))
    page.ok("import", str(tmp_path / "out"), "--kind", kind, "--c1", "back")
    words = ("write", "page", "--uv-tone=dry", "--strict")
    there = page.ok("docs", *words, stdin=b"x")
    assert page.ok("back", *words, stdin=b"x").split() == there.split()


@pytest.mark.parametrize("kind", ["claude", "codex", "copilot", "gemini", "llm", "skill"])
def test_a_command_comes_back_under_its_address(page, tmp_path, kind):
    page.ok("export", "docs", "--to", kind, "--out", str(tmp_path / "out"))
    found = page.data("import", str(tmp_path / "out"), "--kind", kind, "--dry-run")["commands"]
    assert [one["command"] for one in found] == ["docs write page"]


def test_names_that_would_collide_are_written_apart(project, tmp_path):
    project.template("docs/write-long/page", "One", description="One")
    project.template("docs/write/long-page", "Two", description="Two")
    files = project.data("export", "docs", "--to", "claude", "--out", str(tmp_path / "out"))[
        "files"
    ]
    assert len(files) == len(set(files)) == 2
    found = project.data("import", str(tmp_path / "out"), "--kind", "claude", "--dry-run")[
        "commands"
    ]
    assert sorted(one["command"] for one in found) == [
        "docs write long-page",
        "docs write-long page",
    ]


def test_two_files_that_would_be_one_command_are_refused(project):
    project.write("cmds/fix it.md", "One")
    project.write("cmds/fix-it.md", "Two")
    assert "would both become" in project.fails("import", "cmds", code=2)


FOREIGN = [
    (
        ".github/prompts/new-form.prompt.md",
        (
            "---\nagent: 'agent'\ntools: ['githubRepo']\ndescription: 'Make a form'\n---\n"
            "Make ${input:formName:MyForm} from ${selection}"
        ),
        ("new", "form", "--uv-formname=Login"),
        "Make Login from words\n",
        "not kept: agent, tools",
    ),
    (
        ".gemini/commands/git/commit.toml",
        'description = "Commit"\nprompt = """\nCommit {{args}} !{git diff}\n"""\n',
        ("commit", "task"),
        "Commit words !{git diff}\n",
        "stay plain text",
    ),
    (
        "templates/explain.yaml",
        "system: You are $tone\nprompt: 'Explain for $$5: $input'\n",
        ("explain", "task", "--uv-tone=kind"),
        "You are kind\n\nExplain for $5: words\n",
        "$tone is {uv-tone} here",
    ),
    (
        ".cursor/rules/use-tabs.mdc",
        "---\ndescription: Tabs: always\nglobs: *.ts\nalwaysApply: true\n---\nUse tabs.",
        ("use", "tabs"),
        "Use tabs.\n",
        "not kept: globs, alwaysApply",
    ),
    (
        ".codex/prompts/draft-pr.md",
        (
            "---\ndescription: Draft a PR\nargument-hint: FILES=<paths> [PR_TITLE]\n---\n"
            "Commit $FILES as $PR_TITLE in $HOME"
        ),
        ("draft", "pr", "--uv-files=a.py", "--uv-pr_title=New"),
        "Commit a.py as New in $HOME\n",
        "$FILES is {uv-files} here",
    ),
    (
        ".claude/commands/fix.md",
        "---\nargument-hint: [issue number] [priority]\nallowed-tools: Bash(git:*)\n---\nFix #$1 ($2)",
        ("fix", "task", "--uv-issue-number=7", "--uv-priority=high"),
        "Fix #7 (high)\n",
        "$1 is {uv-issue-number} here",
    ),
    (
        ".claude/commands/move.md",
        "---\nargument-hint: [from] [to]\n---\nMove $0 to $1",
        ("move", "task", "--uv-from=a", "--uv-to=b"),
        "Move a to b\n",
        "$0 is {uv-from} here",
    ),
    (
        ".claude/skills/tell-all/SKILL.md",
        "---\ndescription: D\narguments: [tone, who]\n---\nTell $who, $tone: $whom $1",
        ("tell", "all", "--uv-tone=dryly", "--uv-who=Ann"),
        "Tell Ann, dryly: $whom Ann\n",
        "$ARGUMENTS[1] is {uv-who} here",
    ),
]


@pytest.mark.parametrize(
    ("path", "text", "words", "expected", "note"), FOREIGN, ids=[row[0] for row in FOREIGN]
)
def test_prompts_of_other_programs_come_in(project, path, text, words, expected, note):
    project.write(path, text)
    (found,) = project.data("import", path, "--c1", "mine")["commands"]
    assert any(note in one for one in found["notes"])
    assert project.ok("mine", *words, stdin=b"words") == expected
    assert project.data("lint")["errors"] == 0


def test_the_scripts_of_a_skill_come_along_and_go_out_again(project, tmp_path):
    project.write("skills/make-slides/SKILL.md", "---\ndescription: D\n---\nRun scripts/go.py")
    project.write("skills/make-slides/scripts/go.py", "print(1)\n")
    (found,) = project.data("import", "skills")["commands"]
    assert "1 files come along" in found["notes"][0]
    kept = project.root / HOME / "prompts/skill/make/slides/scripts/go.py"
    assert kept.read_text(encoding="utf-8") == "print(1)\n"
    project.ok("export", "skill", "--to", "skill", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out/skill-make-slides/scripts/go.py").is_file()


def test_skills_go_out_as_a_plugin(page, tmp_path):
    page.ok("export", "skills", "--out", str(tmp_path / "plugin"))
    about = json.loads((tmp_path / "plugin/.claude-plugin/plugin.json").read_text())
    assert about["name"] == "climpt-commands"
    names = sorted(path.name for path in (tmp_path / "plugin/skills").iterdir())
    assert {"delegate-climpt-agent", "docs-write-page"} <= set(names)


def test_claude_commands_come_in(project):
    project.write(
        ".claude/commands/git/fix-open-issue.md",
        "---\ndescription: Fix an issue\nargument-hint: [n]\n---\nFix $1, see $ARGUMENTS {uv-x} !`ls`",
    )
    project.write(".claude/commands/tidy.md", "Tidy up\n")
    data = project.data("import", ".claude/commands")["commands"]
    assert [one["command"] for one in data] == ["git fix open-issue", "claude tidy task"]
    assert any("stay plain text" in note for note in data[0]["notes"])
    text = project.ok("git", "fix", "open-issue", "--uv-n=7", stdin=b"words")
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
        (".codex/prompts/x.md", "codex"),
        (".github/prompts/x.prompt.md", "copilot"),
        (".gemini/commands/x.toml", "gemini"),
        (".cursor/rules/x.mdc", "cursor-rule"),
        ("templates/x.yaml", "llm"),
    ],
)
def test_kinds_by_their_looks(project, path, kind):
    assert guess_format(str(project.write(path, "x"))) == kind
