"""The pages themselves: up to date, linked, parseable, and free of one machine's traces."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from tests.docs.pages import PAGES, ROOT, anchors, blocks, links, name_of, prose_of, text_of
from tests.support.each import for_each

GENERATED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MACHINE_PATH = re.compile(
    r"(?<![\w.~}/-])/(?:work|home|root|tmp|Users|var|opt|mnt|private)/|[A-Z]:\\"
)


def test_generated_parts_are_up_to_date():
    files = [name_of(path) for path in GENERATED]
    command = [sys.executable, "-m", "cogapp", "--check"]
    done = subprocess.run(
        [*command, "-p", "from tests.support import docgen", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    hint = "bring them up to date with `make docs`"
    assert done.returncode == 0, f"{hint}\n{done.stdout}{done.stderr}"


@for_each(PAGES, name_of)
def test_links_and_anchors_lead_somewhere(path):
    for link in links(path):
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), link
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme():
    reached, open_pages = set(), [ROOT / "README.md"]
    while open_pages:
        page = open_pages.pop()
        reached.add(page)
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                open_pages.append(target)

    assert {path for path in GENERATED if path not in reached} == set()


@for_each(PAGES, name_of)
def test_no_path_of_a_machine_is_shown(path):
    found = MACHINE_PATH.search(text_of(path))

    assert found is None, found


@for_each(PAGES, name_of)
def test_json_examples_parse(path):
    for body in blocks(path, "json"):
        json.loads(body)
    for body in blocks(path, "jsonl"):
        for line in body.splitlines():
            json.loads(line)
    for body in blocks(path, "console", "sh"):
        for message in re.findall(r"'(\{\"jsonrpc\".*?\})'", body):
            json.loads(message)


@for_each(PAGES, name_of)
def test_python_examples_parse(path):
    for body in blocks(path, "python"):
        compile(body, str(path), "exec")


@for_each(PAGES, name_of)
def test_pages_are_plain(path):
    text = text_of(path)

    assert text.startswith("# ")
    assert text.endswith("\n")
    assert not re.search(r"[\U0001f300-\U0001faff\u2600-\u27bf]", text), "no emoji"
    languages = set(re.findall(r"^```(\w+)$", text, re.MULTILINE))
    assert languages <= {"sh", "console", "text", "json", "jsonl", "toml", "python"}, languages
    assert text.count("\n```") % 2 == 0, "a code block is not closed"
    words = re.sub(r"`[^`]*`", "", prose_of(path))
    assert not re.search(r"\b(colors?|behaviors?|licensed?)\b", words), "British spelling"


ROOMS = [path for path in PAGES if path.parents[1] == ROOT / "src" / "clew"]


@for_each(ROOMS, name_of)
def test_a_room_says_what_is_in_it(readme):
    room = readme.parent
    modules = {path.name for path in room.glob("*.py")} - {"__init__.py"}
    packages = {f"{path.parent.name}/" for path in room.glob("*/__init__.py")}
    rows = re.findall(r"^\| (`.*?`) \|", text_of(readme), re.MULTILINE)
    shown = {name for row in rows for name in re.findall(r"`(\w+(?:\.py|/))`", row)}

    assert shown == modules | packages
