"""Each kind of change, followed link by link."""

from __future__ import annotations

import subprocess

import pytest

from clew.kit.errors import Invalid, NotFound
from clew.kit.git import run_git
from clew.thread.budget import pack_data, pack_text
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why
from tests.thread.story import LISTED, OPEN, SPEC, Repository, add_index, add_specs

ADR = "docs/adr/0001-keep-orders-in-sqlite.md"


def asked(story, target, **options):
    return pack_data(why(story.rooms(), target, **options))


def chain(data):
    """Kinds and ids of the chain; commits and lines by what they are."""
    return [(link["kind"], link["id"]) for link in data["chain"]]


def said(data, section):
    return [one["text"] for one in data["statements"] if one["section"] == section]


def sources(data, section):
    return [one["source"] for one in data["statements"] if one["section"] == section]


def test_a_spec_leads_to_its_commits_and_to_the_vision(story):
    data = asked(story, SPEC)
    assert data["title"] == f"Why {SPEC}"
    assert chain(data) == [
        ("spec", SPEC),
        ("run", story.runs[1]),
        ("decision", ADR),
        ("feature", "docs/vision.md#FE-1"),
        ("objective", "docs/vision.md#BO-1"),
    ]
    assert f"commit:shop@{story.shas['spec'][:12]}" in sources(data, "commit")
    with pytest.raises(NotFound, match="commit or spec"):
        asked(story, SPEC[:-1])


def test_a_line_of_a_spec_leads_through_run_and_decision_to_the_vision(story):
    data = asked(story, "tests/test_orders.py:1")
    assert chain(data) == [
        ("line", "tests/test_orders.py:1"),
        ("commit", f"shop@{story.shas['spec']}"),
        ("spec", SPEC),
        ("run", story.runs[1]),
        ("decision", ADR),
        ("feature", "docs/vision.md#FE-1"),
        ("objective", "docs/vision.md#BO-1"),
    ]
    assert said(data, "vision") == [
        "FE-1 Orders survive a crash",
        "BO-1 Cut lost orders by 30 % until May",
    ]
    assert sources(data, "vision") == ["vision:docs/vision.md#FE-1", "vision:docs/vision.md#BO-1"]
    (run, failed) = said(data, "run")
    assert "agent claude, model opus, attempt 2 of 2, finished" in run
    assert "$0.35 in all" in run
    assert failed == "attempt 1 failed: The tests failed"
    assert sources(data, "run") == [f"run:{one}" for one in reversed(story.runs)]
    assert said(data, "rejected") == ["PostgreSQL (ADR-0001)", "Plain files (ADR-0001)"]
    assert said(data, "together") == ["changed in the same commit: orders.py"]
    assert said(data, "message") == ["SQLite, since it needs no server."]


def test_every_statement_names_its_source(story):
    for target in ("tests/test_orders.py:1", "report.py", "shop/retry.py:1-2", "save_order"):
        for one in asked(story, target)["statements"]:
            assert one["source"], one
            assert f"[{one['source']}]" in pack_text(why(story.rooms(), target, budget=5000))


def test_a_renamed_and_reformatted_line_is_followed_to_its_birth(story):
    data = asked(story, "shop/orders.py:5")
    assert chain(data)[1:3] == [("commit", f"shop@{story.shas['spec']}"), ("spec", SPEC)]
    assert said(data, "line") == ["connection = sqlite3.connect( path ) (then orders.py:5)"]


def test_without_the_list_a_reformatting_that_is_more_than_spaces_counts(bare_story):
    repository = bare_story.repository
    text = (repository.path / "report.py").read_text().replace("'", '"')
    sha = bare_story.commit("quotes", "Use double quotes", {"report.py": text})
    assert chain(asked(bare_story, "report.py:2"))[1] == ("commit", f"shop@{sha}")
    listed = (repository.path / ".git-blame-ignore-revs").read_text() + f"{sha}\n"
    bare_story.commit("list", "List it", {".git-blame-ignore-revs": listed})
    assert chain(asked(bare_story, "report.py:2"))[1] == (
        "commit",
        f"shop@{bare_story.shas['human']}",
    )


def test_a_damaged_list_of_reformattings_is_passed_by(bare_story):
    (bare_story.root / ".git-blame-ignore-revs").write_text("this is no commit\n")
    assert chain(asked(bare_story, "report.py:2"))[1][1].endswith(bare_story.shas["human"])


def test_a_line_that_moved_to_another_file_is_followed(story):
    data = asked(story, "shop/saving.py:2")
    assert chain(data)[1:3] == [("commit", f"shop@{story.shas['spec']}"), ("spec", SPEC)]
    assert "(then orders.py:11)" in said(data, "line")[0]


