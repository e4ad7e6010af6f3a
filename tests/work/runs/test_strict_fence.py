"""A fence with a closed network, with real processes and a real server on loopback."""

from __future__ import annotations

import shutil
import sys

import pytest

from clew.kit.errors import Unavailable
from clew.work.agents.fence.fence import STRICT, _why_none
from clew.work.agents.options import WorkOptions
from tests.work.agents.test_network import page

__all__ = ["page"]
OPTIONS = WorkOptions(sandbox=STRICT)
can_close = sys.platform == "linux" and _why_none(STRICT) is None
needs_fence = pytest.mark.skipif(not can_close, reason="no bubblewrap that closes the network here")
# Asks by the proxy that the environment names, and straight.
ASK = """
import os, socket, sys, urllib.request
def ask(url, proxied):
    handler = urllib.request.ProxyHandler(None if proxied else {})
    try:
        with urllib.request.build_opener(handler).open(url, data=b"hello", timeout=60) as answer:
            print("REACHED", "by proxy" if proxied else "straight", url, answer.status)
    except OSError as error:
        print("STOPPED", "by proxy" if proxied else "straight", url, error)
for url in sys.argv[1:]:
    ask(url, True)
    ask(url, False)
print("DESCRIPTORS", sorted(int(n) for n in os.listdir("/proc/self/fd") if int(n) > 2))
"""


def settings(private_home, *hosts):
    file = private_home / ".config" / "chant" / "config.md"
    text = file.read_text() if file.exists() else "---\nwork:\n---\n"
    named = ", ".join(f'"{host}"' for host in hosts)
    file.write_text(text.replace("work:\n", f"work:\n  sandbox_hosts: [{named}]\n"))


def asking(house, *urls):
    """A script that asks for these addresses."""
    (house.root / "ask.py").write_text(ASK)
    script = house.root / "ask.sh"
    script.write_text(f"{sys.executable} {house.root}/ask.py {' '.join(urls)}\n")
    return f"shell {script}"


@needs_fence
def test_only_named_hosts_are_reached_and_only_by_the_proxy(house, private_home, page):
    named, local, other = f"127.0.0.2:{page}", f"127.0.0.1:{page}", f"127.0.0.3:{page}"
    settings(private_home, named, local)
    ask = asking(house, *(f"http://{place}/" for place in (named, local, other)))
    house.spec("001", ask, "edit a.txt", "commit a.txt", "tick", checks=["test -e a.txt"])
    run = house.done("001", options=OPTIONS)
    log = house.log("001")
    assert (run.phase, run.failure) == ("finished", None), log
    assert f"the network is closed but for these hosts: {named}, {local}" in log
    assert f"REACHED by proxy http://{named}/ 200" in log
    assert f"STOPPED straight http://{named}/" in log
    # A model on this machine is reached without a proxy, too: many programs do not use one for it.
    assert f"REACHED by proxy http://{local}/ 200" in log
    assert f"REACHED straight http://{local}/ 200" in log
    assert f"STOPPED by proxy http://{other}/ HTTP Error 403" in log
    assert f"STOPPED straight http://{other}/" in log
    assert log.count(f"the fence stopped a connection to {other}") == 1
    assert house.status("001") == "completed"


@needs_fence
def test_without_names_nothing_is_reached(house, private_home, page):
    ask = asking(house, f"http://127.0.0.1:{page}/", "http://no.such.host.example/")
    house.spec("001", ask, "edit a.txt", "commit a.txt", "tick")
    assert house.done("001", options=OPTIONS).phase == "finished"
    log = house.log("001")
    assert "work.sandbox_hosts names none" in log
    assert "REACHED" not in log
    assert "the fence stopped a connection to no.such.host.example:80" in log


@needs_fence
def test_no_other_way_leads_out(house, private_home, tmp_path):
    """Sockets of services, those without a file, the descriptor of the proxy, other processes."""
    import socket

    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0clew-test-of-the-fence")
    abstract.listen()
    script = house.root / "try.py"
    script.write_text(
        "import os, socket\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "try:\n    s.connect('\\0clew-test-of-the-fence')\n    print('GOT', 'OUT')\n"
        "except OSError as error:\n    print('abstract socket:', error)\n"
        "links = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if int(n) > 2"
        " and os.path.exists(f'/proc/self/fd/{n}')]\n"
        "print('SOCKETS', [link for link in links if link.startswith('socket') and link != "
        "os.readlink(f'/proc/self/fd/{s.fileno()}')])\n"
        "found = [os.path.join(d, f) for d, _, fs in os.walk('/run') for f in fs]\n"
        "print('RUN', found)\n"
    )
    run = house.root / "try.sh"
    run.write_text(f"{sys.executable} {script}\n")
    house.spec("001", f"shell {run}", "edit a.txt", "commit a.txt", "tick")
    with abstract:
        assert house.done("001", options=OPTIONS).phase == "finished"
    log = house.log("001")
    assert "abstract socket:" in log
    assert "GOT OUT" not in log
    assert "SOCKETS []" in log
    assert "RUN []" in log


def test_a_strict_fence_is_never_left_out(house, tmp_path, monkeypatch):
    house.spec("001", "edit a.txt", "commit a.txt", "tick")
    for name in ("git", "sh", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="No fence can be had, and a strict one is asked for"):
        house.begin("001", options=OPTIONS)
    assert house.latest("001").phase == "failed"


@needs_fence
def test_a_name_that_is_none_fails_the_run(house, private_home):
    settings(private_home, "https://api.example.com")
    house.spec("001", "edit a.txt", "commit a.txt", "tick")
    with pytest.raises(Unavailable, match="not a host: https://api"):
        house.begin("001", options=OPTIONS)
    assert house.latest("001").phase == "failed"


@needs_fence
def test_a_strictly_fenced_agent_is_stopped_like_any_other(house):
    from clew.work.processes.identity import processes_of_run
    from clew.work.runs.stop import pause

    house.spec("001", "edit a.txt", "hang")
    house.begin("001", options=OPTIONS)
    assert pause(house.work, "001").phase == "paused"
    assert processes_of_run(house.latest("001").run_id) == []
