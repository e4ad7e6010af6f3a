"""Which files a brief names: what past commits say of them, and how sure it is."""

from __future__ import annotations

from clew.kit import jsontext
from clew.thread.brief.likely import FEATURES, FILE
from clew.thread.brief.past import Past, words_in
from clew.thread.brief.signs import Change, signs_of
from clew.thread.brief.tree import Tree, is_log
from tests.thread.test_brief import asked, said

PAST = Past(
    tuple(
        (words_in(words), tuple(files.split()))
        for words, files in (
            ("Wait longer", "retry.py test_retry.py"),
            ("Print totals of a day", "report.py"),
            ("Wait less between retries", "retry.py test_retry.py"),
            ("Retry orders", "retry.py orders.py"),
        )
    )
)


def test_what_changes_beside_a_file_is_its_share_of_the_commits():
    beside = PAST.beside("retry.py")
    assert beside["test_retry.py"] > beside["orders.py"] > 0
    assert "report.py" not in beside


def test_files_of_the_commits_with_the_most_alike_words_are_near():
    near = PAST.nearest("Print the totals of each week")
    assert max(near, key=lambda path: near[path]) == "report.py"


def test_a_list_of_changes_is_no_candidate_unless_it_is_named(bare_story):
    bare_story.commit("logged", "Wait longer", {"CHANGES.md": "- wait\n", "history.c": "wait\n"})
    tree = Tree(bare_story.rooms().repo())
    similar = [Change(1.0, ("CHANGES.md", "history.c"))]
    assert {"history.c"} == signs_of(tree, PAST, "Wait longer", similar, ()).keys() & {
        "CHANGES.md",
        "history.c",
    }
    assert "CHANGES.md" in signs_of(tree, PAST, "Mend CHANGES.md", similar, ())
    assert [is_log(one) for one in ("docs/news.rst", "HISTORY", "src/history.c")] == [1, 1, 0]


def test_weights_are_there_for_what_is_weighed():
    assert set(jsontext.loads(FILE.read_text("utf-8"))["weights"]) == set(FEATURES)


def test_a_file_that_the_task_names_is_sure_and_others_are_told_as_doubtful(story):
    files = said(asked(story, "make retries wait longer in shop/retry.py"), "files")
    assert files[0].startswith("shop/retry.py (named")
    assert all("(perhaps" in one for one in files[1:])
