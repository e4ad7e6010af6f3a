"""A project with commands, made file by file."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support.client import BIN, CLIMPT, StdioServer

HOME = ".agent/climpt"


class Project:
    """A directory with a `.agent/climpt`, and what one does in it."""

    def __init__(self, root):
        self.root = Path(root)
        (self.root / ".agent").mkdir(parents=True)

    @property
    def settings(self):
        return {"project": str(self.root)}

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(text, str):
            text = json.dumps(text)
        path.write_text(text, encoding="utf-8")
        return path

    def template(self, address, body, *, variant="default", base="prompts", **meta):
        """Write one template; `meta` becomes its frontmatter."""
        lines = [f"{key}: {json.dumps(value)}" for key, value in meta.items()]
        head = "\n".join(["---", *lines, "---", "", ""]) if meta else ""
        return self.write(f"{HOME}/{base}/{address}/f_{variant}.md", head + body)

    def registry(self, *records, path=f"{HOME}/registry.json"):
        document = {"version": "1.0.0", "description": "", "tools": {"commands": list(records)}}
        return self.write(path, document)

    def run(self, *words, stdin=None, env=None, program="climpt", timeout=60):
        return subprocess.run(
            [str(BIN / program), *words],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            cwd=self.root,
            check=False,
            timeout=timeout,
            env={**os.environ, **(env or {})},
        )

    def ok(self, *words, **options):
        done = self.run(*words, **options)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def fails(self, *words, code=1, **options):
        done = self.run(*words, **options)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert b"Traceback" not in done.stderr
        return done.stderr.decode()

    def data(self, *words, **options):
        envelope = json.loads(self.ok(*words, "--json", **options))
        assert envelope["ok"] is True
        return envelope["data"]

    def server(self, *options, command=CLIMPT):
        return StdioServer((*command, *options), cwd=self.root)


def record(address, description="Does it", **more):
    c1, c2, c3 = address.split("/")
    return {"c1": c1, "c2": c2, "c3": c3, "description": description, **more}


class Tools:
    """The tools of a running server."""

    def __init__(self, server):
        self.server = server

    def call(self, name, **arguments):
        return self.server.result("tools/call", {"name": name, "arguments": arguments})

    def text(self, name, **arguments):
        result = self.call(name, **arguments)
        assert result["isError"] is False, result
        return result["content"][0]["text"]

    def found(self, name, **arguments):
        result = self.call(name, **arguments)
        assert result["isError"] is False, result
        text = json.loads(result["content"][0]["text"])
        structured = result["structuredContent"]
        assert structured in (text, {"result": text})
        return text

    def error(self, name, **arguments):
        result = self.call(name, **arguments)
        assert result["isError"] is True, result
        assert "structuredContent" not in result
        return json.loads(result["content"][0]["text"])
