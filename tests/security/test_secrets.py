"""Secrets in patches, in what agents print, and in what is kept of both."""

from __future__ import annotations

import json
import sys

import pytest

from clew.kit.paths import ProjectPaths
from clew.kit.text.redact import SecretLines, redact_patch
from clew.work.agents.output import StreamReader
from clew.work.journal.run_log import Event, EventKind, RunLog
from clew.work.model import AgentChoice
from clew.work.runs.prepare import start_run
from tests.support.client import BIN
from tests.support.faults import run
from tests.work.conftest import Project

AWS = "AKIAABCDEFGHIJKLMNOP"
GITHUB = "ghp_" + "a1B2" * 9
BODY = [f"MIIEfake{number}" + "Ab3/" * 13 for number in range(12)]
KEY = ["-----BEGIN RSA PRIVATE KEY-----", *BODY, "Fake==", "-----END RSA PRIVATE KEY-----"]
ENCRYPTED = [KEY[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A", "", *KEY[1:]]
AGENT = """
import sys, time
for line in {lines!r}:
    print(line, flush=True)
    print("at work", file=sys.stderr, flush=True)
half = {token!r}
sys.stdout.write("token " + half[:11]); sys.stdout.flush(); time.sleep(0.3)
sys.stdout.write(half[11:] + " end\\n"); sys.stdout.flush()
print("\\n".join({lines!r}), file=sys.stderr)
print("last " + {lines!r}[2])
sys.exit(3)
"""


def assert_clean(text):
    """Nothing of the key or the tokens is in it."""
    for secret in (*BODY, "Fake==", AWS, GITHUB):
        assert secret not in text, secret


@pytest.mark.parametrize("mark", ["+", "-", " "], ids=["added", "removed", "kept"])
@pytest.mark.parametrize("key", [KEY, ENCRYPTED, KEY[:-1], [f"{KEY[0]}\\n" + "\\n".join(BODY)]])
def test_keys_in_a_patch(mark, key):
    patch = "\n".join(["@@ -1,9 +1,9 @@", *(mark + line for line in key), f"{mark}after"])
    kept, found = redact_patch(patch.encode())
    assert_clean(kept.decode())
    assert [kind for kind, _ in found] == ["private key"]
    assert kept.decode().endswith(f"{mark}after")
    lines = kept.decode().split("\n")
    assert [line[:1] for line in lines] == [line[:1] for line in patch.split("\n")]


def test_what_only_speaks_of_keys_stays():
    text = 'if "-----BEGIN PRIVATE KEY-----" in text:\n    return parsed(text)\nelse:\n    pass\n'
    assert redact_patch(text.encode()) == (text.encode(), ())


def test_keys_that_come_line_by_line():
    quoted = [f"{number:6}\u2192{line}" for number, line in enumerate(KEY, 1)]
    for lines in (KEY, ENCRYPTED, quoted, [f'    "{line}\\n"' for line in KEY]):
        secrets = SecretLines()
        kept = [secrets.clean(line) for line in [*lines, "after", "words"]]
        assert_clean("\n".join(kept))
        assert kept[-2:] == ["after", "words"]


def test_a_key_without_an_end_does_not_hide_what_follows():
    secrets = SecretLines()
    kept = [secrets.clean(line) for line in [*KEY[:-1], *["all is well"] * 9, BODY[0]]]
    assert kept[-10:-1] == ["all is well"] * 9
    assert kept[-1] == BODY[0], "long after a key, base64 is only base64"


def test_pieces_of_what_an_agent_says_are_put_together():
    reader = StreamReader("gemini")
    pieces = [f"use {GITHUB[:9]}", GITHUB[9:], " now\nand", " then"]
    said = []
    for piece in pieces:
        message = {"type": "message", "role": "assistant", "content": piece, "delta": True}
        said += reader.read(json.dumps(message))
    said += reader.rest()
    assert [event.text for event in said] == [f"use {GITHUB} now", "and then"]


def test_secrets_are_neither_in_the_index_nor_in_the_logs(ground):
    text = "\n".join(KEY)
    ground.repository.commit("keys", {"keys.txt": f"key = {AWS}\ntoken = {GITHUB}\n{text}\n"})
    ground.repository.commit("no keys", {"keys.txt": "gone\n"})
    assert run([BIN / "commitmux", "sync", "--db", ground.database]).returncode == 0
    paths = ProjectPaths(ground.root)
    log = RunLog(paths, "001", "run")
    log.add(Event(EventKind.TEXT, f"export KEY={AWS}"))
    log.add(Event(EventKind.TOOL, f"curl -H {GITHUB}", {"input": {"header": GITHUB, "key": text}}))
    log.close()
    for path in [*ground.base.glob("db*"), paths.log_file("001"), paths.events_file("001")]:
        assert_clean(path.read_bytes().decode("utf-8", "replace"))
    for sha in ("HEAD", "HEAD~1"):
        words = ["patch", "r", ground.repository.text("rev-parse", sha), "--db", ground.database]
        done = run([BIN / "commitmux", *words])
        assert "[redacted private key]" in done.stdout
        assert_clean(done.stdout)
    assert "[redacted aws access key]" in paths.log_file("001").read_text()
    assert json.loads(paths.events_file("001").read_text().splitlines()[1])["input"]


def test_a_run_whose_agent_prints_a_key_and_a_token(tmp_path):
    """Line by line, in two writes, on both streams, and as its last words: nothing is kept."""
    project = Project(tmp_path / "project")
    script = tmp_path / "agent.py"
    script.write_text(AGENT.format(lines=KEY, token=GITHUB))
    agent = AgentChoice("command", command=(sys.executable, str(script)))
    ended = project.ended(start_run(project.work, project.request(agent=agent)))
    assert ended.exit_code == 3
    assert "[redacted private key]" in project.log()
    assert "[redacted github token]" in project.log()
    kept = [project.log(), project.paths.events_file("001").read_text(), str(vars(ended))]
    kept += [path.read_bytes().decode("latin-1") for path in project.root.rglob("*.sqlite3*")]
    assert_clean("\n".join(kept).replace(f"last {BODY[1]}", ""))
