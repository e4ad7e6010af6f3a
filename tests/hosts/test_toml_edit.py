import tomllib

import pytest

from clew.hosts.files.toml_edit import load, put, remove

ENTRY = {"command": "clew", "args": ["serve"]}
PATH = ("mcp_servers", "clew")
REALISTIC = """\
# my settings
model = "gpt-5"   # the big one

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"] # keep

  [mcp_servers.docs.env]
  TOKEN = "x"

[projects."/home/me/app"]
trust_level = "trusted"
"""


@pytest.mark.parametrize(
    "text",
    ["", "\n", "a = 1", "a = 1\n", "a = 1\r\n[b]\r\nc = 2\r\n", REALISTIC,
     REALISTIC.replace("\n", "\r\n"), "[mcp_servers]\n", "[[list]]\nx = 1\n\n"],
)  # fmt: skip
def test_a_table_added_and_removed_leaves_the_same_text(text):
    edit = put(text, PATH, ENTRY)
    assert edit.text.startswith(text)
    assert tomllib.loads(edit.text)["mcp_servers"]["clew"] == ENTRY
    assert remove(edit.text, PATH, edit.trace) == text


def test_an_inline_parent_gets_the_entry_too():
    text = 'mcp_servers = { docs = { command = "npx" } } # inline\n'
    edit = put(text, PATH, ENTRY)
    assert tomllib.loads(edit.text)["mcp_servers"] == {"docs": {"command": "npx"}, "clew": ENTRY}
    assert "# inline" in edit.text
    assert load(remove(edit.text, PATH, edit.trace)) == load(text)


def test_an_edited_table_is_removed_with_its_subtables_and_nothing_else():
    edit = put(REALISTIC, PATH, ENTRY)
    edited = edit.text.replace('["serve"]', '["serve", "--read-only"]')
    edited += '\n[mcp_servers.clew.env]\nA = "1"\n\n[tail]\nz = 1 # end\n'
    left = remove(edited, PATH, edit.trace)
    assert tomllib.loads(left) == {**tomllib.loads(REALISTIC), "tail": {"z": 1}}
    assert "# keep" in left
    assert "z = 1 # end" in left


def test_another_command_keeps_what_stands_around_it():
    text = REALISTIC + '\n[mcp_servers.clew] # mine\ncommand = "old" # path\nargs = ["serve"]\n'
    after = put(text, (*PATH, "command"), "clew").text
    assert after == text.replace('"old"', '"clew"')
