"""The block for AGENTS.md and the skill."""

from clew.guide.blocks import agents_block, skill_text
from clew.guide.topics import topic_names


def test_the_agents_block_is_a_short_nudge():
    block = agents_block()

    assert block.startswith("## Clew\n")
    assert len(block.splitlines()) <= 15
    assert "clew_guide" in block
    assert "clew doctor" in block
    assert "<!--" not in block


def test_the_skill_has_the_frontmatter_that_hosts_ask_for():
    opening, frontmatter, body = skill_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in frontmatter.splitlines())

    assert opening == ""
    assert fields["name"] == "clew"
    assert 0 < len(fields["description"]) <= 1024
    assert ": " not in fields["description"], "a colon would need quotes in YAML"
    assert len(body.splitlines()) <= 30
    assert skill_text().endswith("\n")


def test_both_name_every_topic():
    for name in topic_names():
        assert f"`{name}`" in agents_block()
        assert f"`{name}`" in skill_text()


def test_both_are_the_same_every_time():
    assert agents_block() == agents_block()
    assert skill_text() == skill_text()
