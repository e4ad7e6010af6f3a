"""A path's commits and people, what changes together, and what changes most."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.history.questions.cochange import co_change
from clew.history.questions.file_history import file_history
from clew.history.questions.hotspots import hotspots
from clew.history.questions.owners import owners
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.history.sync.sync import bring_up_to_date
from clew.kit.errors import Invalid, NotFound
from tests.history.index import new_index
from tests.history.questions.conftest import DAY, START, Story, shas
from tests.support.repos import Repository


@pytest.mark.parametrize("path", ["src/core.py", "src/util.py", "docs/guide.md", "src/app.py"])
def test_file_history_is_gits_log_with_follow(store, story, path):
    found = file_history(store, "demo", path)

    assert shas(found) == story.lines("log", "--follow", "--format=%H", "--", path)


def test_file_history_tells_status_counts_and_old_path(store, story):
    by_name = {
        story.name_of(commit["sha"]): commit
        for commit in file_history(store, "demo", "src/core.py")["commits"]
    }

    renamed = by_name["rename"]
    assert (renamed["status"], renamed["path"], renamed["old_path"]) == (
        "R", "src/core.py", "src/app.py",
    )  # fmt: skip
    assert (renamed["added"], renamed["removed"]) == (1, 1)
    assert (by_name["start"]["status"], by_name["start"]["path"]) == ("A", "src/app.py")
    assert by_name["start"]["added"] == 7
    assert "merge" not in by_name


def test_file_history_is_bounded(store):
    two = file_history(store, "demo", "src/core.py", limit=2)

    assert len(two["commits"]) == 2 < two["total"]
    assert file_history(store, "demo", "never/was.py")["commits"] == []
    assert file_history(store, "demo", "src/core.py", since=START + 10**9)["total"] == 0


def test_names_that_are_swapped_end(story, tmp_path):
    from clew.history.sync.ingest import sync_repo
    from clew.history.sync.repositories import register
    from tests.history.questions.conftest import Story

    swapped = Story(tmp_path / "swapped")
    swapped.write("a", *(f"one {n}" for n in range(20)))
    swapped.commit("a", "a")
    swapped.git("mv", "a", "b")
    swapped.commit("b", "b")
    swapped.git("mv", "b", "a")
    swapped.commit("back", "back")
    store = new_index(tmp_path / "db")
    sync_repo(store, register(store, swapped.root))

    found = file_history(store, "swapped", "a")
    assert [swapped.name_of(sha) for sha in shas(found)] == ["back", "b", "a"]


def test_owners_are_ranked_by_recent_changes(store, story):
    found = owners(store, "demo", "src/util.py")

    by_email = {owner["email"]: owner for owner in found["owners"]}
    assert by_email["bob@example.com"]["commits"] == 3
    assert by_email["bob@example.com"]["lines"] == 5
    assert sum(owner["share"] for owner in found["owners"]) == pytest.approx(1, abs=0.001)
    shares = [owner["share"] for owner in found["owners"]]
    assert shares == sorted(shares, reverse=True)
    assert found["bus_factor"] == 1
    touched = story.git("log", "-1", "--format=%at", "--author=bob", "--", "src/util.py")
    assert by_email["bob@example.com"]["last_touch"] == int(touched)


def test_people_of_one_name_with_several_addresses_get_a_line_for_the_mailmap(tmp_path):
    repository = Repository(tmp_path / "people")
    people = (
        "Jo Doe <jo@work.example>",
        "Jo Doe <jo@home.example>",
        "root <root@a>",
        "root <root@b>",
    )
    for number, author in enumerate((people[0], *people)):
        repository.commit(f"Change {number}", {"a": f"{number}\n"}, options=[f"--author={author}"])
    store = new_index(tmp_path / "db")
    repo = register(store, repository.path, name="people")
    sync_repo(store, repo)
    (line,) = owners(store, "people")["mailmap"]
    assert line == "Jo Doe <jo@work.example> <jo@home.example>"

    repository.commit("Add it", {".mailmap": f"{line}\n"}, options=[f"--author={people[0]}"])
    bring_up_to_date(store, repo, full=True)
    found = owners(store, "people")
    assert found["mailmap"] == []
    assert found["owners"][0]["commits"] == 4


def test_owners_of_directories_and_of_everything(store, story):
    inside = owners(store, "demo", "src/")
    everything = owners(store, "demo")

    assert inside["commits"] == len(story.lines("log", "--no-merges", "--format=%H", "--", "src"))
    assert everything["commits"] == len(story.lines("log", "--no-merges", "--format=%H"))
    assert owners(store, "demo", "sr")["owners"] == []
    assert owners(store, "demo", "nope")["bus_factor"] == 0
    assert len(owners(store, "demo", limit=1)["owners"]) == 1 < everything["total"]


def test_files_that_change_together(store):
    found = co_change(store, "demo", "src/core.py")

    share = round(5 / found["commits"], 4)
    assert found["files"] == [
        {"path": "src/util.py", "support": 5, "confidence": share, "names": [], "signs": []}
    ]
    assert found["left_out"] == 1
    alone = co_change(store, "demo", "src/core.py", min_support=1)
    assert "docs/guide.md" in [file["path"] for file in alone["files"]]
    assert not any(file["path"].startswith("many/") for file in alone["files"])
    assert co_change(store, "demo", "never/was.py")["files"] == []


def test_hotspots_count_as_git_counts(store, story):
    found = hotspots(store, limit=2)

    top = found["paths"][0]
    assert top["path"] == "src/core.py"
    log = ("log", "--no-merges", "--format=%H", "--", "src/core.py")
    assert top["commits"] == len(story.lines(*log))
    numbers = [
        line.split()[:2]
        for line in story.git("log", "--no-merges", "--format=", "--numstat", "-M").splitlines()
        if line.endswith(("core.py", "core.py}"))
    ]
    assert top["added"] == sum(int(added) for added, _ in numbers)
    assert top["removed"] == sum(int(removed) for _, removed in numbers)
    assert top["authors"] == 2
    assert found["total"] > 60


def test_hotspots_of_a_time_and_a_path(store):
    early = hotspots(store, since=START, until=START + DAY, repos=["demo"])
    assert {path["path"] for path in early["paths"]} == {"src/app.py", "docs/guide.md"}
    assert [p["path"] for p in hotspots(store, paths=["docs/*"])["paths"]] == [
        "docs/guide.md", "docs/side.md",
    ]  # fmt: skip
    assert hotspots(store, paths=["nope"])["paths"] == []
    assert hotspots(store, limit=0)["paths"] == []


@pytest.mark.parametrize("ask", [file_history, co_change, owners])
def test_names_are_checked(store, ask):
    with pytest.raises(NotFound, match="Repo 'nope' not found"):
        ask(store, "nope", "src/core.py")
    for path in ("../x", "/x", "-x", "a\x00", "\ud800"):
        with pytest.raises(Invalid):
            ask(store, "demo", path)


def test_what_a_commit_left_out_is_found_by_names_and_words(tmp_path):
    story = Story(tmp_path / "shop")
    story.write("src/price.c", "int gross_price(int net);")
    story.write("src/till.c", "int till(void);")
    story.commit("start", "Start")
    story.write("src/till.c", "int till(void) { return gross_price(1); }")
    story.commit("use", "Use prices at the till")
    story.write("src/menu.c", "int menu(void);")
    story.commit("menu", "Draw the menu")
    story.write("src/price.c", "int gross_price(int net, int tax);")
    story.commit("change", "Take the tax into the price")
    store = SqliteHistory.create(tmp_path / "index" / "db.sqlite3")
    sync_repo(store, register(store, Path(story.root), name="shop"))
    by_names = co_change(store, "shop", story["change"])["files"]
    assert "names" in by_names[0].pop("signs")
    assert by_names[0] == {
        "path": "src/till.c", "support": 1, "confidence": 0.5, "names": ["gross_price"],
    }  # fmt: skip
    by_words = co_change(store, "shop", story["change"], about="the menu is drawn twice")["files"]
    assert {one["path"] for one in by_words} == {"src/till.c", "src/menu.c"}
    store.close()
