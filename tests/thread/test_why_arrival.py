"""What `why` tells without specs: requests, versions, people, notes, mentions, places."""

from __future__ import annotations

import pytest

from clew.kit.errors import NotFound
from clew.thread.budget import pack_data
from clew.thread.recall.recall import RecallRequest, recall
from clew.thread.rooms import open_rooms
from clew.thread.why.arrival import request_in
from clew.thread.why.why import why
from tests.support.repos import Repository
from tests.thread.story import SPEC, Story, add_index, spec_text

WEB = {"GIT_COMMITTER_NAME": "GitHub", "GIT_COMMITTER_EMAIL": "noreply@github.com"}


@pytest.fixture(params=["git alone", "with an index"])
def asked(request, tmp_path):
    """Ask about a repository that the test made, with and without an index."""
    repository = Repository(tmp_path / "shop")

    def ask(target):
        if request.param == "with an index" and not indexed:
            add_index(Story(repository))
            indexed.append(1)
        return pack_data(why(open_rooms({"project": str(repository.path)}), target, budget=5000))

    indexed: list[int] = []
    ask.repository = repository
    return ask


def said(data, section):
    return [one["text"] for one in data["statements"] if one["section"] == section]


def test_a_merged_branch_tells_its_pull_request_and_version(asked):
    repository = asked.repository
    repository.commit("Start", {"a.txt": "a\n"})
    repository.git("tag", "0.9", env=repository.dates())
    repository.git("checkout", "-q", "-b", "side")
    sha = repository.commit("Add b", {"b.txt": "b\n"})
    repository.git("checkout", "-q", "main")
    repository.commit("Other", {"c.txt": "c\n"})
    words = "Merge pull request #12 from me/side\n\nLet there be b"
    repository.git("merge", "-q", "--no-ff", "-m", words, "side", env=repository.dates())
    merge = repository.head()
    repository.git("tag", "-a", "-m", "one", "1.0", env=repository.dates())
    repository.commit("More", {"c.txt": "d\n"})
    repository.git("tag", "1.1", env=repository.dates())
    data = asked(sha)
    (merged,) = said(data, "merged")
    assert merged.startswith(f"pull request #12 “Let there be b” (merge {merge[:12]} ")
    assert said(data, "version") == ["first in 1.0 (2023-11-14)"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Merge branch 'b-topic'\n\nLet there be b.\n\n* b-topic:\n  Add b", "Let there be b."),
        ("Merge branch 'b-topic'\n\n* b-topic:\n  Add b\n  Add other", ""),
        ("Merge branch 'b-topic'\n\nSigned-off-by: Ann <ann@example.com>", ""),
        ("Merge tag 'b-1' of there\n\nPull of the week\n\n-----BEGIN PGP SIGNATURE-----", ""),
        ("Merge branch 'b-topic'\n\n-----BEGIN PGP SIGNATURE-----\nabc", ""),
        ("Merge branch 'b-topic'\n\n" + "Many words. " * 100, ""),
    ],
)
def test_a_merge_tells_of_its_topic_in_a_paragraph_and_no_more(asked, words, told):
    repository = asked.repository
    repository.commit("Start", {"a.txt": "a\n"})
    repository.git("checkout", "-q", "-b", "side")
    sha = repository.commit("Add b", {"b.txt": "b\n"})
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", words, "side", env=repository.dates())
    head, *rest = said(asked(sha), "merged")
    assert head.endswith(words.split("\n")[0])
    assert rest == [told][: bool(told)]


def test_a_revert_is_told_once(asked):
    repository = asked.repository
    repository.commit("Start", {"a.txt": "a\n"})
    sha = repository.commit("Add b", {"a.txt": "b\n"})
    words = f'Revert "Add b"\n\nThis reverts commit {sha}.\n\nIt was too soon.'
    data = asked(repository.commit(words, {"a.txt": "a\n"}))
    assert said(data, "message") == ["It was too soon."]
    (earlier,) = said(data, "earlier")
    assert earlier.startswith(f"reverts {sha[:12]} ")


