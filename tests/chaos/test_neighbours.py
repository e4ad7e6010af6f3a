"""What others do to Clew's files and beside it: delete logs, move objects, uninstall, write too."""

from __future__ import annotations

import subprocess
import threading
from contextlib import closing

import pytest

from clew.advisors.conversation.store import database_path
from clew.history.store.sqlite import SqliteHistory
from clew.specs.store.store import SpecStore
from clew.work.journal.sqlite import SqliteJournal
from tests.chaos.test_conversations import SPEAK, assert_all_there
from tests.chaos.test_git_children import assert_gone, below
from tests.chaos.test_merge_queue import (
    MERGE,
    assert_merges_now,
    assert_old_or_new,
    ready_to_merge,
)
from tests.history.index import content, new_index, sync
from tests.support.client import BIN, StdioServer, face
from tests.support.faults import assert_civil, python, run, start
from tests.support.proof import amount
from tests.support.repos import Repository
from tests.support.waiting import wait_until
from tests.web.shop import Shop as Board
from tests.web.test_security import ask, enter

EACH = amount(4, 20)


def delete_log(path):
    """Delete what SQLite keeps beside a database, as a cleaner does that knows only its name."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@pytest.mark.parametrize("is_open", [False, True])
def test_the_log_of_an_index_is_deleted(tmp_path, faults, is_open):
    """What was only in the log is gone; what is left is whole, and a sync brings the rest."""
    repository = Repository(tmp_path / "r")
    repository.commit("first", {"a.txt": "1\n"})
    path = tmp_path / "db"
    new_index(path, repository).close()
    held = SqliteHistory.open(path)
    repository.commit("second", {"a.txt": "2\n"})
    sync(held)
    assert path.with_name("db-wal").stat().st_size
    if not is_open:  # as kill -9 leaves it: copied, because closing would tidy up
        path = tmp_path / "copy"
        path.write_bytes((tmp_path / "db").read_bytes())
    delete_log(path)
    for words in (("status",), ("search", "first"), ("sync",), ("sync", "--full"), ("verify",)):
        done = run([BIN / "commitmux", *words, "--db", path])
        assert_civil(done)
        faults.survived()
    held.close()
    if run([BIN / "commitmux", "verify", "--db", path]).returncode:
        assert run([BIN / "commitmux", "sync", "--full", "--db", path]).returncode == 0
    clean = content(new_index(tmp_path / "clean", repository))
    with closing(SqliteHistory.read(path)) as found:
        assert content(found) == clean


def test_the_log_of_a_journal_is_deleted(tmp_path, faults):
    shop = ready_to_merge(tmp_path / "shop")
    with closing(SqliteJournal(shop.paths.journal)):
        delete_log(shop.paths.journal)
        assert_civil(run([BIN / "chant", "runs", "--project", shop.root]))
    assert_merges_now(shop)
    faults.survived()


def test_conversations_go_on_after_kills_and_deleted_logs(faults):
    said = []
    for name in ("one", "two"):
        speaker = start(python(SPEAK, name, 200, "say"))
        lines = [speaker.stdout.readline().strip() for _ in range(3)]
        assert all(lines)
        speaker.kill()
        out, _ = speaker.communicate(timeout=60)
        said += lines + [line for line in out.split("\n")[:-1] if line]
        assert_all_there(*said)
        faults.survived()
    delete_log(database_path())
    done = run(python(SPEAK, "three", 2, "say"))
    assert done.stdout.split() == ["three-0", "three-1"], done.stderr
    faults.survived()


def test_a_merge_is_killed_from_outside(tmp_path, faults):
    """At moments that the merger does not choose: when its child appears, and later ones."""
    for number in range(amount(2, 8)):
        shop = ready_to_merge(tmp_path / f"shop{number}")
        old = shop.main()
        merger = start(python(MERGE, shop.root, "001"))
        integration = shop.root / ".git" / "worktrees"
        before = len(list(integration.glob("*")))
        wait_until(
            lambda m=merger, place=integration, count=before, n=number: (
                m.poll() is not None or len(list(place.glob("*"))) > count + n % 2 - 1
            )
        )
        children = below(merger) if merger.poll() is None else []
        merger.kill()
        merger.communicate(timeout=60)
        assert_gone(children)
        files = shop.repo.text("ls-tree", "--name-only", "main").split()
        assert ("new.txt" in files) == (shop.main() != old)
        assert_merges_now(shop)
        assert_old_or_new(shop, old)
        faults.survived()


def test_objects_that_another_repository_lends_go_away_and_come_back(tmp_path, faults):
    lender = Repository(tmp_path / "lender")
    lender.commit("lent", {"a.txt": "1\n"})
    place = tmp_path / "borrower"
    subprocess.run(["git", "clone", "--quiet", "--shared", lender.path, place], check=True)
    borrower = Repository(place)
    borrower.commit("own", {"b.txt": "2\n"})
    path = tmp_path / "db"
    new_index(path, borrower).close()
    with closing(SqliteHistory.read(path)) as before:
        known = content(before)
    lender.path.rename(tmp_path / "away")
    for words in (("sync",), ("verify",), ("status",), ("search", "lent")):
        done = run([BIN / "commitmux", *words, "--db", path])
        assert_civil(done)
        faults.survived()
    with closing(SqliteHistory.read(path)) as after:
        assert content(after) == known
    (tmp_path / "away").rename(lender.path)
    borrower.commit("later", {"b.txt": "3\n"})
    assert run([BIN / "commitmux", "sync", "--db", path]).returncode == 0
    with closing(SqliteHistory.read(path)) as found:
        assert content(found) == content(new_index(tmp_path / "clean", borrower))


def test_grafts_and_replacements_come_and_go(tmp_path, faults):
    """What one machine puts in place of commits is never in the index, however it comes and goes."""
    repository = Repository(tmp_path / "r")
    shas = [repository.commit(f"number {n}", {"a.txt": f"{n}\n"}) for n in range(EACH)]
    path = tmp_path / "db"
    store = new_index(path, repository)
    grafts = repository.path / ".git" / "info" / "grafts"
    for number in range(EACH):
        if number % 2:
            grafts.write_text(f"{shas[-1]}\n{shas[1]} {shas[-2]}\n")
            repository.git("replace", "-f", shas[1], shas[0])
        else:
            grafts.unlink(missing_ok=True)
            repository.git("replace", "-d", shas[1]) if number else None
        shas.append(repository.commit(f"later {number}", {"a.txt": f"later {number}\n"}))
        sync(store)
        done = run([BIN / "commitmux", "verify", "--db", path])
        assert done.returncode == 0, done.stdout + done.stderr
        faults.survived()
    grafts.unlink(missing_ok=True)
    repository.git("replace", "-d", shas[1])
    fresh = new_index(tmp_path / "fresh", repository)
    with closing(store), closing(fresh):
        assert content(store) == content(fresh)


def test_commits_go_on_after_clew_was_uninstalled(tmp_path, faults):
    """Its hooks find no program; git must not notice."""
    repository = Repository(tmp_path / "r")
    repository.commit("first", {"a.txt": "1\n"})
    path = tmp_path / "db"
    new_index(path, repository, name="r").close()
    assert run([BIN / "commitmux", "install-hook", "r", "--db", path]).returncode == 0
    for hook in (repository.path / ".git" / "hooks").glob("post-*"):
        hook.write_text(hook.read_text().replace(str(BIN), str(tmp_path / "uninstalled")))
    done = subprocess.run(
        ["git", "commit", "--allow-empty", "--quiet", "-m", "second"],
        cwd=repository.path, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    faults.survived()


def by_board(server):
    """Add specs by the board's form; whether each was taken."""
    cookie, csrf = enter(server)
    for number in range(EACH):
        given = {"csrf": csrf, "description": f"board {number}"}
        yield ask(server, "/specs", "POST", given, Cookie=cookie)[0] == 303


