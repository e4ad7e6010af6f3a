"""Repositories that were made to do harm: links, programs in their configuration, bombs, secrets."""

from __future__ import annotations

import json
import re
import resource
import shutil
from pathlib import Path

import pytest
import zstandard

import clew
from clew.history.store.sqlite import SqliteHistory
from clew.kit.project import find_project
from clew.kit.sqlite import writing
from clew.specs.store.store import SpecStore
from tests.support.client import BIN, CLEW, StdioServer
from tests.support.faults import assert_civil, run
from tests.support.proof import amount

LITTLE_MEMORY = (resource.RLIMIT_AS, (1 << 30, 1 << 30))
GIVES_NOTHING = ["clew_guide", "clew_doctor", "chant_status", "chant_ready", "reload", "chant_lint"]


def laughs(name="lol"):
    """A YAML document that says a thousand million words with aliases."""
    lines = [f"{name}0: &{name}0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        inner = ", ".join([f"*{name}{level - 1}"] * 10)
        lines.append(f"{name}{level}: &{name}{level} [{inner}]")
    return "\n".join(lines)


def every_answer(server, *calls):
    """What the server says to these calls and to everything that lists something."""
    asked = [("tools/list", {}), ("resources/list", {}), ("prompts/list", {})]
    asked += [("tools/call", {"name": name, "arguments": {}}) for name in GIVES_NOTHING]
    asked += [("tools/call", {"name": name, "arguments": given}) for name, given in calls]
    said = []
    for method, params in asked:
        answer = json.dumps(server.ask(method, params))
        assert "Internal error" not in answer, (method, params, answer[:500])
        said.append(answer)
    return "\n".join(said)


def test_links_out_of_the_project_are_not_followed(ground):
    """A clone can bring links with it; what they lead to is not the project's."""
    chant, outside = ground.root / ".chant", ground.outside
    links = {
        chant / "specs" / "2026-01-01-003-evl.md": outside / "canary.md",
        chant / "archive" / "2026-01-01" / "2026-01-01-004-evl.md": outside / "canary.md",
        chant / "logs" / "2026-01-01-001-abc.log": outside / "canary.txt",
        chant / "prompts" / "evil.md": outside / "canary.md",
        chant / "templates" / "evil.md": outside / "canary.md",
        ground.root / ".agent/climpt/prompts/git/create/evil": outside,
        ground.root / ".agent/climpt/prompts/git/create/issue/f_evil.md": outside / "canary.md",
        ground.root / ".agent/climpt/registry.json": outside / "canary.txt",
    }
    for link, target in links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    address = {"c1": "git", "c2": "create"}
    calls = [
        ("chant_spec_get", {"id": "2026-01-01-003-evl"}),
        ("chant_spec_get", {"id": "2026-01-01-004-evl"}),
        ("chant_spec_list", {}),
        ("chant_search", {"query": "canary"}),
        ("chant_query", {"query": "canary", "archived": True}),
        ("chant_log", {"id": "2026-01-01-001-abc"}),
        ("chant_diagnose", {"id": "2026-01-01-001-abc"}),
        ("chant_add", {"description": "A thing", "prompt": "evil"}),
        ("describe", {**address, "c3": "evil"}),
        ("execute", {**address, "c3": "evil", "agent": "climpt"}),
        ("execute", {**address, "c3": "issue", "agent": "climpt", "options": ["-e=evil"]}),
        ("commitmux_blame", {"repo": "r", "path": ".chant/specs/2026-01-01-003-evl.md"}),
    ]
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=ground.root) as server:
        names = {tool["name"] for tool in server.result("tools/list", {})["tools"]}
        assert ground.secret not in every_answer(
            server, *[(name, given) for name, given in calls if name in names]
        )
    ground.assert_untouched()


