"""The commit behind a line that was moved, copied or broken otherwise."""

from __future__ import annotations

import pytest

from clew.thread.budget import pack_data
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why
from tests.support.repos import Repository

HOOK = """static void *hook_start_{name}(State *from, State *to)
{{
    TestMigrateTransport args = {{
        .verify_client = true,
        .client_certificate = true,
    }};
    return hook_start_common(from, to, &args, "{name}");
}}
"""


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "shop")


def behind(repository, target):
    data = pack_data(why(open_rooms({"project": str(repository.path)}), target))
    return next(one["id"] for one in data["chain"] if one["kind"] == "commit").partition("@")[2]


def test_a_line_of_a_copy_belongs_to_who_copied(repository):
    repository.commit("One hook", {"a.c": HOOK.format(name="one")})
    sha = repository.commit(
        "Another", {"a.c": HOOK.format(name="one") + "\n" + HOOK.format(name="two")}
    )
    other = repository.commit("A third", {"b.c": HOOK.format(name="three")})
    assert [behind(repository, f"a.c:{line}") for line in (12, 13, 16)] == [sha] * 3
    assert behind(repository, "b.c:3") == other


def test_moved_lines_lead_to_who_wrote_them(repository):
    one, two = HOOK.format(name="one"), HOOK.format(name="two")
    first = repository.commit("One hook", {"a.c": f"int x;\n{one}int y;\n"})
    second = repository.commit("Another", {"a.c": f"int x;\n{one}int y;\n{two}"})
    repository.commit("Split", {"a.c": "int x;\nint y;\n", "b.c": two, "c.c": one})
    repository.commit("Join", {"a.c": f"int x;\nint y;\n{two}{one}", "b.c": "", "c.c": ""})
    assert [behind(repository, f"a.c:{line}") for line in (3, 5, 10)] == [second] * 3
    assert [behind(repository, f"a.c:{line}") for line in (11, 13, 18)] == [first] * 3


def test_a_line_that_a_change_took_away_once_and_added_twice_is_new(repository):
    one = HOOK.format(name="one")
    repository.commit("One hook", {"a.c": one})
    sha = repository.commit("Generate", {"a.c": "", "b.c": one.replace("one", "b") + one * 2})
    assert behind(repository, "b.c:11") == sha


def test_a_line_that_was_joined_or_split_leads_to_who_wrote_it(repository):
    wide = "int interface_state(struct get_elem_args *args);\n"
    narrow = "int interface_state(\n        struct get_elem_args *args);\n"
    call = "value = compute_everything(first_value, second_value)\n"
    split = "value = compute_everything(\n    first_value,\n    second_value,\n)\n"
    start = repository.commit("Start", {"a.h": f"int a;\n{narrow}int b;\n", "b.py": call})
    repository.commit("Format", {"a.h": f"int a;\n{wide}int b;\n", "b.py": split})
    assert behind(repository, "a.h:2") == start
    assert [behind(repository, f"b.py:{line}") for line in (1, 2, 3, 4)] == [start] * 4
    sha = repository.commit("Less", {"b.py": "value = compute_everything(first_value)\n"})
    assert behind(repository, "b.py:1") == sha


def test_rewrapped_comments_lead_to_who_wrote_them(repository):
    text = "# The parser keeps what it read\n# until somebody asks for it again.\nx = 1\n"
    start = repository.commit("Say why", {"a.py": text})
    wrapped = "# The parser keeps what it\n# read until somebody asks\n# for it again.\nx = 1\n"
    repository.commit("Wrap", {"a.py": wrapped})
    assert [behind(repository, f"a.py:{line}") for line in (1, 2, 3)] == [start] * 3


def test_lines_of_a_range_go_each_to_their_own(repository):
    one, two = HOOK.format(name="one"), HOOK.format(name="two")
    first = repository.commit("One hook", {"a.c": one})
    repository.commit("Away", {"a.c": "", "b.c": one})
    repository.commit("Another", {"b.c": one + two})
    data = pack_data(why(open_rooms({"project": str(repository.path)}), "b.c:1-9"))
    assert data["chain"][1]["id"].endswith(first)
    assert any("1 more line:" in one["text"] for one in data["statements"])
