import json
import os
import subprocess
import sys

import pytest

from clew.catalog.faces import FACES
from clew.hosts.files.ledger import read_ledger
from clew.hosts.register import check, make_target, register, snippet, unregister
from clew.hosts.table import HOSTS
from clew.kit.errors import Conflict, Invalid, Unavailable
from tests.hosts.conftest import REAL_PYTHON


@pytest.fixture
def target(machine):
    return make_target(HOSTS["claude-code"], "project", FACES["clew"], machine.project)


def written(target, entry):
    target.path.write_text(json.dumps({"mcpServers": {"clew": entry}}, indent=2))
    return target.path.read_bytes()


def entry_of(target):
    return json.loads(target.path.read_text())["mcpServers"]["clew"]


def backups(machine):
    directory = machine.home / ".clew" / "backups"
    return sorted(directory.iterdir()) if directory.exists() else []


def test_a_foreign_entry_is_refused_and_left_alone(target):
    before = written(target, {"command": "npx", "args": ["somebody-elses-clew"]})
    with pytest.raises(Conflict, match="npx somebody-elses-clew") as caught:
        register(target)
    assert "--force" in caught.value.hint
    assert target.path.read_bytes() == before
    with pytest.raises(Conflict):
        unregister(target)


def test_force_replaces_a_foreign_entry_and_removal_brings_it_back(target):
    before = written(target, {"command": "npx", "args": ["somebody-elses-clew"]})
    assert register(target, force=True).status == "replaced"
    assert entry_of(target)["command"] == "clew"
    target.path.write_bytes(target.path.read_bytes() + b"\n")
    unregister(target)
    assert target.path.read_bytes() == before + b"\n"


def test_an_entry_of_ours_keeps_what_people_added(target):
    written(
        target,
        {
            "command": "/gone/bin/clew",
            "args": ["serve", "--read-only"],
            "env": {"CLEW_EXTRA_TOOL": "x"},
            "timeout": 5,
        },
    )
    report = register(target)
    assert report.status == "updated"
    assert report.greeting.tools == ("one", "two", "three")
    assert "without CLEW_EXTRA_TOOL" in report.notes[0]
    assert entry_of(target) == {
        "command": "clew",
        "args": ["serve", "--read-only"],
        "env": {"CLEW_EXTRA_TOOL": "x"},
        "timeout": 5,
    }
    assert register(target).status == "already"
    unregister(target)
    assert "clew" not in json.loads(target.path.read_text())["mcpServers"]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "uvx", "args": ["clew@1.2", "serve"]},
        {"command": "uvx", "args": ["--from", "clew[web]", "clew", "serve"]},
        {"command": "/usr/bin/python3", "args": ["-m", "clew", "serve"]},
        {"command": "C:\\tools\\clew.exe", "args": ["serve"]},
    ],
)
def test_other_ways_to_start_clew_are_known_as_ours(target, entry):
    written(target, entry)
    assert register(target).status == "updated"


def test_a_parse_error_is_told_with_its_place_and_nothing_is_changed(target, machine):
    broken = b'{\n  "mcpServers": {\n    "a": }\n}\n'
    target.path.write_bytes(broken)
    with pytest.raises(Invalid, match=r"\.mcp\.json:3:10: expected a value"):
        register(target)
    assert target.path.read_bytes() == broken
    assert check(target).status == "broken"
    assert backups(machine) == []


def test_a_toml_error_and_other_encodings_are_refused_too(machine):
    target = make_target(HOSTS["codex"], "project", FACES["clew"], machine.project)
    target.path.parent.mkdir()
    target.path.write_bytes(b"a = 1\nb = \n")
    with pytest.raises(Invalid, match=r"config\.toml:2:"):
        register(target)
    target.path.write_bytes("a = 'ä'".encode("utf-16"))
    with pytest.raises(Invalid, match="not UTF-8"):
        register(target)


@pytest.mark.parametrize("value", ["null", "[]", '"x"'])
def test_a_container_that_is_no_object_is_refused(target, value):
    target.path.write_text(f'{{"mcpServers": {value}}}')
    with pytest.raises(Invalid, match="1:16: mcpServers is not an object"):
        register(target)


def test_the_original_is_backed_up_once_and_dropped_when_restored(target, machine):
    before = b'{"a": 1}'
    target.path.write_bytes(before)
    register(target)
    other = make_target(HOSTS["claude-code"], "project", FACES["chant"], machine.project)
    register(other)
    [backup] = backups(machine)
    assert backup.read_bytes() == before
    assert backup.stat().st_mode & 0o777 == 0o600
    unregister(target)
    unregister(other)
    assert target.path.read_bytes() == before
    assert backups(machine) == []


@pytest.mark.parametrize("before", [None, b"", b'{"a": 1}'])
def test_a_server_that_fails_is_rolled_back(target, machine, before):
    if before is not None:
        target.path.write_bytes(before)
    machine.server("clew", "crash")
    with pytest.raises(Unavailable, match="does not answer") as caught:
        register(target)
    assert "no such module" in caught.value.message
    assert ("was not kept" if before is None else "as it was before") in caught.value.hint
    assert (target.path.read_bytes() if target.path.exists() else None) == before
    assert read_ledger().records == {}
    assert backups(machine) == []