def test_a_human_change_tells_message_issues_companions_and_alternatives(story):
    data = asked(story, "report.py:2")
    assert chain(data) == [("line", "report.py:2"), ("commit", f"shop@{story.shas['human']}")]
    assert said(data, "issues") == ["closes #7"]
    assert said(data, "together") == ["changed in the same commit: README.md"]
    assert said(data, "rejected") == []  # prose lists nothing
    assert said(data, "spec") == ["No spec names this commit, and it names none"]


def test_a_spec_is_found_by_its_list_of_commits(story):
    data = asked(story, story.shas["listed"])
    assert chain(data) == [("commit", f"shop@{story.shas['listed']}"), ("spec", LISTED)]
    assert "lists this commit" in said(data, "spec")[0]


def test_a_revert_leads_to_what_it_takes_back_and_to_the_line_before(story):
    data = asked(story, "shop/retry.py:2")
    assert chain(data) == [
        ("line", "shop/retry.py:2"),
        ("commit", f"shop@{story.shas['revert']}"),
        ("commit", f"shop@{story.shas['listed']}"),
        ("spec", LISTED),
    ]
    earlier = said(data, "earlier")
    assert earlier[0].startswith(f"reverts {story.shas['shorter'][:12]}")
    assert story.shas["listed"][:12] in earlier[1]


def test_a_reverted_commit_says_so(story):
    later = said(asked(story, story.shas["shorter"]), "later")
    assert len(later) == 1
    assert later[0].startswith(f"was reverted by {story.shas['revert'][:12]}")


def test_a_picked_commit_has_the_spec_of_its_original(story):
    data = asked(story, "shop/log.py:1")
    assert chain(data)[1:] == [("commit", f"shop@{story.shas['picked']}"), ("spec", LISTED)]
    assert "picked from" in said(data, "spec")[0]
    assert said(data, "earlier") == [f"was picked from {story.shas['original'][:12]}"]


def test_a_squash_names_the_specs_of_what_it_squashed(story):
    data = asked(story, "shop/night.py:1")
    assert chain(data)[1:] == [("commit", f"shop@{story.shas['squash']}"), ("spec", OPEN)]
    assert "squashed" in said(data, "spec")[0]


@pytest.mark.parametrize("trailer", ["Spec", "Chant-Spec", "Spec-Id"])
def test_a_trailer_names_the_spec(story, trailer):
    sha = story.commit("trailer", f"Tidy up\n\n{trailer}: {OPEN}\n", {"x.py": "x = 1\n"})
    assert ("spec", OPEN) in chain(asked(story, sha))


def test_a_merge_names_the_spec_of_its_branch(story):
    git = story.repository.git
    git("checkout", "-q", "-b", f"chant/{OPEN}", "HEAD~1")
    story.commit("on branch", "Work without a mark", {"y.py": "y = 1\n"})
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", f"Merge chant/{OPEN}: Nightly job", f"chant/{OPEN}")
    assert ("spec", OPEN) in chain(asked(story, story.repository.head()))


def test_lines_that_are_not_committed_are_told_and_others_still_found(story):
    file = story.root / "report.py"
    file.write_text("# new\n" + file.read_text())
    assert said(asked(story, "report.py:1"), "line") == ["not committed yet: line 1"]
    assert chain(asked(story, "report.py:2"))[1] == ("commit", f"shop@{story.shas['human']}")


def test_several_lines_have_their_commits_by_number_of_lines(story):
    data = asked(story, "shop/retry.py:1-2")
    assert {link[1] for link in chain(data) if link[0] == "commit"} >= {f"shop@{story.shas['bad']}"}
    assert any("1 more line: " in text for text in said(data, "line"))


def test_a_symbol_is_found_where_it_is_defined(story):
    data = asked(story, "save_order")
    assert data["title"] == "Why shop/saving.py:1-2"
    assert ("spec", SPEC) in chain(data)


def test_a_file_tells_how_it_came_and_what_changed_it(story):
    data = asked(story, "shop/retry.py")
    assert chain(data)[:2] == [("file", "shop/retry.py"), ("commit", f"shop@{story.shas['bad']}")]
    assert len(said(data, "changes")) == 3


def test_it_works_with_git_alone_and_says_what_is_missing(bare_story):
    data = asked(bare_story, "shop/orders.py:5")
    assert chain(data)[1] == ("commit", f"shop@{bare_story.shas['spec']}")
    missing = said(data, "missing")
    assert "not in the index" in missing[0]
    assert len(missing) == 1
    later = said(asked(bare_story, bare_story.shas["shorter"]), "later")
    assert later[0].startswith("was reverted by")


