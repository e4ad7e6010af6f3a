"""The fence around an agent, with real processes: what it can write, see and tell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clew.work.agents.fence import fence
from clew.work.agents.fence.fence import sandbox_of
from clew.work.agents.fence.network import Hosts, Proxy
from clew.work.agents.options import WorkOptions
from clew.work.journal.status_files import read_agent_status, write_views
from clew.work.model import AgentChoice
from clew.work.paths import STATUS_FILE
from clew.work.worktrees.worktrees import remove

FENCED = WorkOptions(sandbox="worktree")


def can_fence():
    return sys.platform == "linux" and fence._why_none() is None


needs_fence = pytest.mark.skipif(not can_fence(), reason="no bubblewrap that runs here")


@needs_fence
def test_a_fenced_agent_commits_ticks_and_completes_its_spec(house):
    house.spec("001", "edit a.txt", "commit a.txt", "tick", checks=["test -e a.txt"])
    run = house.done("001", options=FENCED)
    assert (run.phase, run.failure) == ("finished", None)
    assert house.status("001") == "completed"
    assert "fenced in: writes go to the worktree" in house.log("001")
    assert not (house.paths.run_directory(run.run_id) / "fence").exists()


@needs_fence
def test_what_is_outside_cannot_be_written_or_read(house, private_home, tmp_path):
    secret, outside = private_home / ".ssh" / "id", tmp_path / "outside"
    secret.parent.mkdir()
    secret.write_text("a secret")
    main = house.repo.text("rev-parse", "main")
    attack = f"""
cat {secret} && echo SEEN
echo x > {outside}
echo x > {house.root}/README.md
echo x > {house.root}/.chant/config.md
echo x > {house.root}/.git/config
echo x > {house.root}/.git/hooks/post-commit
git -C {house.root} update-ref refs/heads/main HEAD~0
echo evil >> {private_home}/.bashrc
clew trust --all
{sys.executable} -c "import sqlite3; db = sqlite3.connect('{house.paths.journal}'); \\
db.execute('DELETE FROM moves'); db.commit(); print('JOURNAL', 'CHANGED')"
true
"""
    script = house.root / "attack.sh"
    script.write_text(attack)
    house.spec("001", f"shell {script}", "edit a.txt", "commit a.txt", "tick")
    run = house.done("001", options=FENCED)
    assert run.phase == "finished"
    assert not outside.exists()
    assert house.repo.text("rev-parse", "main") == main
    assert (house.root / "README.md").read_text() == "hello\n"
    assert "provider: command" in (house.root / ".chant" / "config.md").read_text()
    assert not (house.root / ".git" / "hooks" / "post-commit").exists()
    assert not (private_home / ".bashrc").exists()
    log = house.log("001")
    assert "SEEN" not in log
    assert "JOURNAL CHANGED" not in log
    assert "attempt to write a readonly database" in log
    assert len(house.work.journal.history(run.run_id)) > 3
    assert "the fence stopped a write" in log
    assert "the fence kept this from the home: .bashrc" in log


# Each would have Clew's own git, which has no fence, run a filter of the agent's.
SETTINGS = """
git config -f evil/config filter.x.clean 'touch {mark}; cat'
echo '* filter=x' > .gitattributes
touch a.txt
"""
LEADING_GIT_ASTRAY = {
    "git-file": """
cp -r $(git rev-parse --git-common-dir)/. evil
cp $(git rev-parse --git-dir)/HEAD $(git rev-parse --git-dir)/index evil
git config -f evil/config core.worktree "$PWD"
rm -f .git; echo "gitdir: $PWD/evil" > .git
""",
    "common-directory": """
own=$(git rev-parse --git-dir)
cp -r $(git rev-parse --git-common-dir)/. evil
echo "$PWD/evil" > $own/new; mv -f $own/new $own/commondir; echo "$PWD/evil" > $own/commondir
""",
    "worktree-settings": """
