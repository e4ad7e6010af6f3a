"""Text from specs, repositories and agents does nothing but stand there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.web.markdown import safe_html
from clew.web.views.diffs import read_diff
from clew.web.views.review import Remark, remarks_in, with_entry
from tests.web.shop import HOSTILE

SPEC = "2026-03-02-666-bad"


def test_hostile_specs_are_shown_and_do_nothing(shop, visit):
    shop.file(SPEC).write_text(
        f"---\ntype: code\nstatus: pending\nlabels: ['<img src=x>']\n---\n{HOSTILE}"
    )
    log = shop.paths.log_file(SPEC)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("<script>window.hacked = 1</script>\n</pre><b>out</b>\n")
    files = {"src/<b>x.py": "<script>window.hacked = 1</script>\n", "a.md": "</code></table>\n"}
    shop.repo.commit("Write it down")
    shop.branch(SPEC, files)
    with shop.serve() as server:
        opened = visit(server)
        for path in ("/", f"/specs/{SPEC}", f"/specs/{SPEC}/edit", "/?q=<script>", "/?label=<b>"):
            assert opened.go(path) == 200
            page = opened.page
            page.wait_for_load_state("load")
            assert page.evaluate("window.hacked") is None
            assert page.locator("main img, main script, main b:has-text('out')").count() == 0
            assert page.locator("a[href^=javascript]").count() == 0
        opened.go(f"/specs/{SPEC}")
        assert "{{ 7 * 7 }}" in page.locator("#criteria").inner_text()
        assert "<script>window.hacked = 1</script>" in page.locator("#text").inner_text()
        assert "</pre><b>out</b>" in page.locator("#log").inner_text()


def test_hostile_commits_are_shown_and_do_nothing(shop, visit):
    shop.specs()
    shop.repo.commit(
        "<script>window.hacked = 1</script> orders",
        {"<img src=x onerror=alert(1)>.py": "orders = '<b>'\n"},
    )
    shop.history()
    sha = shop.repo.text("log", "-1", "--format=%H", "--grep=hacked")
    with shop.serve() as server:
        opened = visit(server)
        for path in ("/history?q=orders&sort=date", f"/commits/{sha}", "/history?q=<b>&author=<i>"):
            opened.go(path)
            assert opened.page.evaluate("window.hacked") is None
            assert opened.page.locator("main img, main script").count() == 0


@given(st.text(st.sampled_from("<>\"'&/=()[]!`*_#- \n:abjscriptonerrorhref"), max_size=200))
def test_markdown_never_becomes_script_or_style(text):
    html = str(safe_html(text)).lower()
    assert "<script" not in html
    assert "<img" not in html
    assert "<style" not in html
    for tag in html.split("<")[1:]:
        inside = tag.partition(">")[0]
        assert " on" not in inside.partition("href=")[0]
        assert "javascript:" not in inside.partition('href="')[2].partition('"')[0][:11]


@given(st.text(st.sampled_from("+- @\nab0123456789,diff--git/\\"), max_size=300))
def test_any_text_can_be_read_as_a_diff(text):
    view = read_diff(text)
    assert sum(len(file.lines) for file in view.files) <= text.count("\n") + 1


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=80)


@given(
    WORDS.filter(lambda text: text.strip()), st.integers(1, 9999), st.sampled_from(["old", "new"])
)
def test_a_remark_is_read_back_and_nothing_else_changes(words, line, side):
    from clew.web.views.review import _entry

    words = "\n".join(words.split("\n"))
    body = "# Title\n\nText\n\n## Acceptance Criteria\n\n- [ ] One\n\n## Output\n\nDone\n"
    once = with_entry(body, _entry(Remark("src/a.py", line, side, words)))
    assert once.endswith("\n## Output\n\nDone\n")
    assert once.startswith("# Title\n\nText\n\n## Acceptance Criteria\n\n- [ ] One\n")
    found = remarks_in(once)
    assert [(one.path, one.line, one.side) for one in found][:1] == [("src/a.py", line, side)]