def test_an_archive_that_calls_itself_a_worktree_is_no_way_into_another_project(ground):
    """git makes no `.git` from a clone, but an unpacked archive can bring one; specs are not git's."""
    archive, real = ground.base / "archive", ground.base / "real"
    own = archive / "own"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{archive}/.git\n")
    (own / "commondir").write_text(f"{ground.root}/.git\n")
    ground.repository.git("worktree", "add", "-q", str(real))
    assert find_project(str(real)) == ground.root
    for named in (own, ground.root / ".git" / "worktrees" / "real"):
        (archive / ".git").write_text(f"gitdir: {named}\n")
        assert find_project(str(archive)) == archive
        done = run([BIN / "chant", "list", "--project", archive])
        assert_civil(done)
        assert "2026-01-01-001" not in done.stdout


def test_a_spec_that_is_a_link_is_not_written_through(ground):
    link = ground.root / ".chant" / "specs" / "2026-01-01-003-evl.md"
    link.symlink_to(ground.outside / "canary.md")
    for words in (
        ("update", link.stem, "--label", "x"),
        ("finalize", link.stem),
        ("archive", link.stem),
        ("update", link.stem, "--output", "x"),
    ):
        assert_civil(run([BIN / "chant", *words, "--project", ground.root]))
        ground.assert_untouched()


@pytest.mark.parametrize("words", [("list",), ("ready",), ("lint",), ("search", "x"), ("status",)])
def test_yaml_bombs_in_specs_and_configuration(ground, words):
    spec = ground.root / ".chant" / "specs" / "2026-01-01-005-bmb.md"
    spec.write_text(f"---\ntype: code\n{laughs()}\n---\n# Bomb\n")
    (ground.root / ".chant" / "config.md").write_text(f"---\n{laughs()}\n---\n")
    done = run([BIN / "chant", *words, "--project", ground.root], limits=LITTLE_MEMORY, timeout=60)
    assert_civil(done)
    assert "2026-01-01-001" in done.stdout + done.stderr or words[0] in {"status", "search", "lint"}


def test_yaml_bombs_in_templates(ground):
    template = ground.root / ".agent/climpt/prompts/git/create/bomb/f_default.md"
    template.parent.mkdir()
    template.write_text(f"---\n{laughs()}\n---\nHello\n")
    for words in (("git", "create", "bomb"), ("search", "create"), ("lint",)):
        command = [BIN / "climpt", *words]
        assert_civil(run(command, limits=LITTLE_MEMORY, timeout=60, env={"PWD": str(ground.root)}))


def test_a_deep_yaml_and_a_huge_spec(ground):
    specs = ground.root / ".chant" / "specs"
    (specs / "2026-01-01-006-dep.md").write_text(f"---\na: {'[' * 100_000}\n---\n# Deep\n")
    (specs / "2026-01-01-007-hug.md").write_text("---\ntype: code\n---\n# Huge\n" + "x" * 5_000_000)
    store = SpecStore(ground.root)
    assert {head.id for head in store.heads()} >= {"2026-01-01-001-abc"}
    assert len(store.problems()) == 2


def test_zstd_bombs_in_an_index(ground):
    """A patch that says it is small, or nothing, and becomes ten gigabytes."""
    honest = zstandard.ZstdCompressor(level=19).compress(bytes(1 << 28))
    silent = zstandard.ZstdCompressor(level=19, write_content_size=False).compress(bytes(1 << 28))
    store = SqliteHistory.open(ground.database)
    (sha,) = store.connection.execute("SELECT sha FROM commits LIMIT 1").fetchone()
    for bomb in (honest, silent):
        with writing(store.connection):
            store.connection.execute("UPDATE patch_packs SET frames = ?", (bomb,))
            store.connection.execute("UPDATE patch_places SET start = 0, length = ?", (len(bomb),))
        command = [BIN / "commitmux", "patch", "r", sha, "--db", ground.database]
        done = run(command, limits=(resource.RLIMIT_AS, (1 << 29, 1 << 29)), timeout=60)
        assert_civil(done)
        assert done.returncode == 1
        assert len(done.stdout) < 100_000
    store.close()