own=$(git rev-parse --git-dir)
mkdir evil; touch evil/config
git config -f evil/config filter.x.clean 'touch {mark}; cat'
cp -f evil/config $own/config.worktree; mv -f evil/config $own/config.worktree; mkdir -p evil
""",
}


@needs_fence
@pytest.mark.parametrize("way", LEADING_GIT_ASTRAY)
def test_an_agent_cannot_lead_the_git_of_clew_to_other_settings(house, tmp_path, way):
    house.repo.git("config", "core.repositoryFormatVersion", "1")
    house.repo.git("config", "extensions.worktreeConfig", "true")
    mark, script = tmp_path / "escaped", house.root / "attack.sh"
    script.write_text((LEADING_GIT_ASTRAY[way] + SETTINGS + "true\n").format(mark=mark))
    house.spec("001", "edit a.txt", "commit a.txt", f"shell {script}", "tick")
    run = house.done("001", options=FENCED)
    assert ".gitattributes" in run.failure  # so that git did look at what the agent left
    assert not mark.exists()


def test_a_branch_that_is_a_name_for_another_goes_alone(house):
    """An agent may write to its own branch; Clew removes it when everything of it is merged."""
    house.spec("001", "edit a.txt", "commit a.txt", "tick")
    run = house.done("001")
    house.repo.git("symbolic-ref", f"refs/heads/{run.branch}", "refs/heads/main")
    before = house.repo.text("rev-parse", "main")
    remove(house.root, "001", ("main",), force=True)
    assert house.repo.text("rev-parse", "main") == before
    assert house.repo.text("branch", "--list", run.branch) == ""


@needs_fence
def test_a_fenced_agent_is_stopped_like_any_other(house):
    house.spec("001", "edit a.txt", "hang")
    house.begin("001", options=FENCED)
    from clew.work.runs.stop import pause

    assert pause(house.work, "001").phase == "paused"
    from clew.work.processes.identity import processes_of_run

    assert processes_of_run(house.latest("001").run_id) == []


def test_where_there_is_none_the_run_says_so_once(house, tmp_path, monkeypatch):
    house.spec("001", "edit a.txt", "commit a.txt", "tick")
    names = ("git", "sh", "env")
    for name in names:
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert house.done("001", options=FENCED).phase == "finished"
    assert house.log("001").count("no fence: bubblewrap is not installed") == 1


def test_who_is_fenced_by_default(private_home):
    assert sandbox_of("claude", "edit", None) == "worktree"
    assert sandbox_of("codex", "edit", None) == "off"  # it has a sandbox of its own
    assert sandbox_of("codex", "full", None) == "worktree"
    assert sandbox_of("openai", "edit", None) == "worktree"
    assert sandbox_of("command", "edit", None) == "off"
    assert sandbox_of("kirocli", "edit", None) == "off"  # nobody has tried it
    assert sandbox_of("claude", "edit", "off") == "off"
    file = private_home / ".config" / "chant" / "config.md"
    file.write_text("---\nwork:\n  sandbox: worktree\n  sandboxes:\n    claude: off\n---\n")
    assert sandbox_of("command", "edit", None) == "worktree"
    assert sandbox_of("claude", "edit", None) == "off"


def test_a_project_cannot_open_the_fence(house):
    house.configure("work:\n  sandbox: off\n  sandbox_write: [/]\n  sandbox_hosts: [evil.example]")
    causes = [problem.cause for problem in house.work.config().warnings]
    assert sum("has no effect here" in cause for cause in causes) == 3
    assert sandbox_of("claude", "edit", None) == "worktree"


def test_the_profile_for_macos_names_what_may_be_written(house, monkeypatch):
    git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout
    places = fence._Places(house.root, house.root / "tree", AgentChoice("claude"), git.strip(), ())
    (program, flag, profile) = fence._sandbox_exec(places, None)
    assert (program, flag) == ("sandbox-exec", "-p")
    assert "(deny file-write*)" in profile
    assert f'(subpath "{house.root.resolve()}/tree")' in profile
    assert f'(subpath "{Path.home().resolve()}/.claude")' in profile
    assert "(deny network*)" not in profile


def test_the_profile_for_macos_leads_to_the_proxy_alone(house):
    choice = AgentChoice("claude", sandbox="strict")
    places = fence._Places(house.root, house.root / "tree", choice, sys.executable, ())
    proxy = Proxy(Hosts(["api.example.com", "127.0.0.1:8080"]))
    *_, profile, env, first = fence._sandbox_exec(places, proxy)[:5]
    proxy.close()
    port = first.rpartition(":")[2]
    assert (env, first) == ("/usr/bin/env", f"HTTP_PROXY=http://127.0.0.1:{port}")
    allowed = f'(remote ip "localhost:{port}") (remote ip "localhost:8080")'
    assert profile.endswith(f"(deny network*)(allow network-outbound {allowed})")


def test_an_agent_cannot_have_its_status_written_elsewhere(house, tmp_path):
    """The file is in the worktree, where an agent may put a link, and Clew itself has no fence."""
    house.spec("001", "edit a.txt", "commit a.txt")
    run = house.done("001")
    (tmp_path / "rc").write_text("mine")
    status = Path(run.worktree) / STATUS_FILE
    status.unlink(missing_ok=True)
    status.symlink_to(tmp_path / "rc")
    write_views(house.work.paths, run)
    assert (tmp_path / "rc").read_text() == "mine"
    assert read_agent_status(Path(run.worktree)) is None
