"""The matrix, its gaps, and the picture of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from clew.cli.faces import run_face
from clew.specs.index.text_index import KindTexts, TextIndex
from clew.thread.trace.picture import COLUMNS, picture_html, picture_svg
from clew.thread.trace.trace import trace
from tests.thread.story import LISTED, OPEN, SPEC, spec_text


def test_rows_lead_from_objective_to_commit(story):
    rows = trace(story.rooms()).rows
    first, second, *others = rows
    assert (first.objective, first.feature, first.specs) == ("BO-1", "FE-1", (SPEC,))
    assert first.decisions == ("ADR-0001",)
    assert first.commits == (story.shas["spec"][:12],)
    assert first.gap == ""
    assert (second.feature, second.specs, second.gap) == ("FE-2", (), "no spec")
    assert [row.specs for row in others] == [(LISTED,), (OPEN,)]


def test_gaps_are_named(story):
    gaps = trace(story.rooms()).gaps
    assert gaps["features_without_specs"] == ["FE-2"]
    assert gaps["specs_without_origin"] == [LISTED, OPEN]
    assert gaps["specs_without_commits"] == []
    assert story.shas["human"] in gaps["commits_without_specs"]
    assert story.shas["spec"] not in gaps["commits_without_specs"]
    assert story.shas["listed"] not in gaps["commits_without_specs"]


def test_an_objective_without_features_and_a_done_spec_without_commits(story):
    vision = story.root / "docs" / "vision.md"
    vision.write_text(
        vision.read_text().replace("\n## Features", "- **BO-2** Sell more\n\n## Features")
    )
    lonely = "2026-01-24-001-aaa"
    (story.root / ".chant/specs" / f"{lonely}.md").write_text(spec_text(labels="[FE-2]"))
    made = trace(story.rooms())
    assert made.gaps["objectives_without_specs"] == ["BO-2"]
    assert made.gaps["specs_without_commits"] == [lonely]
    assert {row.gap for row in made.rows if row.feature == "FE-2"} == {"no commit"}


def test_a_feature_named_in_the_text_alone_counts(story):
    name = "2026-01-24-002-bbb"
    text = spec_text("pending", "Reports").replace("Orders must survive.", "This is FE-2.")
    (story.root / ".chant/specs" / f"{name}.md").write_text(text)
    assert next(row.specs for row in trace(story.rooms()).rows if row.feature == "FE-2") == (name,)


def test_every_feature_named_in_the_text_counts(story):
    name = "2026-01-24-002-bbb"
    text = spec_text("pending", "Reports").replace("Orders must survive.", "FE-1 and FE-2.")
    (story.root / ".chant/specs" / f"{name}.md").write_text(text)
    assert all(name in row.specs for row in trace(story.rooms()).rows if row.feature)


def test_text_queries_grow_with_features_and_not_with_specs(story, monkeypatch):
    asked = []
    for owner, method in ((KindTexts, "having"), (TextIndex, "known")):
        plain = getattr(owner, method)

        def counted(*args, _plain=plain, **options):
            asked.append(args)
            return _plain(*args, **options)

        monkeypatch.setattr(owner, method, counted)
    for many in (1, 40):
        for number in range(many):
            name = f"2026-01-25-{number:03}-ccc"
            (story.root / ".chant/specs" / f"{name}.md").write_text(
                spec_text(title="Reports").replace("Orders must survive.", "This is FE-2.")
            )
        asked.clear()
        assert len(trace(story.rooms()).specs) == 3 + many
        assert len(asked) == 3  # one for each feature, one for the keys


def test_cancelled_specs_are_the_same_number_everywhere(story, capsys, monkeypatch):
    names = [f"2026-01-26-00{number}-ddd" for number in range(3)]
    for name, labels in zip(names, ("[FE-2]", "[FE-2]", "[]"), strict=True):
        (story.root / ".chant/specs" / f"{name}.md").write_text(
            spec_text("cancelled", labels=labels)
        )
    made = trace(story.rooms())
    by_status = [name for name, spec in made.specs.items() if spec.status == "cancelled"]
    in_rows = [name for row in made.rows if row.gap == "cancelled" for name in row.specs]
    assert by_status == made.gaps["specs_cancelled"] == names
    assert sorted(in_rows) == names
    others = [kind for kind in made.gaps if kind != "specs_cancelled"]
    assert not {name for kind in others for name in made.gaps[kind]} & set(names)
    monkeypatch.chdir(story.root)
    assert run_face("clew", ["trace"]) == 0
    assert "Specs cancelled: 3 (" in capsys.readouterr().out
    assert "specs cancelled: 3 <small>" in picture_html(made)


def test_the_share_of_recent_lines(story):
    share = trace(story.rooms()).share()
    assert share["commits"] == 12
    assert 0 < share["lines_with_spec"] < share["lines"]
    assert share["share"] == round(share["lines_with_spec"] / share["lines"], 4)
    assert trace(story.rooms(), recent=1).share()["commits"] == 1


def test_git_alone_gives_the_same_share(story, private_home):
    with_index = trace(story.rooms()).share()
    (private_home / ".commitmux" / "db.sqlite3").unlink()
    without = trace(story.rooms())
    assert without.share() == with_index
    assert any("not in the index" in one for one in without.missing)


def test_without_anything_it_says_what_is_missing(bare_story):
    made = trace(bare_story.rooms())
    assert made.rows == []
    assert any("clew advise vision" in one for one in made.missing)
    assert picture_svg(made)


def test_the_picture_is_sound_and_escapes_what_it_shows(story):
    vision = story.root / "docs" / "vision.md"
    vision.write_text(vision.read_text().replace("A report every", "<script>alert(1)</script> &"))
    made = trace(story.rooms())
    svg = picture_svg(made)
    root = ET.fromstring(svg)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert all(column in texts for column in COLUMNS)
    assert {"BO-1", "FE-1", "ADR-0001", SPEC, story.shas["spec"][:12]} <= set(texts)
    page = picture_html(made)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