def by_terminal(root, shared):
    """Add specs, and append to the shared one, by commands."""
    for number in range(EACH):
        for words in (
            ("add", f"terminal {number}"),
            ("update", shared, "--output", f"typed {number}."),
        ):
            yield run([BIN / "chant", *words, "--project", root]).returncode == 0


def by_tools(server, shared):
    """The same by calls of tools."""
    for number in range(EACH):
        for name, given in (
            ("chant_add", {"description": f"tools {number}"}),
            ("chant_spec_update", {"id": shared, "output": f"said {number}."}),
        ):
            answer = server.result("tools/call", {"name": name, "arguments": given})
            yield not answer.get("isError")


def test_board_terminal_and_tools_write_at_once(tmp_path, faults):
    """Each adds specs, two write into one: nothing is lost, whoever was first."""
    shop = Board(tmp_path / "shop")
    shared = shop.spec("2026-03-02-001-abc", "Shared", criteria=(("One", False),))
    taken = {}
    command = face("chant", "mcp", "--extended")
    with shop.work, shop.serve() as board, StdioServer(command, cwd=shop.root) as tools:
        writers = {
            "board": by_board(board),
            "terminal": by_terminal(shop.root, shared),
            "tools": by_tools(tools, shared),
        }
        threads = [
            threading.Thread(target=lambda name=name, each=each: taken.update({name: list(each)}))
            for name, each in writers.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {name: set(each) for name, each in taken.items()} == {key: {True} for key in writers}
    store = SpecStore(shop.root)
    titles = {head.title for head in store.heads()}
    assert {f"{name} {number}" for name in writers for number in range(EACH)} <= titles
    text = shop.file(shared).read_text()
    said = [f"{word} {number}." for word in ("typed", "said") for number in range(EACH)]
    assert [words for words in said if words not in text] == []
    assert store.problems() == []
    faults.survived()
