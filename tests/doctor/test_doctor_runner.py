"""The running of checks: independent of each other, in order, and the tool over them."""

import json
import os
import subprocess

import pytest

from clew.doctor.checks import CHECKS, healthy, run_checks, run_repairs
from clew.doctor.model import Check, Subject, shell_path, show_path
from clew.doctor.tools import doctor
from clew.kit import jsontext
from clew.kit.call import Call
from clew.kit.errors import Unavailable


def good(_subject):
    return Check("good", "ok", "fine")


def two(_subject):
    return [Check("one", "ok", "1"), Check("two", "warn", "2")]


def surprised(_subject):
    raise ValueError("who knows")


def refused(_subject):
    raise Unavailable("not here", "Go there.")


@pytest.mark.parametrize("function", CHECKS)
def test_every_check_explains_itself(function):
    for check in run_checks(Subject(), (function,)):
        assert not check.summary.startswith(("The check crashed", "Not checked")), check
        assert check.status in {"ok", "warn", "fail"}
        assert check.summary
        assert check.status == "ok" or check.fix, f"{check.name} has no repair"


def test_a_check_may_answer_one_or_several():
    names = [check.name for check in run_checks(Subject(), (good, two))]

    assert names == ["good", "one", "two"]


def test_a_broken_check_fails_alone():
    functions = (surprised, refused, good)
    broken, unavailable, fine = run_checks(Subject(), functions)

    assert (broken.name, broken.status) == ("surprised", "fail")
    assert broken.summary == "The check crashed: ValueError: who knows"
    assert unavailable.summary == "Not checked: not here"
    assert unavailable.detail == "Go there."
    assert fine.status == "ok"


def test_warnings_are_healthy_and_failures_are_not():
    assert healthy([Check("a", "ok", ""), Check("b", "warn", "")])
    assert not healthy([Check("a", "fail", "")])


def test_only_checks_with_a_repair_are_repaired():
    assert run_repairs([Check("a", "fail", "", fix="do it yourself")], Subject()) == []


def test_paths_are_shown_short_and_quoted_for_shells(own_home, tmp_path):
    assert show_path(own_home / ".clew") == "~/.clew"
    assert show_path(own_home) == str(own_home)
    assert shell_path(own_home / "a b") == "~/'a b'"
    assert shell_path(tmp_path / "a;b") == f"'{tmp_path / 'a;b'}'"


def test_the_tool_answers_lines_and_data(repository):
    answer = doctor({"project": str(repository)}, Call())

    assert set(answer.data) == {"ok", "checks"}
    assert answer.data["ok"] is all(c["status"] != "fail" for c in answer.data["checks"])
    assert f"ok project: {repository}" in answer.text
    assert json.dumps(answer.data)
    first = answer.data["checks"][0]
    assert set(first) == {"name", "status", "summary", "detail", "fix", "repairable"}


def test_the_tool_shows_repairs_and_does_none(own_home):
    (own_home / ".clew").mkdir()
    (own_home / ".clew").chmod(0o755)
    answer = doctor({}, Call())

    assert "  fix: chmod 700 ~/.clew" in answer.text
    assert (own_home / ".clew").stat().st_mode & 0o777 == 0o755


def test_the_tool_takes_the_servers_project(repository):
    answer = doctor({}, Call(settings={"project": str(repository)}))

    assert f"ok project: {repository}" in answer.text


def denied(_subject):
    raise PermissionError(13, "Permission denied", "/some place")


def full(_subject):
    raise OSError(28, "No space left on device")


def unsayable(_subject):
    return Check("odd", "warn", os.fsdecode(b"a\xff"), detail="\ud800", fix=os.fsdecode(b"b\xff"))


def test_what_the_system_refuses_is_a_readable_finding():
    closed, disk = run_checks(Subject(), (denied, full))

    assert closed.summary == "Not checked: Permission denied: /some place"
    assert closed.fix == "ls -ld '/some place'"
    assert (disk.status, disk.summary) == ("fail", "Not checked: No space left on device")


def test_a_repair_that_the_system_refuses_says_so_in_plain_words():
    check = Check("home", "fail", "bad", repair=denied)

    assert run_repairs([check], Subject()) == ["Not repaired: home: Permission denied: /some place"]


def test_every_finding_can_be_said_in_json():
    [check] = run_checks(Subject(), (unsayable,))

    assert (check.summary, check.detail, check.fix) == (r"a\xff", r"\ud800", r"b\xff")


def test_a_project_whose_name_is_no_text_gets_commands_that_a_shell_understands(tmp_path):
    root = tmp_path / os.fsdecode(b"it's \xff")
    root.mkdir()
    answer = doctor({"project": str(root)}, Call())

    assert jsontext.dumps(answer.data)
    assert jsontext.dumps(answer.text)
    [check] = [item for item in answer.data["checks"] if item["name"] == "repository"]
    subprocess.run(["bash", "-c", check["fix"]], check=True, capture_output=True)
    assert (root / ".git").is_dir()


@pytest.mark.parametrize("named", ["~nosuchuser/x", "/" + "x" * 5000, "a\0b", "\ud800"])
def test_a_project_that_cannot_be_is_a_finding(named):
    answer = doctor({"project": named}, Call())

    assert jsontext.dumps(answer.data)
    [check] = [item for item in answer.data["checks"] if item["name"] == "project"]
    assert (check["status"], check["fix"]) == ("fail", "clew doctor --project DIR")
    assert "The check crashed" not in answer.text


@pytest.mark.parametrize("home", ["~nosuchuser/x", "/etc/passwd", "/etc/passwd/x", "/proc/x"])
def test_a_home_that_cannot_be_is_one_finding_with_its_repair(home, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", home)
    monkeypatch.setenv("CLEW_TOKEN_FILE", "~nosuchuser/token")
    checks = run_checks(Subject())

    [broken] = [check for check in checks if check.status == "fail"]
    assert broken.name == "home"
    assert broken.fix
