"""Our own agent, against a service on this machine that answers from a script."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clew.work.agents.builtin import LoopTools, tool_schemas


def call(name, **given):
    function = {"name": name, "arguments": json.dumps(given)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": function}]}


@pytest.fixture
def service():
    """A service whose answers a test lays out; what it was asked is kept."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.asked.append((self.path, self.headers.get("Authorization"), body))
            answer = self.server.answers.pop(0)
            status = answer if isinstance(answer, int) else 200
            value = (
                b"busy"
                if status != 200
                else json.dumps({"choices": [{"message": answer}]}).encode()
            )
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(value)))
            self.end_headers()
            self.wfile.write(value)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.answers = [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def loop(service, tmp_path, *options):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "clew.work.agents.builtin", "--model", "m", *options,
         "--endpoint", f"http://127.0.0.1:{service.server_port}"],
        input="Make a file.", capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_model_works_through_tools_until_it_says_so(service, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    service.answers += [
        429,
        call("write_file", path="sub/a.txt", content="hello"),
        {"role": "assistant", "content": "thinking"},
        call("run_command", command="cat sub/a.txt"),
        call("task_complete", summary="Made it"),
    ]
    code, lines = loop(service, tmp_path)
    assert code == 0
    assert (tmp_path / "sub/a.txt").read_text(encoding="utf-8") == "hello"
    assert [line["type"] for line in lines] == [
        "system", "assistant", "user", "assistant", "assistant", "user", "assistant", "result",
    ]  # fmt: skip
    assert lines[-1] == {"type": "result", "is_error": False, "result": "Made it"}
    path, key, body = service.asked[-1]
    assert (path, key, body["model"]) == ("/chat/completions", "Bearer k", "m")
    assert body["messages"][-1]["content"] == "exit 0\nhello"


def test_ollama_is_asked_at_its_own_address_without_a_key(service, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    service.answers.append(call("task_complete", summary="ok"))
    assert loop(service, tmp_path, "--api", "ollama")[0] == 0
    assert service.asked[0][:2] == ("/v1/chat/completions", None)


def test_refusals_and_endless_talk_end_with_an_error(service, tmp_path):
    service.answers.append(401)
    code, lines = loop(service, tmp_path)
    assert (code, lines[-1]["is_error"]) == (1, True)
    assert "answered 401" in lines[-1]["result"]
    service.answers += [{"role": "assistant", "content": "hm"}] * 2
    code, lines = loop(service, tmp_path, "--max-turns", "2")
    assert (code, "Maximum turns" in lines[-1]["result"]) == (1, True)


def test_files_outside_are_out_of_reach(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (top / "link").symlink_to(tmp_path / "secret")
    tools = LoopTools(top, read_only=False)
    for path in ("../secret", "/etc/passwd", "link", ".git/config", "a\0b"):
        ok, said = tools.call("read_file", {"path": path})
        assert not ok, said
    assert not tools.call("write_file", {"path": "link", "content": "y"})[0]
    assert tools.call("read_file", {"path": "gone"}) == (
        False,
        f"No such file or directory: {top / 'gone'}",
    )


def test_read_only_has_no_tools_that_write(tmp_path):
    names = [schema["function"]["name"] for schema in tool_schemas(read_only=True)]
    assert names == ["read_file", "list_files", "task_complete"]
    tools = LoopTools(tmp_path, read_only=True)
    assert tools.call("run_command", {"command": "touch x"}) == (
        False,
        "There is no tool run_command",
    )
    assert tools.call("read_file", {}) == (False, "Missing: path")
    (tmp_path / "a").write_text("1", encoding="utf-8")
    assert tools.call("list_files", {"path": "."}) == (True, "a")
