import pytest

from clew.guide import blocks
from clew.hosts.files.instructions import (
    claude_file_note,
    remove_block,
    remove_skill,
    skill_paths,
    write_block,
    write_skill,
)
from clew.hosts.files.ledger import open_ledger
from clew.kit.errors import Invalid


@pytest.fixture
def agents_md(machine):
    return machine.project / "AGENTS.md"


def removed(path, remove=remove_block):
    with open_ledger() as ledger:
        return remove(ledger, path).status


ORIGINALS = ["", "# Rules", "# Rules\n", "# Rules\n\n", "# Rules\r\n\r\nBe kind.\r\n", "\ufeffHi\n"]


@pytest.mark.parametrize("before", ORIGINALS)
def test_the_block_is_added_and_removed_without_a_trace(machine, agents_md, before):
    agents_md.write_bytes(before.encode())
    assert write_block(machine.project).status == "written"
    text = agents_md.read_bytes().decode()
    assert text.startswith(before)
    assert "<!-- clew:begin sha256=" in text
    assert ("\r\n" in text.replace(before, "")) == ("\r\n" in before)
    assert write_block(machine.project).status == "already"
    assert removed(agents_md) == "restored"
    assert agents_md.read_bytes().decode() == before


def test_a_file_made_for_the_block_goes_with_it(machine, agents_md):
    write_block(machine.project)
    assert agents_md.read_text().startswith("<!-- clew:begin")
    assert removed(agents_md) == "deleted"
    assert not agents_md.exists()
    assert removed(agents_md) == "absent"


def test_words_added_around_the_block_stay(machine, agents_md):
    agents_md.write_text("# Rules\n")
    write_block(machine.project)
    agents_md.write_text("Intro\n" + agents_md.read_text() + "\nMore\n")
    assert removed(agents_md) == "removed"
    assert agents_md.read_text() == "Intro\n# Rules\n\nMore\n"


def test_a_new_text_replaces_an_untouched_block(machine, agents_md, monkeypatch):
    agents_md.write_text("# Rules\n")
    write_block(machine.project)
    agents_md.write_text(agents_md.read_text() + "\nMore\n")
    monkeypatch.setattr(blocks, "agents_block", lambda: "New words")
    assert write_block(machine.project).status == "updated"
    assert "New words\n<!-- clew:end -->\n\nMore\n" in agents_md.read_text()
    removed(agents_md)
    assert agents_md.read_text() == "# Rules\n\nMore\n"


def test_an_edit_inside_the_block_is_never_overwritten(machine, agents_md, monkeypatch):
    write_block(machine.project)
    edited = agents_md.read_text().replace("## Clew", "## Our Clew")
    agents_md.write_text(edited)
    monkeypatch.setattr(blocks, "agents_block", lambda: "New words")
    report = write_block(machine.project)
    assert report.status == "edited"
    assert "--force" in report.problem
    assert removed(agents_md) == "edited"
    assert agents_md.read_text() == edited
    assert write_block(machine.project, force=True).status == "updated"
    assert "Our Clew" not in agents_md.read_text()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<!-- clew:begin sha256=000000000000 -->\nx\n", "without its end"),
        ("<!-- clew:begin sha256=000000000000 -->\nx\n<!-- clew:end -->\n" * 2, "more than one"),
    ],
)
def test_broken_markers_are_refused(machine, agents_md, text, what):
    agents_md.write_text(text)
    with pytest.raises(Invalid, match=what):
        write_block(machine.project)
    assert agents_md.read_text() == text


def test_the_skill_goes_where_the_hosts_look(machine):
    common, claude = skill_paths(machine.project, ["cursor", "claude-code"])
    assert common == machine.project / ".agents/skills/clew/SKILL.md"
    assert claude == machine.project / ".claude/skills/clew/SKILL.md"
    assert write_skill(common, machine.project).status == "written"
    assert common.read_text() == blocks.skill_text()
    assert write_skill(common, machine.project).status == "already"
    assert removed(common, remove_skill) == "deleted"
    assert not (machine.project / ".agents").exists()


def test_an_edited_skill_is_kept(machine):
    [path] = skill_paths(machine.project, [])
    write_skill(path, machine.project)
    path.write_text("mine")
    assert write_skill(path, machine.project).status == "edited"
    assert removed(path, remove_skill) == "edited"
    assert write_skill(path, machine.project, force=True).status == "updated"


def test_an_older_skill_of_ours_is_refreshed(machine, monkeypatch):
    [path] = skill_paths(machine.project, [])
    write_skill(path, machine.project)
    monkeypatch.setattr(blocks, "skill_text", lambda: "newer")
    assert write_skill(path, machine.project).status == "updated"
    assert removed(path, remove_skill) == "deleted"


@pytest.mark.parametrize(
    ("text", "is_noted"), [(None, False), ("# x\n@AGENTS.md\n", False), ("# see AGENTS.md\n", True)]
)
def test_a_claude_md_that_does_not_read_agents_md_is_mentioned(machine, text, is_noted):
    path = machine.project / "CLAUDE.md"
    if text is not None:
        path.write_text(text)
    assert (claude_file_note(machine.project) is not None) == is_noted
    assert (path.read_text() if path.exists() else None) == text
