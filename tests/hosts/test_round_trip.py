"""Every host and scope, on files as people have them: set up, check, remove, same bytes."""

import json

import pytest

from clew.catalog.faces import FACES
from clew.hosts.files.jsonc_edit import load
from clew.hosts.register import check, make_target, register, unregister
from clew.hosts.table import HOSTS

CASES = [(host, scope) for host in HOSTS.values() for scope in host.scopes]
IDS = [f"{host.key}-{scope}" for host, scope in CASES]


def plain_json(key):
    return (
        '{\n  "theme": "dark",\n'
        f'  "{key}": {{\n'
        '    "docs": {\n      "command": "npx",\n      "args": ["-y", "docs"],\n'
        '      "env": {"TOKEN": "s3cret", "U": "https://x/y"}\n    }\n  },\n'
        '  "numStartups": 42\n}\n'
    )


def commented_json(key):
    return (
        '// settings\n{\n\t"theme": "dark", // or light\n'
        f'\t/* servers */\n\t"{key}": {{\n'
        '\t\t"docs": { "command": "npx", "args": ["-y",], }, // the docs\n'
        '\t\t// "old": {},\n\t},\n\t"last": [1, 2,],\n}'
    )


def without_container(_key):
    return '{\n    "theme": "dark" // last\n}'


def toml_text(_key):
    return (
        '# mine\nmodel = "gpt-5" # big\n\n[mcp_servers.docs]\ncommand = "npx"\n'
        '  [mcp_servers.docs.env]\n  TOKEN = "x"\n\n[projects."/p"]\ntrust_level = "trusted"'
    )


STYLES = {
    "plain": lambda make: make.encode(),
    "crlf": lambda make: make.replace("\n", "\r\n").encode(),
    "bom": lambda make: b"\xef\xbb\xbf" + make.encode(),
}


def originals(host):
    makers = [toml_text] if host.format == "toml" else [
        plain_json, commented_json, without_container,
    ]  # fmt: skip
    texts = [make(host.container[-1]) for make in makers]
    yield from ((text, style) for text in texts for style in STYLES)


def assert_only_added_to(before, after):
    following = iter(after)
    assert all(byte in following for byte in before)


@pytest.mark.parametrize(("host", "scope"), CASES, ids=IDS)
def test_set_up_check_and_remove_give_the_same_bytes(machine, host, scope):
    for text, style in originals(host):
        before = STYLES[style](text)
        target = make_target(host, scope, FACES["clew"], machine.project)
        target.path.parent.mkdir(parents=True, exist_ok=True)
        target.path.write_bytes(before)

        report = register(target)
        assert (report.status, report.greeting.name) == ("written", "clew")
        after = target.path.read_bytes()
        assert_only_added_to(before, after)

        assert register(target).status == "already"
        assert target.path.read_bytes() == after
        assert check(target).status == "ok"

        assert unregister(target).status == "restored"
        assert target.path.read_bytes() == before
        assert unregister(target).status == "absent"


@pytest.mark.parametrize(("host", "scope"), CASES, ids=IDS)
def test_a_file_and_directories_made_for_the_entry_go_with_it(machine, host, scope):
    listing = sorted(machine.project.rglob("*")), sorted(machine.home.rglob("*"))
    target = make_target(host, scope, FACES["clew"], machine.project)
    register(target)
    assert target.path.exists()
    assert unregister(target).status == "deleted"
    left = sorted(p for p in machine.home.rglob("*") if ".clew" not in p.parts)
    assert (sorted(machine.project.rglob("*")), left) == listing


def test_the_shape_that_chants_users_know(machine):
    register(make_target(HOSTS["claude-code"], "project", FACES["chant"], machine.project))
    text = (machine.project / ".mcp.json").read_text()
    assert json.loads(text) == {
        "mcpServers": {"chant": {"type": "stdio", "command": "chant", "args": ["mcp"]}}
    }
    assert text.endswith("}\n")


def test_desktop_hosts_get_an_absolute_path_in_their_own_file_only(machine):
    for scope, expected in (("user", str(machine.programs / "clew")), ("project", "clew")):
        target = make_target(HOSTS["vscode"], scope, FACES["clew"], machine.project)
        assert register(target).words.command == expected


def test_edits_made_since_are_kept(machine):
    target = make_target(HOSTS["zed"], "user", FACES["clew"], None)
    target.path.parent.mkdir(parents=True)
    target.path.write_text('{\n  // mine\n  "theme": "One Dark"\n}\n')
    register(target)
    edited = target.path.read_text().replace("One Dark", "Ayu").replace("// mine", "// ours")
    target.path.write_text(edited)
    assert unregister(target).status == "removed"
    assert target.path.read_text() == '{\n  // ours\n  "theme": "Ayu"\n}\n'


@pytest.mark.parametrize("first", ["clew", "chant"])
def test_two_faces_in_one_file_leave_in_any_order(machine, first):
    before = b'{\n  "theme": "dark"\n}\n'
    targets = {
        name: make_target(HOSTS["claude-code"], "project", FACES[name], machine.project)
        for name in ("clew", "chant")
    }
    path = targets["clew"].path
    path.write_bytes(before)
    for target in targets.values():
        register(target)
    second = "chant" if first == "clew" else "clew"
    unregister(targets[first])
    assert list(load(path.read_text())["mcpServers"]) == [second]
    path.write_bytes(path.read_bytes().replace(b"dark", b"light"))
    unregister(targets[second])
    assert path.read_bytes() == before.replace(b"dark", b"light")


def test_an_edit_between_two_setups_is_never_undone(machine):
    path = machine.project / ".mcp.json"
    path.write_text('{"a": 1}')
    targets = [
        make_target(HOSTS["claude-code"], "project", FACES[name], machine.project)
        for name in ("clew", "chant")
    ]
    register(targets[0])
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    register(targets[1])
    for target in targets:
        unregister(target)
    assert path.read_text() == '{"a": 2}'


def test_a_link_stays_a_link(machine):
    real = machine.home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    target = make_target(HOSTS["cursor"], "user", FACES["clew"], None)
    target.path.parent.mkdir()
    target.path.symlink_to(real)
    register(target)
    assert target.path.is_symlink()
    assert "clew" in real.read_text()
    unregister(target)
    assert target.path.is_symlink()
    assert real.read_text() == "{}"


def test_permissions_are_kept(machine):
    target = make_target(HOSTS["claude-code"], "user", FACES["clew"], None)
    target.path.write_text("{}")
    target.path.chmod(0o600)
    register(target)
    assert target.path.stat().st_mode & 0o777 == 0o600