def test_an_index_that_is_behind_is_told_and_git_fills_in(story):
    sha = story.commit("new", "Brand new", {"new.py": "n = 1\n"})
    data = asked(story, "new.py:1")
    assert chain(data)[1] == ("commit", f"shop@{sha}")
    assert any("The index is behind" in text for text in said(data, "missing"))


def test_a_repository_that_is_not_registered_is_told(bare_story, tmp_path):
    add_specs(bare_story)
    other = Repository(tmp_path / "other")
    other.commit("One", {"a.txt": "a\n"})
    bare_story.repository = other
    add_index(bare_story)
    bare_story.repository = Repository(tmp_path / "shop")
    missing = said(asked(bare_story, "report.py:1"), "missing")
    assert any("not in the index" in text for text in missing)


def test_a_linked_worktree_counts_its_own_lines(story, tmp_path, monkeypatch):
    from clew.thread.rooms import open_rooms

    place = tmp_path / "linked"
    story.repository.git("worktree", "add", "-q", "-b", "work", str(place))
    (place / "extra.py").write_text("e = 1\n")
    linked = Repository(place)
    sha = linked.commit("chant(2026-02-02-001-aaa): Extra")
    monkeypatch.chdir(place)
    data = pack_data(why(open_rooms(), "extra.py:1"))
    assert chain(data)[1] == ("commit", f"shop@{sha}")


def test_nothing_outside_is_readable(story, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret\n")
    (story.root / "link.txt").symlink_to(secret)
    (story.root / "shop" / "up").symlink_to(tmp_path)
    stranger = Repository(tmp_path / "stranger")
    hidden = stranger.commit("Hidden words", {"hidden.py": "h = 1\n"})
    for target in (
        str(secret),
        f"{secret}:1",
        "../secret.txt",
        "../secret.txt:1",
        "shop/../../secret.txt:1",
        "shop/up/secret.txt:1",
        "link.txt:1",
        "./../secret.txt:1",
        f"{story.root}/../secret.txt:1",
        str(stranger.path / "hidden.py"),
        "../stranger/hidden.py:1",
        "-rf:1",
        "--output=x:1",
        ".git/config:1",
        "~/gitconfig:1",
        hidden,
        "a\0b",
    ):
        with pytest.raises((Invalid, NotFound)) as error:
            why(story.rooms(), target)
        assert "the secret" not in str(error.value)


def test_a_link_in_the_checkout_is_not_read_for_a_committed_file(story, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret\n")
    (story.root / "report.py").unlink()
    (story.root / "report.py").symlink_to(secret)
    text = pack_text(why(story.rooms(), "report.py:1"))
    assert "the secret" not in text
    assert "def report(day):" in text


def test_a_registered_repository_is_readable_by_name_and_by_path(story, tmp_path):
    other = Repository(tmp_path / "other")
    sha = other.commit("In the other one", {"o.py": "o = 1\n"})
    from clew.history.store.sqlite import SqliteHistory, database_path
    from clew.history.sync.ingest import sync_repo
    from clew.history.sync.repositories import register

    store = SqliteHistory.open(database_path())
    sync_repo(store, register(store, other.path, name="other"))
    store.close()
    for target, options in (("o.py:1", {"repo": "other"}), (f"{other.path}/o.py:1", {}), (sha, {})):
        assert chain(asked(story, target, **options))[-1] == ("commit", f"other@{sha}")


@pytest.mark.parametrize("target", ["nowhere.py:1", "no_such_name", "report.py:99", "deadbeef12"])
def test_what_is_not_there_is_said_with_the_next_step(story, target):
    with pytest.raises(NotFound) as error:
        why(story.rooms(), target)
    assert error.value.hint


def test_a_place_without_a_repository_says_so(tmp_path):
    from clew.thread.rooms import open_rooms

    (tmp_path / ".chant").mkdir()
    with pytest.raises(NotFound, match="no git repository"):
        why(open_rooms({"project": str(tmp_path)}), "a.py:1")


def test_a_shallow_clone_says_that_it_does_not_know(bare_story, tmp_path, monkeypatch):
    clone = tmp_path / "shallow"
    address = f"file://{bare_story.root}"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", address, str(clone)], check=True)
    data = pack_data(why(open_rooms({"project": str(clone)}), "README.md:1"))
    assert any("this clone is shallow and ends at" in text for text in said(data, "line"))
    assert said(data, "commit") == []


def test_a_name_that_git_quotes_is_shown_as_it_is(bare_story):
    name = 'odd "näme".py'
    (bare_story.root / name).write_text("one = 1\n", "utf-8")
    run_git("add", "--all", cwd=bare_story.root)
    run_git("commit", "--quiet", "--message", "Add an odd one", cwd=bare_story.root)
    data = asked(bare_story, f"{name}:1")
    assert said(data, "line") == ["one = 1"]