def test_a_failed_update_brings_the_earlier_entry_back(target, machine):
    register(target)
    written_before = target.path.read_bytes().replace(b'"clew",', b'"/gone/clew",')
    target.path.write_bytes(written_before)
    machine.server("clew", "refuse")
    with pytest.raises(Unavailable, match="not today"):
        register(target)
    assert target.path.read_bytes() == written_before
    [record] = read_ledger().records.values()
    assert record.parts.keys() == {"clew"}


def test_force_keeps_an_entry_whose_server_fails(target, machine):
    machine.server("clew", "crash")
    report = register(target, force=True)
    assert "no such module" in report.problem
    assert entry_of(target)["command"] == "clew"


def test_a_plain_name_in_a_shared_file_is_never_turned_into_a_path(target, machine, monkeypatch):
    before = written(target, {"type": "stdio", "command": "clew", "args": ["serve"]})
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(Unavailable, match="not find the program `clew`"):
        register(target)
    assert target.path.read_bytes() == before


def test_check_tells_the_four_states(target, machine):
    assert check(target).status == "missing"
    register(target)
    assert check(target).status == "ok"
    written(target, {"url": "https://x"})
    assert check(target).status == "different"
    written(target, {"command": "/gone/clew", "args": ["serve"]})
    assert check(target).status == "different"
    register(target)
    machine.server("clew", "crash")
    assert check(target).status == "broken"


def test_a_command_from_a_shared_file_is_not_started(target, machine):
    trap = machine.home / "sprung"
    other = machine.project / "clew"
    other.write_text(f"#!/bin/sh\ntouch {trap}\n")
    other.chmod(0o755)
    written(target, {"command": "${PWD}/clew", "args": ["serve"]})
    assert check(target).status == "different"
    register(target)
    assert not trap.exists()


def test_variables_of_a_shared_file_do_not_reach_the_server(target, machine):
    test = 'test -z "$PYTHONPATH$CLEW_TOKEN_FILE" || exit 1'
    machine.program("clew", f'#!/bin/sh\n{test}\nexec chant "$@"\n')
    env = {"PYTHONPATH": "/evil", "CLEW_TOKEN_FILE": "/evil"}
    written(target, {"command": "clew", "args": ["serve"], "env": env})
    report = register(target)
    assert report.status == "already"
    assert "without PYTHONPATH, CLEW_TOKEN_FILE" in report.notes[0]
    assert entry_of(target)["env"] == env
    checked = check(target)
    assert checked.status == "ok"
    assert "without PYTHONPATH, CLEW_TOKEN_FILE" in checked.notes[0]


@pytest.mark.parametrize(
    "words",
    [
        "serve --http", "serve --host 0.0.0.0", "serve --port 1", "serve --token-file /x",
        "serve --token-file=/x", "serve --no-auth", "serve --db /x", "serve --project /x",
        "serve --tools", "serve --tools --http", "serve --tools=", "serve --tools ${X:---http}",
        "serve ${X:---http}", "serve --tools {env:X}", "serve --read-only=1", "serve extra", "serve --",
        "serve --tools a --http",
    ],
)  # fmt: skip
def test_options_of_a_shared_file_that_do_more_than_choose_tools_are_not_tried(
    target, machine, words
):
    trap = machine.home / "sprung"
    machine.program("clew", f"#!/bin/sh\ntouch {trap}\nexec chant mcp\n")
    before = written(target, {"command": "clew", "args": words.split()})
    for report, status in ((register(target), "already"), (check(target), "ok")):
        assert (report.status, report.greeting) == (status, None)
        assert report.notes[0].startswith("not started: it adds ")
    assert target.path.read_bytes() == before
    assert not trap.exists()


@pytest.mark.parametrize(
    "words",
    ["serve", "serve --read-only --extended", "serve --toolsets all --tools=a,b --exclude-tools c"],
)
def test_options_of_a_shared_file_that_choose_tools_are_tried(target, words):
    written(target, {"command": "clew", "args": words.split()})
    report = check(target)
    assert (report.status, report.notes) == ("ok", ())
    assert report.greeting


def test_another_command_of_clew_in_a_shared_file_is_never_run(target, machine):
    trap = machine.home / "sprung"
    machine.program("clew", f'#!/bin/sh\ntest "$1" = serve || touch {trap}\nexec chant mcp\n')
    written(target, {"command": "clew", "args": ["uninit", "--all", "--project", "serve"]})
    assert check(target).status == "different"
    assert register(target).status == "updated"
    assert entry_of(target)["args"] == ["serve"]
    assert not trap.exists()