def test_a_squash_names_its_request_only_where_the_web_page_made_it(asked):
    repository = asked.repository
    env = {**repository.dates(), **WEB}
    squashed = repository.commit("Add a (#7)", {"a.txt": "a\n"}, env=env)
    plain = repository.commit("Add b (#8)", {"b.txt": "b\n"})
    assert said(asked(squashed), "issues") == []
    assert said(asked(plain), "merged") == []
    assert said(asked(plain), "version") == []


def test_people_notes_and_subversion(asked):
    repository = asked.repository
    trailers = (
        "Reviewed-by: Ann <ann@example.com>\nCo-authored-by: Ben <b@e.org>\n"
        "Reviewed-by: Cy <c@e.org>\nSigned-off-by: Dan <d@e.org>\n"
        "git-svn-id: http://svn.e.org/shop/trunk@42 bcc190cf-cafb\n"
    )
    sha = repository.commit(
        f"Add a\n\nBecause of b, not instead of c.\n\n{trailers}", {"a.txt": "a\n"}
    )
    repository.git("notes", "--ref=ci", "add", "-m", "build passed", sha, env=repository.dates())
    data = asked("a.txt:1")
    assert said(data, "people") == ["reviewed by Ann, Cy; co-authored by Ben"]
    assert said(data, "notes") == ["ci: build passed"]
    assert said(data, "message") == ["Because of b, not instead of c."]
    assert said(data, "issues") == ["was Subversion revision 42 of http://svn.e.org/shop/trunk"]
    assert said(data, "rejected") == []


def test_a_later_commit_that_names_this_one_is_told_in_its_words(asked):
    repository = asked.repository
    sha = repository.commit("Add a", {"a.txt": "a\n"})
    messages = {
        "Mend a": f"It crashed. Regression in {sha[:10]}.",
        "Say more": f"Follow-up to {sha}.",
        "Look": f"The bug was fixed in {sha[:9]} already.",
        "Undo half": f"Partially reverts {sha[:12]}.",
        "Words": "Nothing here: deadbeef, 1234567.",
    }
    for number, (subject, body) in enumerate(messages.items()):
        repository.commit(f"{subject}\n\n{body}", {f"{number}.txt": "x\n"})
    later = "\n".join(sorted(said(asked(sha), "later")))
    assert len(later.split("\n")) == 4
    assert "is named as the cause by" in later
    assert f"Mend a: “Regression in {sha[:10]}.”" in later
    assert f"Say more: “Follow-up to {sha}.”" in later
    assert f"is mentioned by {repository.text('rev-parse', 'HEAD~2')[:12]}" in later
    assert "was reverted in part by" in later


def test_a_directory_tells_its_true_beginning(asked):
    repository = asked.repository
    repository.commit("Zero", {"a.txt": "a\n"})
    first = repository.commit("First", {"d/one.txt": "1\n"})
    for number in range(12):
        repository.commit(f"Change {number}", {"d/two.txt": f"{number}\n"})
    data = asked("d")
    assert said(data, "file") == ["d began with d/one.txt, in the commit below"]
    assert first[:12] in said(data, "commit")[0]
    assert said(data, "changes")[-1] == "4 earlier commits touched it"


def test_a_file_that_was_deleted_and_added_again_came_with_the_second(asked):
    repository = asked.repository
    repository.commit("First", {"x.txt": "1\n2\n3\n", "y.txt": "y\n"})
    repository.git("rm", "-q", "x.txt")
    repository.commit("Away")
    again = repository.commit("Again", {"x.txt": "other\n"})
    assert again[:12] in said(asked("x.txt"), "commit")[0]


