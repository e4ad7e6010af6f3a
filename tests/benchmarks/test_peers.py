"""Peers: named ones and found ones, good, broken, silent and endless ones."""

import os
import sys
from pathlib import Path

import pytest
from benchmarks.measurement import peers
from benchmarks.measurement.peers import (
    PeerFailed,
    found_on_path,
    is_ours,
    programs,
    read_peers,
    start,
    sync_with,
)
from benchmarks.measurement.process import Child
from benchmarks.rooms import history_index
from benchmarks.server import cold_start
from benchmarks.subjects.histories import generate

from tests.support.waiting import LIMIT_SECONDS

OURS = Path(sys.executable).parent
# It talks about other things, too, as servers do that log to standard output.
CHATTY = """
import json, sys
print("starting", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print('{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
        result = {"tools": [{"name": "one"}]} if message["method"] == "tools/list" else {}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def script(tmp_path):
    """Writes a program for the shell, and tells its path."""

    def write(name, text):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def chatty(tmp_path):
    path = tmp_path / "chatty.py"
    path.write_text(CHATTY)
    return [sys.executable, str(path)]


@pytest.fixture
def bench(bench_of, monkeypatch):
    """A view of a run that finds no peers by itself."""
    monkeypatch.setenv("PATH", os.defpath)
    return bench_of()


def test_peers_are_read_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_peers(["a=one two 'three four'", "b=bin/five"]) == {
        "a": ["one", "two", "three four"],
        "b": [str(tmp_path / "bin" / "five")],
    }
    for wrong in (["a"], ["=one"], ["a="]):
        with pytest.raises(ValueError, match="not a peer's name and command"):
            read_peers(wrong)
    with pytest.raises(ValueError, match="two peers"):
        read_peers(["a=one", "a=two"])


def test_a_start_is_measured_and_other_messages_are_passed_over(chatty, tmp_path):
    sample, answer = start(chatty, tmp_path)
    assert b'"one"' in answer
    assert 0 < sample["initialize"] <= sample["tools/list"]
    assert {"exit", "cpu", "memory"} <= sample.keys()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo 'no luck today' >&2; exit 3", "no luck today"),
        ("exit 0", "it said nothing"),
        ("sleep 60", "took more than 1 s"),
        ("sleep 60 & sleep 60", "took more than 1 s"),
        ("while true; do echo hello; sleep 0.2; done", "took more than 1 s"),
        ('read line; echo \'{"id": 0, "result": {}}\'; read line; read line', "it said nothing"),
        ('read line; echo \'{"id": 0, "error": {}}\'; read line; read line', "no result"),
    ],
)
def test_a_peer_that_fails_is_told_and_ended(script, tmp_path, program, reason):
    command = [script("peer", program)]
    patience = 1.0 if reason.startswith("took") else LIMIT_SECONDS
    with pytest.raises(PeerFailed, match=reason):
        start(command, tmp_path, patience)


def test_a_peer_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PeerFailed, match="cannot be run: No such file"):
        start([str(tmp_path / "nothing")], tmp_path)


def test_a_process_that_was_abandoned_is_gone(script, tmp_path):
    child = Child([script("peer", "sleep 60")], tmp_path)
    child.abandon()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_programs_of_the_originals_are_found_unless_they_are_ours(script, tmp_path):
    chant = script("chant", "exit 0")
    script("climpt", "exec python -m clew")
    (tmp_path / "bin" / "clariad").symlink_to(OURS / "clariad")
    found = found_on_path([Path(sys.prefix)], path=str(tmp_path / "bin"))
    assert found == {"chant": [chant, "mcp"]}
    assert is_ours(OURS / "commitmux", [Path(sys.prefix)])
    assert found_on_path([Path(sys.prefix)], path=str(OURS)) == {}


def test_named_peers_are_tried_once_and_the_broken_are_listed(bench, chatty, script, monkeypatch):
    monkeypatch.setattr(peers, "LONGEST_START", 5.0)
    bench.workshop.peers = {"good": chatty, "bad": [script("bad", "exit 1")]}
    found = programs(bench)
    assert found.commands == {"good": chatty}
    assert list(found.skipped) == ["bad"]
    assert programs(bench) is found


def test_our_own_face_may_be_a_named_peer(bench):
    command = [str(OURS / "commitmux"), "serve"]
    bench.workshop.peers = {"commitmux": command}
    found = programs(bench)
    assert found.commands == {"commitmux": command}
    sample, answer = start(command, peers.home_of(bench, "commitmux"))
    assert b"commitmux_search" in answer
    assert sample["tools/list"] > 0


def test_a_peer_that_fails_later_is_skipped_from_then_on():
    skipped, calls = {}, []

    def fail():
        calls.append(1)
        raise PeerFailed("no more")

    assert cold_start.sample_or_skip(fail, skipped, "peer x") == {}
    assert cold_start.sample_or_skip(fail, skipped, "peer x") == {}
    assert (skipped, len(calls)) == ({"peer x": "no more"}, 1)


def test_a_commitmux_syncs_into_an_index_of_its_own(tmp_path, script):
    repository = generate(tmp_path / "repository", 20)
    home = tmp_path / "home"
    assert sync_with([str(OURS / "commitmux"), "serve"], home, repository) > 0
    assert (home / "index.sqlite3").exists()
    with pytest.raises(PeerFailed, match="no sync"):
        sync_with(
            [script("commitmux", 'echo "no $1" >&2; [ "$1" != sync ]'), "serve"], home, repository
        )


@pytest.mark.parametrize("works", [True, False])
def test_the_history_claim_has_a_figure_of_a_peer_commitmux(bench_of, bench, script, works):
    ours = str(OURS / "commitmux")
    broken = script("commitmux", f'[ "$1" = sync ] && exit 1; exec {ours} "$@"')
    bench.workshop.peers = {"commitmux": [ours if works else broken, "serve"]}
    settings = {**history_index.QUICK, "commits": 20, "rounds": 1, "syncs": 1, "questions": 2}
    claim = history_index.run(bench_of(**settings))
    named = [figure.baseline for figure in claim.figures]
    assert (history_index.PEER in named) is works
    assert ("peer commitmux" in claim.skipped) is not works
