"""The running of checks: independent of each other, in order, and the tool over them."""

import json

import pytest

from clew.doctor.checks import CHECKS, healthy, run_checks, run_repairs
from clew.doctor.model import Check, Subject, shell_path, show_path
from clew.doctor.tools import doctor
from clew.kit.call import Call
from clew.kit.errors import Unavailable

HERE = __name__


def good(_subject):
    return Check("good", "ok", "fine")


def two(_subject):
    return [Check("one", "ok", "1"), Check("two", "warn", "2")]


def surprised(_subject):
    raise ValueError("who knows")


def refused(_subject):
    raise Unavailable("not here", "Go there.")


@pytest.mark.parametrize("path", CHECKS)
def test_every_named_check_exists_and_explains_itself(path):
    for check in run_checks(Subject(), (path,)):
        assert not check.summary.startswith("The check broke"), check
        assert check.status in {"ok", "warn", "fail"}
        assert check.summary
        assert check.status == "ok" or check.fix, f"{check.name} has no repair"


def test_a_check_may_answer_one_or_several():
    names = [check.name for check in run_checks(Subject(), (f"{HERE}:good", f"{HERE}:two"))]

    assert names == ["good", "one", "two"]


def test_a_broken_check_fails_alone():
    paths = (f"{HERE}:surprised", f"{HERE}:refused", f"{HERE}:good")
    broken, unavailable, fine = run_checks(Subject(), paths)

    assert (broken.name, broken.status) == ("surprised", "fail")
    assert broken.summary == "The check broke: ValueError: who knows"
    assert unavailable.summary == "The check broke: not here"
    assert unavailable.detail == "Go there."
    assert fine.status == "ok"


@pytest.mark.parametrize("path", ["no.such.module:check", f"{HERE}:no_such_check", "nonsense"])
def test_a_check_that_does_not_exist_fails_alone(path):
    [check] = run_checks(Subject(), (path,))

    assert check.status == "fail"


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