def test_a_symbol_is_its_own_and_an_ambiguous_one_lists_its_places(asked):
    repository = asked.repository
    text = "class {}:\n    def open(self):\n        return 1\n"
    repository.commit("Both", {"a.py": text.format("A"), "b.py": text.format("B")})
    repository.commit("Tests", {"tests/test_a.py": "class A:\n    pass\n"})
    assert asked("B.open")["title"] == "Why b.py:2-3"
    assert asked("A")["title"] == "Why a.py:1-3"
    assert "also defined in tests/test_a.py:1" in said(asked("A"), "line")
    places = said(asked("open"), "places")
    assert places[1:] == ["a.py:2 function A.open", "b.py:2 function B.open"]
    assert "'open' is defined in 2 places" in places[0]
    with pytest.raises(NotFound) as error:
        asked("C.open")
    assert "a.py:2 function A.open" in (error.value.hint or "")


def test_a_spec_that_is_no_longer_in_the_tree_is_read_where_it_was(tmp_path):
    repository = Repository(tmp_path / "shop")
    place = f".chant/specs/{SPEC}.md"
    was = repository.commit("Plan", {place: spec_text(title="Keep orders")})
    sha = repository.commit(f"chant({SPEC}): Keep orders", {"a.txt": "a\n"})
    repository.git("rm", "-q", "-r", ".chant")
    repository.commit("Clean up")
    data = pack_data(why(open_rooms({"project": str(repository.path)}), sha))
    (told,) = said(data, "spec")
    assert told.startswith(f"{SPEC} “Keep orders”, completed, 1/1 criteria checked")
    assert told.endswith(f"no longer in the tree, as of {was[:12]}")


def test_a_repository_with_sha256_ids_is_answered_by_git(tmp_path):
    repository = Repository(tmp_path / "long", "--object-format=sha256")
    sha = repository.commit("Add a\n\nBecause.", {"a.py": "def f():\n    return 1\n"})
    repository.commit(f"More\n\nFollow-up to {sha}.", {"b.txt": "b\n"})
    rooms = open_rooms({"project": str(repository.path)})
    for target in ("a.py:1", "a.py", "f", sha, sha[:10]):
        data = pack_data(why(rooms, target))
        assert said(data, "commit")[0].startswith(sha[:12])
        assert said(data, "later")[0].startswith("was followed up by")


@pytest.mark.parametrize(
    ("message", "request_found"),
    [
        ("Merge pull request #5 from a/b\n\nTitle", ("#5", "Title")),
        ("Merge pull request 'T t' (#5) from a into b", ("#5", "T t")),
        ("Merge branch 'x' into 'main'\n\nTitle\n\nSee merge request g/p!9", ("!9", "Title")),
        ("Merged in x (pull request #3)\n\nTitle", ("#3", "Title")),
        ("Auto merge of #4 - a:b, r=c\n\nTitle", ("#4", "Title")),
        ("Title (#6)", ("#6", "Title")),
        ("Merge branch 'x'", None),
    ],
)
def test_how_requests_are_written(message, request_found):
    found = request_in(message)
    assert (tuple(found) if found else None) == request_found


def test_a_version_may_be_written_with_underscores(asked):
    repository = asked.repository
    sha = repository.commit("Add a", {"a.txt": "a\n"})
    repository.git("tag", "SHOP_3_3", env=repository.dates())
    repository.commit("Add b", {"b.txt": "b\n"})
    repository.git("tag", "shop-3.9", env=repository.dates())
    assert said(asked(sha), "version") == ["first in SHOP_3_3 (2023-11-14)"]


def test_the_version_of_another_package_of_the_repository_is_not_told(asked):
    repository = asked.repository
    repository.commit("Start", {"packages/cart/a.js": "a\n", "packages/till/b.js": "b\n"})
    core = repository.commit("Change the core", {"core/c.js": "c\n"})
    cart = repository.commit("Change the cart", {"packages/cart/a.js": "aa\n"})
    for tag in ("till@2.0.0", "cart@1.0.1", "v5.0.0"):
        repository.git("tag", "-a", "-m", tag, tag, env=repository.dates())
        repository.commit(f"After {tag}", {"core/d.js": f"{tag}\n"})
    assert said(asked(core), "version") == ["first in v5.0.0 (2023-11-14)"]
    assert said(asked(cart), "version") == ["first in cart@1.0.1 (2023-11-14)"]


