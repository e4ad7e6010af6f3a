"""The command line: prompts by three words, standard input, guarded output, keeping commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.project import HOME, Project, record
from tests.support.client import BIN


def test_three_words_or_a_config_and_two(project):
    project.template("git/do/it", "Body {uv-x}")
    expected = "Body a=b\n"
    assert project.ok("git", "do", "it", "--uv-x=a=b") == expected
    assert project.ok("--config=git", "do", "it", "--uv-x=a=b") == expected
    assert project.ok("-c=git", "do", "it", "--uv-x", "a=b") == expected
    assert project.ok("--uv-x=a=b", "--config", "git", "do", "it") == expected
    assert project.ok("run", "git", "do", "it", "--uv-x=a=b") == expected
    assert project.ok("command", "run", "git", "do", "it", "--uv-x=a=b", program="clew") == expected


def test_the_words_name_a_prompt_even_when_the_first_is_a_command(project):
    project.template("test/run/specific", "Mine")
    assert project.ok("test", "run", "specific") == "Mine\n"
    assert "passed" in project.ok("test")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-e=bug",), "B"),
        (("--edition", "bug"), "B"),
        (("-e=bug", "-a=deep"), "BD"),
        (("-i=bug",), "B"),
        (("-e=bug", "-a=nope"), "B"),
    ],
)
def test_variants(project, words, expected):
    for variant, body in (("default", "D"), ("bug", "B"), ("bug_deep", "BD")):
        project.template("git/do/it", body, variant=variant)
    assert project.ok("git", "do", "it", *words) == f"{expected}\n"


def test_standard_input(project):
    project.template("git/do/it", "<{input_text}>")
    assert project.ok("git", "do", "it", stdin=b"  two\nlines \n") == "<two\nlines>\n"
    assert project.ok("git", "do", "it", "--json", stdin=b"x").startswith("{")
    odd = project.ok("git", "do", "it", stdin=b"\xff")
    assert odd == "<\N{REPLACEMENT CHARACTER}>\n"


def test_without_input_the_prompt_says_what_is_missing_on_standard_error(project):
    project.template("git/do/it", "<{input_text}>")
    done = project.run("git", "do", "it")
    assert done.stdout == b"<{input_text}>\n"
    assert done.stderr == b"climpt: Nothing was given for {input_text}\n"
    refused = project.fails("git", "do", "it", "--strict")
    assert "Nothing was given for {input_text}" in refused


def test_input_that_nobody_asked_for_is_mentioned(project):
    project.template("git/do/it", "Body")
    done = project.run("git", "do", "it", stdin=b"lost words")
    assert done.stdout == b"Body\n"
    assert b"standard input was not read" in done.stderr


def test_a_pipe_that_never_closes_is_not_waited_for_without_need(project):
    project.template("git/do/it", "Body")
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [str(BIN / "climpt"), "git", "do", "it"],
            stdin=reading, capture_output=True, cwd=project.root, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(writing)
    assert done.stdout == b"Body\n"


def test_a_pipe_that_never_closes_ends_with_words(project):
    program = (
        "from clew.commands.render.streams import read_standard_input\n"
        "from clew.kit.errors import ClewError\n"
        "try:\n    read_standard_input(0.05)\n"
        "except ClewError as error:\n    print(error.message)\n"
    )
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdin=reading, capture_output=True, timeout=60, check=True, text=True,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(writing)
    assert done.stdout == "Stdin reading timed out after 50ms\n"


def test_destination_is_only_named_and_write_writes(project):
    project.template("git/do/it", "To {destination_path}")
    place = project.root / "sub" / "out.md"
    assert project.ok("git", "do", "it", "-o=sub/out.md") == f"To {place}\n"
    assert not place.exists()
    done = project.run("git", "do", "it", "-o=sub/out.md", "--write=sub/out.md")
    assert done.stdout.decode() == f"To {place}\n"
    assert done.stderr.decode() == f"climpt: wrote {place}\n"
    assert place.read_text(encoding="utf-8") == f"To {place}\n"


def test_output_is_guarded(project, tmp_path):
    project.template("git/do/it", "Body")
    there = project.write("there.md", "precious")
    assert "already exists" in project.fails("git", "do", "it", "--write=there.md")
    assert there.read_text(encoding="utf-8") == "precious"
    assert "outside the project" in project.fails("git", "do", "it", "--write=../out.md")
    assert "outside the project" in project.fails("git", "do", "it", f"--write={tmp_path}/out.md")
    assert not (tmp_path / "out.md").exists()
    (project.root / ".git").mkdir()
    assert project.fails("git", "do", "it", "--write=.git/hooks/pre-commit")
    assert "is a directory" in project.fails("git", "do", "it", "--write=.git", "--force")
    (project.root / "link.md").symlink_to(tmp_path / "target.md")
    assert project.fails("git", "do", "it", "--write=link.md")
    project.ok("git", "do", "it", "--write=there.md", "--force")
    assert there.read_text(encoding="utf-8") == "Body\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("git", "nope", "it"), 1, "Command not found: git nope it"),
        (("git", "do"), 2, "three words"),
        (("git", "do", "it", "more"), 2, "three words"),
        (("gti",), 2, "No such command"),
        (("git", "do", "it", "--editon=x"), 2, "Did you mean --edition?"),
        (("git", "do", "it", "-e="), 2, "Empty value not allowed for option: -e"),
        (("git", "do", "it", "-z=1"), 2, "No such option: -z"),
        (("git", "do", "it", "--uv-x="), 1, "EmptyVariableValue: uv-x"),
        (("../../etc", "x", "y"), 1, "Command not found"),
    ],
)
def test_failures_say_what_to_do(project, words, code, message):
    project.template("git/do/it", "Body {uv-x}")
    assert message in project.fails(*words, code=code)


def test_failures_as_json(project):
    done = project.run("git", "nope", "it", "--json")
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["ok"]) == (1, False)
    assert envelope["error"]["message"] == "Command not found: git nope it"


def test_json_tells_how_it_came_about(project):
    path = project.template("git/do/it", "Body {uv-x}")
    data = project.data("git", "do", "it", "--uv-x=1")
    assert (data["prompt"], data["template"]) == ("Body 1\n", str(path))


def test_compat_renders_as_the_original(project):
    project.template("git/do/it", "{{input_text}}")
    words = ("git", "do", "it", "--uv-x=X")
    assert project.ok(*words, stdin=b"{uv-x}") == "{uv-x}\n"
    assert project.ok(*words, "--compat", stdin=b"{uv-x}") == "X\n"


def test_a_project_elsewhere_and_an_agent(project, tmp_path):
    project.template("inspector-git/do/it", "Theirs")
    words = ("git", "do", "it", "--agent=inspector", f"--project={project.root}")
    done = subprocess.run(
        [str(BIN / "climpt"), *words], capture_output=True, cwd=tmp_path, check=True, timeout=60
    )
    assert done.stdout == b"Theirs\n"


def test_a_configuration_names_another_agent(project):
    registries = {"climpt": f"{HOME}/registry.json", "inspector": ".agent/inspector/registry.json"}
    project.write(f"{HOME}/mcp/config.json", {"registries": registries})
    looked, gone = record("git/look/file"), record("git/gone/file")
    project.registry(looked, gone, path=".agent/inspector/registry.json")
    project.registry()
    for action in ("look", "list"):
        project.write(
            f".agent/inspector/prompts/git/{action}/file/f_default.md", f"{action} {{uv-x}}"
        )
        words = ("--config=inspector-git", action, "file", "--uv-x=1")
        assert project.ok(*words) == f"{action} 1\n"
    assert project.ok("inspector-git", "look", "file", "--uv-x=1") == "look 1\n"
    assert project.ok("run", "inspector-git", "look", "file", "--uv-x=1") == "look 1\n"
    assert "inspector-git look file" in project.fails("--config=inspector-git", "lok", "file")
    missing = project.fails("--config=inspector-git", "gone", "file")
    assert "climpt new inspector-git gone file" in missing
    project.template("inspector-git/look/file", "Nearer")
    assert project.ok("--config=inspector-git", "look", "file") == "Nearer\n"


def test_the_quick_way_imports_no_frame(project):
    program = (
        "import sys\nsys.argv = ['climpt', 'git', 'group-commit', 'unstaged-changes']\n"
        "from clew.faces import climpt\ncode = climpt()\n"
        "heavy = {'click', 're', 'pathlib', 'dataclasses', 'typing', 'json', 'subprocess'}\n"
        "print(code, sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        stdin=subprocess.DEVNULL, capture_output=True, cwd=project.root, text=True, timeout=60,
        check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_reader_that_leaves_is_no_error(project):
    project.template("git/do/it", "x" * 900_000)
    program = f"{BIN / 'climpt'} git do it | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program],
        cwd=project.root, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"x", b"")


def test_list_search_show(project):
    project.template("docs/write/page", "{uv-x}", title="Page", description="Write a page")
    data = project.data("list")["commands"]
    assert {"docs", "git", "meta"} == {one["c1"] for one in data}
    assert [one["origin"] for one in project.data("list", "--c1", "docs")["commands"]] == [
        "project"
    ]
    found = project.data("search", "write", "a", "page")["results"]
    assert found[0]["c1"] == "docs"
    explained = project.ok("search", "write a page", "--explain")
    assert "docs write page (project)" in explained
    assert project.ok("search", "qqqqzzzz") == "No command matches.\n"
    assert project.run("search").returncode == 2
    shown = project.ok("show", "docs", "write", "page")
    assert "asks for   uv-x" in shown
    assert project.ok("show", "docs", "write", "page", "--template").startswith("---\n")
    assert "Did you mean docs write page?" in project.fails("show", "docs", "write", "pge")


def test_new_is_valid_and_never_overwrites(project):
    words = ("new", "docs", "write", "page", "--description", "Write: a page", "--stdin")
    project.ok(*words, "--file", "--destination", "--uv", "tone=How it sounds", "--uv", "who")
    assert project.data("lint")["findings"] == []
    text = project.ok("docs", "write", "page", "--uv-tone=dry", "--uv-who=me", stdin=b"words")
    assert "dry" in text
    assert "words" in text
    assert "already exists" in project.fails(*words)
    assert "Not a usable action" in project.fails("new", "docs", "../x", "page")
    assert "Not a usable variable" in project.fails("new", "a", "b", "c", "--uv", "1=x", code=2)


def test_new_comes_with_an_example_that_passes(project):
    words = ("new", "docs", "write", "page", "--stdin", "--file", "--destination")
    made = project.data(*words, "--uv", "tone=How it sounds")
    assert project.ok("test") == "1 passed, 0 failed.\n"
    expected = Path(made["example"]).with_suffix(".md").read_text(encoding="utf-8")
    assert "<How it sounds>" in expected
    assert "<input>" in expected


def test_new_starts_as_a_copy_that_works(project):
    project.ok("new", "git", "my", "commit", "--from", "git/group-commit/unstaged-changes")
    copied = project.ok("show", "git", "my", "commit", "--template").partition("\n---\n")
    original = project.ok("show", "git", "group-commit", "unstaged-changes", "--template")
    assert copied[2].strip() == original.partition("\n---\n")[2].strip()
    assert "c2: my" in copied[0]
    assert project.data("lint")["findings"] == []
    assert project.ok("test") == "1 passed, 0 failed.\n"
    missing = project.fails("new", "a", "b", "c", "--from", "git/group-comit/unstaged-changes")
    assert "Did you mean git group-commit unstaged-changes?" in missing
    assert "C1/C2/C3" in project.fails("new", "a", "b", "c", "--from", "git", code=2)


def test_new_for_all_projects(project, private_home):
    project.ok("new", "docs", "write", "page", "--user")
    assert (private_home / HOME / "prompts/docs/write/page/f_default.md").exists()
    assert project.data("list", "--c1", "docs")["commands"][0]["origin"] == "user"


def test_edit_copies_a_packaged_template_and_checks_it(project):
    editor = project.write("editor.sh", '#!/bin/sh\nprintf "\\nMore {uv-new}\\n" >> "$1"\n')
    editor.chmod(0o755)
    env = {"EDITOR": str(editor), "VISUAL": ""}
    done = project.run("edit", "git", "merge-up", "base-branch", env=env)
    assert b"{uv-new} is used, but not declared" in done.stdout
    copied = project.root / f"{HOME}/prompts/git/merge-up/base-branch/f_default.md"
    assert copied.read_text(encoding="utf-8").endswith("More {uv-new}\n")
    assert (
        b"Editing failed"
        in project.run(
            "edit", "git", "merge-up", "base-branch", env={"EDITOR": "/no/such", "VISUAL": ""}
        ).stderr
    )
    project.run("edit", "git", "merge-up", "base-branch", "--edition", "bug", env=env)
    assert copied.with_name("f_bug.md").exists()


def test_examples_are_compared_and_updated(project):
    project.template("docs/write/page", "{uv-x}: {input_text}")
    base = f"{HOME}/prompts/docs/write/page"
    project.write(f"{base}/t_plain.json", {"uv": {"x": "X"}, "stdin": "text"})
    assert "t_plain.md is missing" in project.run("test").stdout.decode()
    project.ok("test", "--update")
    assert (project.root / base / "t_plain.md").read_text(encoding="utf-8") == "X: text\n"
    assert project.ok("test", "docs") == "1 passed, 0 failed.\n"
    project.template("docs/write/page", "{uv-x}; {input_text}")
    done = project.run("test")
    assert done.returncode == 1
    assert "+X; text" in done.stdout.decode()
    project.write(f"{base}/t_bad.json", "{")
    assert "Not JSON" in project.run("test").stdout.decode()


def test_init_installs_the_packaged_commands_once(project):
    first = project.data("init")
    assert len(first["written"]) >= 9
    listed = project.data("list")["commands"]
    assert {one["origin"] for one in listed} == {"project"}
    assert len(listed) == 7
    registry = json.loads((project.root / HOME / "registry.json").read_text(encoding="utf-8"))
    assert registry["tools"]["availableConfigs"] == ["git", "meta"]
    assert project.data("lint")["findings"] == []
    changed = project.template("git/merge-up/base-branch", "Mine")
    assert project.data("init")["written"] == []
    assert changed.read_text(encoding="utf-8") == "Mine"


def test_reload_and_registry_export(project):
    project.template("docs/write/page", "{input_text}", title="Page", description="Write a page")
    project.ok("export")
    written = json.loads((project.root / HOME / "registry.json").read_text(encoding="utf-8"))
    assert [one["c1"] for one in written["tools"]["commands"]] == ["docs"]
    project.template("docs/write/page", "{input_text}", title="Page", description="Changed words")
    assert [f["code"] for f in project.data("lint")["findings"]].count("registry-drift") == 1
    project.ok("export")
    assert "registry-drift" not in [f["code"] for f in project.data("lint")["findings"]]
    assert "Successfully reloaded" in project.ok("reload")
    project.write(f"{HOME}/registry.json", "{")
    assert "climpt export" in project.fails("list")
    project.ok("export")
    assert project.data("list", "--c1", "docs")["commands"]
    project.registry(record("a/b/c"), {"c1": "x"})
    done = project.run("reload")
    assert done.returncode == 1
    assert b"broken:" in done.stdout


def test_a_crash_report_keeps_no_secret():
    from clew.cli.core.crash import report_text

    words = ["git", "do", "it", "--uv-api-token=hunter2", "--uv-x=shown"]
    text = report_text(ValueError("x"), "climpt", words)
    assert "hunter2" not in text
    assert "--uv-x=shown" in text


def test_both_faces_find_the_same_project(project, private_home, tmp_path):
    named = Project(private_home / "x")
    named.template("docs/write/page", "Of the named project")
    (named.root / ".chant" / "specs").mkdir(parents=True)
    env = {"CLEW_PROJECT": "~/x"}
    assert project.ok("docs", "write", "page", env=env) == "Of the named project\n"
    assert project.ok("show", "docs", "write", "page", "--template", env=env)
    assert project.ok("add", "One spec", program="chant", env=env)
    assert list((named.root / ".chant" / "specs").glob("*.md"))