def test_zstd_bombs_in_a_snapshot(ground):
    """A file of another's index is taken in without unpacking what would fill the memory."""
    file = ground.base / "db-given"
    command = [BIN / "commitmux", "snapshot", "r", file, "--db", ground.database]
    assert run(command).returncode == 0
    bomb = zstandard.ZstdCompressor(level=3).compress(bytes(1 << 28))
    store = SqliteHistory.open(file)
    with writing(store.connection):
        store.connection.execute("UPDATE patch_packs SET frames = ?", (bomb,))
        store.connection.execute("UPDATE patch_places SET start = 0, length = ?", (len(bomb),))
    store.close()
    command = [BIN / "commitmux", "attach", file, "--name", "given", "--db", ground.database]
    done = run(command, limits=(resource.RLIMIT_AS, (1 << 29, 1 << 29)), timeout=60)
    assert_civil(done)
    listed = run([BIN / "commitmux", "list", "--db", ground.database])
    assert done.returncode == 0 or "given" not in listed.stdout


def test_no_other_archives_are_read():
    """zstd frames in an index are all that is unpacked, and one object of git at a time."""
    readers = re.compile(
        r"^\s*(?:import|from) (zipfile|tarfile|gzip|bz2|lzma|shutil\.unpack)\b", re.MULTILINE
    )
    sources = Path(clew.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if readers.search(path.read_text())] == []


@pytest.mark.parametrize(
    "name", amount(["logs", ".store"], ["logs", ".store", "archive", "processes", "specs"])
)
def test_directories_that_are_links_are_not_written_through(ground, name):
    """A clone can bring a link for a directory that Clew writes into."""
    link = ground.root / ".chant" / name
    if link.exists():
        shutil.rmtree(link)
    link.symlink_to(ground.outside)
    for words in (
        ("work", "2026-01-01-001-abc"),
        *amount((), [("add", "A thing"), ("archive", "2026-01-01-002-def"), ("search", "First")]),
    ):
        done = run([BIN / "chant", *words, "--project", ground.root], timeout=60)
        assert_civil(done)
        assert "leads out of the project" in done.stderr, words
        ground.assert_untouched()


@pytest.mark.parametrize("name", ["audit.jsonl", "locks/-audit.lock", "locks/-new.lock"])
def test_a_file_of_the_store_that_is_a_link_is_not_written_through(ground, name):
    """git ignores these files, but a clone can bring them."""
    link = ground.root / ".chant" / ".store" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(ground.outside / ("canary.txt" if name == "audit.jsonl" else "made"))
    for words in (("add", "A thing"), ("activity",)):
        assert_civil(run([BIN / "chant", *words, "--project", ground.root], timeout=60))
        ground.assert_untouched()


@pytest.mark.parametrize("name", amount(["log"], ["log", "events.jsonl"]))
def test_a_log_that_is_a_link_is_not_written_through(ground, name):
    """What an agent prints would otherwise end up in any file of the user."""
    spec = "2026-01-01-001-abc"
    link = ground.root / ".chant" / "logs" / f"{spec}.{name}"
    link.parent.mkdir()
    link.symlink_to(ground.outside / "canary.txt")
    assert_civil(run([BIN / "chant", "work", spec, "--project", ground.root], timeout=60))
    ground.assert_untouched()


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch pwned",
        "-u touch pwned",
        "ext::sh -c touch% pwned",
        "fd::7",
        "-oProxyCommand=touch pwned:x",
        "ssh://-oProxyCommand=touch pwned/x",
        "file:///etc",
    ],
)
def test_addresses_that_would_run_a_program(ground, url):
    command = [BIN / "commitmux", "add-repo", "--url", url, "--name", "x", "--db", ground.database]
    done = run(command, timeout=60)
    assert_civil(done)
    assert done.returncode
    assert not list(ground.base.rglob("pwned"))
    ground.assert_untouched()