def test_an_entry_that_stands_twice_is_refused(target, machine):
    before = b'{"mcpServers": {\n"clew": {"command": "evil"},\n"clew": {"command": "clew", "args": ["serve"]}}}'
    target.path.write_bytes(before)
    for action in (register, unregister):
        with pytest.raises(
            Invalid, match=r'\.mcp\.json:2:1: "clew" occurs 2 times, in lines 2 and 3'
        ):
            action(target)
    report = check(target)
    assert report.status == "broken"
    assert "lines 2 and 3" in report.problem
    assert target.path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mcp_servers = 5\n", "a plain value"),
        ("[[mcp_servers]]\nx = 1\n", "a list"),
        ("mcp_servers = []\n", "a list"),
    ],
)
def test_servers_of_another_shape_in_toml_are_refused_plainly(machine, text, what):
    target = make_target(HOSTS["codex"], "user", FACES["clew"], None)
    target.path.parent.mkdir()
    target.path.write_text(text)
    with pytest.raises(Invalid) as caught:
        register(target)
    expected = f"mcp_servers is {what}; expected a table, as in [mcp_servers.clew]"
    assert caught.value.message == f"{target.path}: {expected}"
    assert target.path.read_text() == text


def test_toml_that_is_nested_too_deeply_is_refused(machine):
    target = make_target(HOSTS["codex"], "user", FACES["clew"], None)
    target.path.parent.mkdir()
    target.path.write_text(f"a = {'[' * 5000}{']' * 5000}\n")
    with pytest.raises(Invalid, match="nested"):
        register(target)


def test_a_users_own_file_is_started_as_it_stands(machine):
    target = make_target(HOSTS["codex"], "user", FACES["clew"], None)
    other = machine.home / "clew"
    other.symlink_to(machine.server("other"))
    target.path.parent.mkdir()
    target.path.write_text(f'[mcp_servers.clew]\ncommand = "{other}"\nargs = ["serve"]\n')
    report = check(target)
    assert (report.status, report.greeting.name) == ("different", "other")


def test_a_link_out_of_the_project_is_refused(target, machine):
    outside = machine.home / "precious.json"
    outside.write_text("{}")
    target.path.symlink_to(outside)
    with pytest.raises(Conflict, match="leads out of the project"):
        register(target)
    assert outside.read_text() == "{}"
    assert register(target, force=True).status == "written"
    assert target.path.is_symlink()


def test_a_file_that_cannot_be_written_leaves_no_record(target, machine, monkeypatch):
    from clew.hosts.files import ledger

    def fail(path, data, **settings):
        if path == target.path:
            raise PermissionError(13, "Permission denied")
        return original(path, data, **settings)

    original = ledger.write_atomic
    target.path.write_text("{}")
    monkeypatch.setattr(ledger, "write_atomic", fail)
    with pytest.raises(Unavailable, match="cannot be written: Permission denied"):
        register(target)
    assert read_ledger().records == {}
    assert backups(machine) == []


def test_a_dry_run_changes_nothing(target, machine):
    assert register(target, dry_run=True).status == "written"
    assert not target.path.exists()
    register(target)
    before = target.path.read_bytes()
    assert unregister(target, dry_run=True).status == "removed"
    assert target.path.read_bytes() == before


def test_without_the_name_on_path_the_own_script_is_written_with_a_warning(
    target, machine, monkeypatch
):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    report = register(target)
    assert report.words.command == str(machine.programs / "clew")
    assert "do not commit" in report.notes[0]


def test_a_run_from_uvx_writes_uvx(target, machine, monkeypatch):
    monkeypatch.setenv("PATH", f"{machine.home / 'tools'}:/usr/bin:/bin")
    (machine.home / "tools").mkdir()
    machine.program("uvx", "#!/bin/sh\n").rename(machine.home / "tools" / "uvx")
    monkeypatch.setattr(sys, "prefix", "/home/me/.cache/uv/archive-v0/abc")
    assert target.expected.args == ("clew", "serve")
    chant = make_target(HOSTS["claude-code"], "project", FACES["chant"], machine.project)
    assert chant.expected.line == "uvx --from clew chant mcp"


@pytest.mark.parametrize("key", HOSTS)
def test_a_snippet_is_what_set_up_would_write_into_a_new_file(machine, key):
    target = make_target(HOSTS[key], None, FACES["clew"], machine.project)
    shown = snippet(target)
    register(target)
    assert target.path.read_text() == shown.text + "\n"
    assert "{" not in shown.add_command or key == "vscode"


SETUP = "import sys; from clew.faces import enter; sys.exit(enter('clew', sys.argv[1:]))"


def test_two_setups_at_once_lose_nothing(machine):
    path = machine.project / ".mcp.json"
    path.write_text('{\n  "mcpServers": {}\n}\n')
    faces = ("clew", "chant", "commitmux", "climpt", "clariad")
    running = [
        subprocess.Popen(
            [REAL_PYTHON, "-c", SETUP, "setup", "claude-code", "--face", face, "--json"],
            stdout=subprocess.PIPE,
            env=dict(os.environ),
        )
        for face in faces
    ]
    for process in running:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
    assert set(json.loads(path.read_text())["mcpServers"]) == set(faces)
    for face in faces:
        unregister(make_target(HOSTS["claude-code"], None, FACES[face], machine.project))
    assert path.read_text() == '{\n  "mcpServers": {}\n}\n'