def test_a_file_of_no_package_has_the_version_of_what_changed_with_it(asked):
    repository = asked.repository
    repository.commit("Start", {"cart/a.js": "a\n", "till/b.js": "b\n"})
    repository.commit("Try the cart", {"cart/a.js": "aa\n", "tests/c.js": "c\n"})
    for tag in ("till-2.0.0", "cart-1.0.1"):
        repository.git("tag", "-a", "-m", tag, tag, env=repository.dates())
        repository.commit(f"After {tag}", {"core/d.js": f"{tag}\n"})
    assert said(asked("tests/c.js:1"), "version") == ["first in cart-1.0.1 (2023-11-14)"]


def test_the_title_of_a_merge_is_told_once(asked):
    repository = asked.repository
    repository.commit("Start", {"a.txt": "a\n"})
    repository.git("checkout", "-q", "-b", "side")
    sha = repository.commit("Mend the door, see #12", {"b.txt": "b\n"})
    repository.git("checkout", "-q", "main")
    repository.commit("Other", {"c.txt": "c\n"})
    words = "Merge pull request #13 from me/side\n\nMend #12"
    repository.git("merge", "-q", "--no-ff", "-m", words, "side", env=repository.dates())
    data = asked(repository.head())
    assert (said(data, "message"), said(data, "merged")) == (["Mend #12"], [])
    assert [one for one in said(asked(sha), "later") if "Merge pull" in one] == []


def test_a_class_is_meant_rather_than_its_constructor(asked):
    text = "class Till {\n  private int sum;\n  Till(int sum) {\n    this.sum = sum;\n  }\n}\n"
    asked.repository.commit("Add Till", {"src/Till.java": text})
    data = asked("Till")
    assert said(data, "places") == []
    assert said(data, "line") == ["class Till {"]
    assert said(asked("Till.Till"), "places")[-1] == "src/Till.java:3 function Till.Till"


def test_a_pasted_log_mentions_nothing_and_a_class_called_test_is_none(asked):
    repository = asked.repository
    first = repository.commit("Add the mark", {"src/org/Test.java": "@interface Test {}\n"})
    other = repository.commit("More", {"a.txt": "a\n"})
    pasted = f"Join\n\ncommit 0123456\nMerge: {first[:7]} {other[:7]}\n"
    repository.commit(pasted, {"src/org/Test.java": "@interface Test { }\n", "b.txt": "b\n"})
    assert said(asked(first), "later") == []
    assert said(asked("b.txt:1"), "together") == ["changed in the same commit: src/org/Test.java"]


def test_what_is_behind_a_commit_is_not_told_as_later(tmp_path):
    repository = Repository(tmp_path / "shop")
    now = repository.dates()
    late = {**now, "GIT_AUTHOR_DATE": "1800000000 +0000"}
    repository.commit("Begin\n\nPart of #9", {"a.txt": "a\n"}, env=late)
    sha = repository.commit("End\n\nCloses #9", {"b.txt": "b\n"})
    add_index(Story(repository))
    data = pack_data(why(open_rooms({"project": str(repository.path)}), sha))
    assert said(data, "later") == []
    assert len(said(data, "earlier")) == 1


