"""The commands of the page about teams, run one after the other as it has them."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import ROOT, our_commands, shell_lines
from tests.support.issuer import running_issuer
from tests.team.test_syncing import COMMITS, counts, served  # noqa: F401

PAGE = ROOT / "docs/how-to/team.md"
# By its first words, why a command of the page is not run here.
NOT_RUN = {
    ("serve",): "runs until it is stopped; tests/team/operations/test_server.py",
    ("web",): "runs until it is stopped; tests/web/team",
    ("worker", "--queue", "work"): "needs an agent; tests/team/test_working.py",
    ("team", "add-repos", "--forge"): "asks a forge; tests/team/test_syncing.py",
    ("team", "logs"): "follows what needs an agent",
    ("team", "ask"): "needs a worker that has the order",
}


def is_run(words):
    return not any(tuple(words[1 : len(known) + 1]) == known for known in NOT_RUN)


def commands():
    return [words for line in shell_lines(PAGE) for words in our_commands(line)]


def test_the_page_leads_to_a_team(team_database, tmp_path, monkeypatch, served):  # noqa: F811
    text = f"my-repo {served['r0']}\n"
    (tmp_path / "repositories.txt").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CLEW_DATABASE", team_database)
    done = []
    with running_issuer() as issuer:
        for words in filter(is_run, commands()):
            given = words[1:] + (["--once"] if words[1] == "worker" else [])
            if "--issuer" in given:
                given[given.index("--issuer") + 1] = issuer.url
            ended = subprocess.run(
                [sys.executable, "-m", "clew", *given],
                cwd=tmp_path, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert ended.returncode == 0, (given, ended.stdout, ended.stderr)
            done.append(" ".join(words[1:3]))

    assert {"team migrate", "team sign-in", "team grant", "team token", "team doctor"} <= set(done)
    assert counts(team_database) == {"my-repo": COMMITS}
