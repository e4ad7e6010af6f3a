"""The static site: every link leads to a file, nothing of the server is in it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clew.web.export import file_name
from tests.web.shop import clew


def export(shop, place):
    return clew(
        "web", "--export", str(place), "--project", str(shop.root), "--db", str(shop.database)
    )


def test_the_site_is_whole(shop, tmp_path, visit, browser):
    shop.filled()
    done = export(shop, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        html = page.read_text("utf-8")
        assert "<script" not in html
        assert "csrf" not in html.replace('name="csrf" content=""', "")
        assert "<form" not in html.replace('role="search"', "") or 'method="post"' not in html
        for link in re.findall(r'\s(?:href|src)="([^"#]+)', html):
            if urlsplit(link).scheme:
                continue
            target = (page.parent / unquote(link)).resolve()
            assert target.is_file(), (page.name, link)
            assert target.is_relative_to((tmp_path / "site").resolve())
    context = browser.new_context()
    tab = context.new_page()
    tab.goto((tmp_path / "site" / "index.html").as_uri())
    tab.get_by_role("link", name="Pay by invoice").click()
    tab.get_by_role("heading", name="Pay by invoice").wait_for()
    tab.get_by_role("link", name="Pulse").click()
    tab.get_by_role("heading", name="Hotspots").wait_for()
    context.close()


def test_a_directory_of_somebody_else_is_not_written_to(shop, tmp_path):
    shop.specs()
    place = tmp_path / "precious"
    place.mkdir()
    (place / "index.html").write_text("mine")
    done = export(shop, place)
    assert done.returncode == 1
    assert "not empty" in done.stderr
    assert (place / "index.html").read_text() == "mine"
    assert export(shop, tmp_path / "fresh").returncode == 0
    assert export(shop, tmp_path / "fresh").returncode == 0, "an earlier export is written over"


def test_file_names_are_safe_and_differ():
    names = [file_name(a) for a in ("/", "/specs/a", "/specs/../a", "/file?path=a", "/file?path=b")]
    assert len(set(names)) == len(names)
    assert all(".." not in Path(name).parts and not Path(name).is_absolute() for name in names)