def test_commits_too_large_to_search_are_told_where_one_searches(tmp_path):
    repository = Repository(tmp_path / "shop")
    repository.commit("Add a\n\nThe door creaks.", {"a.txt": "a\n"})
    large = repository.commit("Add b", {"b.txt": "".join(f"{n:07d}\n" for n in range(1 << 18))})
    add_index(Story(repository))
    rooms = open_rooms({"project": str(repository.path)})
    rooms.own_repo()
    assert said(pack_data(why(rooms, "a.txt:1")), "missing") == []

    def told(question, **options):
        missing = recall(rooms, RecallRequest(question, **options)).missing
        return [line for line in missing if "not searched whole" in line]

    assert told("door creaks") == []  # a commit has all of it
    (line,) = told("door hinges")
    assert line.endswith(f"Look with: git log --no-walk -i -G hinges {large[:12]}")
    assert told("door hinges", until=1) == []


def test_an_example_in_prose_defines_nothing(asked):
    repository = asked.repository
    repository.commit("Guide", {"guide.md": "```go\nfunc open_till() {\n```\n"})
    data = asked("open_till")
    assert "'open_till' has no definition that was found; it occurs here only" in said(data, "line")
    repository.commit("Code", {"till.nim": "proc open_till() =\n  discard\n"})
    assert said(asked("open_till"), "line") == ["proc open_till() ="]


def test_an_issue_that_the_message_tells_is_not_told_again(asked):
    repository = asked.repository
    first = repository.commit("Add a\n\nRelated to #17.", {"a.txt": "a\n"})
    later = f"Mend a\n\nThe bug was introduced as part of {first[:10]}.\n\nRefs: #18"
    repository.commit(later, {"b.txt": "b\n"})
    data = asked(first)
    assert (said(data, "message"), said(data, "issues")) == (["Related to #17."], [])
    assert said(data, "later")[0].startswith("is named as the cause by")
    assert said(asked("b.txt:1"), "issues") == ["names #18"]


def test_what_was_made_on_the_main_line_came_by_no_merge(asked):
    repository = asked.repository
    repository.commit("Start", {"a.txt": "a\n"})
    repository.git("branch", "fork")
    sha = repository.commit("Add b", {"b.txt": "b\n"})
    repository.git("checkout", "-q", "fork")
    repository.commit("Fork", {"f.txt": "f\n"})
    words = "Merge remote-tracking branch 'source/current' into fork"
    repository.git("merge", "-q", "--no-ff", "-m", words, "main", env=repository.dates())
    repository.git("checkout", "-q", "main")
    repository.commit("More", {"b.txt": "c\n"})
    own = "Merge branch 'fork'\n\nConflicts:\n\tb.txt"
    repository.git("merge", "-q", "--no-ff", "-m", own, "fork", env=repository.dates())
    assert said(asked(sha), "merged") == []
    forked = repository.text("rev-parse", "main^2^1")
    (merged,) = said(asked(forked), "merged")
    assert merged.endswith("Merge branch 'fork'")


def test_of_an_import_only_later_fixes_of_the_file_are_told(asked):
    repository = asked.repository
    sha = repository.commit("Import", {f"{number}.c": "int x;\n" for number in range(12)})
    fix = repository.commit(f'Mend the third\n\nFixes: {sha[:12]} ("Import")', {"3.c": "int y;\n"})
    assert said(asked("4.c"), "later") == []
    for target in ("3.c", sha):
        (later,) = said(asked(target), "later")
        assert fix[:12] in later


def test_the_use_of_a_struct_is_no_definition(asked):
    uses = "struct till;\nint sum(struct till *one);\nint open(struct till *one);\n"
    asked.repository.commit("Use a till", {"use.c": uses})
    first, *_ = said(asked("till"), "places")
    assert first.startswith("'till' has no definition that was found; it occurs in 3 places")
    asked.repository.commit("Define it", {"till.c": "struct till {\n  int sum;\n};\n"})
    data = asked("till")
    assert said(data, "line")[0] == "struct till {"


def test_a_packed_file_among_tests_is_no_test(asked):
    files = {"tests/data/fake.whl": "PK\n", "tests/test_a.py": "def test(): pass\n", "a.py": "\n"}
    sha = asked.repository.commit("Add a", files)
    assert "tests changed with it: tests/test_a.py" in said(asked(sha), "together")
