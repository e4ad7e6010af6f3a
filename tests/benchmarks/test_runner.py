"""The runner's shape: arguments, JSON, Markdown. Never how long anything took."""

import json
import sys

import pytest
from benchmarks.__main__ import CLAIMS, main, settle
from benchmarks.measurement.install import SERVERS
from benchmarks.measurement.messages import call_echo, initialize, request, result_of
from benchmarks.measurement.process import Child, ChildFailed

TINY = ["rounds=2", "messages=16", "bytes=1024"]


def test_a_tiny_run_writes_json_and_markdown(tmp_path, capsys):
    data, text = tmp_path / "figures.json", tmp_path / "figures.md"
    words = [f"kernel_messages.{setting}" for setting in TINY]
    wanted = ["--quick", "--json", str(data), "--markdown", str(text), "--only", "kernel_messages"]
    assert main([*wanted, *words]) == 0
    report = json.loads(data.read_text())
    assert set(report) == {
        "version",
        "date",
        "seconds",
        "quick",
        "machine",
        "settings",
        "claims",
    }
    assert {"processor", "cores", "python", "system", "load before", "load after"} <= set(
        report["machine"]
    )
    (claim,) = report["claims"]
    assert claim["name"] == "kernel_messages"
    assert 0 <= claim["seconds"] <= report["seconds"] + 0.1
    assert f"| kernel_messages | {claim['seconds']} |" in text.read_text()
    for figure in claim["figures"]:
        assert set(figure["ratio"]) == {"n", "median", "minimum", "q1", "q3", "iqr"}
        assert figure["ratio"]["n"] == 2
        assert figure["subject"]["median"] > 0
        assert figure["subject"]["name"] != figure["baseline"]["name"]
    assert "| receive 1 MiB: " in text.read_text()
    assert "receive 1 MiB" in capsys.readouterr().out


def test_every_claim_has_the_same_doors():
    for claim in CLAIMS:
        assert claim.NAME in claim.__name__.split(".")
        assert claim.TITLE
        assert claim.QUICK.keys() == claim.FULL.keys()
        assert callable(claim.run)


def test_settings_are_changed_by_name():
    assert settle(True, ["warm_calls.calls=7"])["warm_calls"]["calls"] == 7
    for wrong in ("warm_calls.calls=0", "warm_calls.nope=1", "nope.calls=1", "warm_calls.calls=x"):
        with pytest.raises(ValueError, match="not a setting"):
            settle(True, [wrong])


def test_an_unknown_claim_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nope"])
    assert "unknown claim: nope" in capsys.readouterr().err


def test_a_peer_without_a_command_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--peer", "somebody"])
    assert "not a peer's name and command: somebody" in capsys.readouterr().err


def test_the_list_names_every_setting(capsys):
    assert main(["--list"]) == 0
    assert "warm_calls.calls=2000 / 300" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["minimal_loop", "clew_kernel", "clew_catalogue"])
def test_every_server_gives_the_same_answer(name, tmp_path):
    server = Child([sys.executable, str(SERVERS / f"{name}.py")], tmp_path)
    server.ask(initialize())
    assert result_of(server.ask(call_echo(1, "hi"))) == {
        "content": [{"type": "text", "text": "hi"}],
        "isError": False,
        "structuredContent": {"result": "hi"},
    }
    assert server.ask_many([call_echo(number, "hi") for number in range(20)], 8) > 0
    assert server.wait().exit_code == 0


def test_the_full_catalogue_lists_every_declared_tool(tmp_path):
    from clew.program import all_tools

    server = Child([sys.executable, str(SERVERS / "full_catalogue.py")], tmp_path)
    assert len(result_of(server.ask(request(1, "tools/list")))["tools"]) == len(all_tools())
    server.wait()


def test_a_server_that_dies_is_quoted(tmp_path):
    server = Child([sys.executable, "-c", "raise SystemExit('no luck')"], tmp_path)
    with pytest.raises(ChildFailed, match="no luck"):
        server.ask(b"")
    with pytest.raises(ChildFailed, match="no luck"):
        server.wait()
