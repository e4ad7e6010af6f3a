"""An agent for tests: does the steps that its arguments name, as `step` or `step=argument`.

Without arguments, what it does is written in its spec, one step a line below `## Steps`.
It reads its prompt, works in its worktree, and reaches the project through the tool server that
the run configured for it.
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

SPEC = os.environ["CHANT_SPEC_ID"]
HERE = Path(__file__).resolve().parent


class Tools:
    """The tool server of this run, as its configuration names it."""

    def __init__(self):
        config = json.loads(Path(os.environ["CLEW_MCP_CONFIG"]).read_text())
        server = config["mcpServers"]["chant"]
        self.process = subprocess.Popen(
            [server["command"], *server["args"]],
            env={**os.environ, **server["env"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.number = 0

    def call(self, name, **arguments):
        """The text of a tool's answer."""
        self.number += 1
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert not answer["result"].get("isError"), answer
        return answer["result"]["content"][0]["text"]


def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)


def edit(name="made.txt", text="made by an agent"):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    with Path(name).open("a") as file:
        file.write(f"{text}\n")


def commit(*names):
    git("add", "--", *names) if names else git("add", "-A")
    git("commit", "-q", "-m", f"chant({SPEC}): make {' '.join(names) or 'it'}")


def stray(name="stray.txt"):
    """Leave the worktree, and commit in the user's own checkout."""
    there = Path(os.environ["CLEW_PROJECT"])
    (there / name).write_text("strayed\n")
    git("-C", str(there), "add", "--", name)
    git("-C", str(there), "commit", "-q", "-m", f"chant({SPEC}): make {name}", "--", name)


def commit_as_a_person(name="theirs.txt"):
    there = Path(os.environ["CLEW_PROJECT"])
    (there / name).write_text("mine\n")
    git("-C", str(there), "add", "--", name)
    git("-C", str(there), "commit", "-q", "-m", "Change something else", "--", name)


def stray_aloud(name="theirs.txt"):
    """Commit there as a person would, but let the run hear what git says about it."""
    there = os.environ["CLEW_PROJECT"]
    (Path(there) / name).write_text("mine\n")
    git("-C", there, "add", "--", name)
    words = ["git", "-C", there, "commit", "-m", "Change something else", "--", name]
    subprocess.run(words, check=True)


def pull(branch):
    """Bring a branch of another place into the user's checkout."""
    git("-C", os.environ["CLEW_PROJECT"], "pull", "-q", "--ff-only", ".", branch)


def tick(count="all"):
    """Tick boxes of the project's real spec through the tool server."""
    tools = Tools()
    total = json.loads(tools.call("chant_verify", id=SPEC))["criteria"]["total"]
    for number in range(1, (total if count == "all" else int(count)) + 1):
        tools.call("chant_check", id=SPEC, number=number, evidence="seen by the agent")


def tick_copy():
    """Tick the boxes in the worktree's own copy of the spec."""
    path = Path(".chant/specs") / f"{SPEC}.md"
    path.write_text(path.read_text().replace("- [ ]", "- [x]"))


def claim_done():
    Tools().call("chant_edit", id=SPEC, status="completed")


def change_check(*words):
    """Name another check command, in the worktree's copy of the spec and in the project's."""
    for file in (Path(".chant/specs") / f"{SPEC}.md", Path(os.environ["CHANT_SPEC_FILE"])):
        if file.exists():
            text = re.sub(r"(?m)^  check: .*$", f"  check: {' '.join(words)}", file.read_text())
            file.write_text(text)


def shell(script):
    """Run a script and say what it said."""
    done = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="\n", flush=True)


def drop_criteria():
    tools = Tools()
    body = json.loads(tools.call("chant_spec_get", id=SPEC))["body"]
    kept = [line for line in body.splitlines() if not line.startswith("- [ ]")]
    tools.call("chant_edit", id=SPEC, body="\n".join(kept))


def say(*words):
    print(" ".join(words) or "hello", flush=True)


def stream():
    """What an agent prints that ends well: text, a tool, its result, a last word and a cost."""
    blocks = [
        {"type": "text", "text": "Looking"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    ]
    done = {"type": "tool_result", "content": "made.txt", "is_error": False}
    ending = {"subtype": "success", "is_error": False, "result": "All done", "total_cost_usd": 0.25}
    for kind, data in (
        ("system", {"subtype": "init", "model": "m"}),
        ("assistant", {"message": {"content": blocks}}),
        ("user", {"message": {"content": [done]}}),
        ("result", ending),
    ):
        print(json.dumps({"type": kind, "session_id": "s-1", **data}), flush=True)


def stream_usage():
    """What an agent prints that tells tokens and no cost."""
    usage = {"input_tokens": 1200, "output_tokens": 30}
    for line in (
        {"type": "system", "subtype": "init", "model": "m-1.5"},
        {"type": "result", "is_error": False, "result": "Done", "usage": usage},
    ):
        print(json.dumps(line), flush=True)


def complain(*words):
    print(" ".join(words), file=sys.stderr, flush=True)


def flood(lines="20000"):
    for number in range(int(lines)):
        print(f"{number} {'x' * 100}", file=sys.stderr)


def session(name):
    line = {"type": "system", "subtype": "init", "session_id": name, "model": "test"}
    print(json.dumps(line), flush=True)


def tool(name, command, ok="ok", output="done"):
    use = {"type": "tool_use", "name": name, "input": {"command": command.replace("_", " ")}}
    done = {"type": "tool_result", "content": output, "is_error": ok != "ok"}
    print(json.dumps({"type": "assistant", "message": {"content": [use]}}))
    print(json.dumps({"type": "user", "message": {"content": [done]}}), flush=True)


def cost(dollars="1.5"):
    line = {"type": "result", "is_error": False, "result": "", "total_cost_usd": float(dollars)}
    print(json.dumps(line), flush=True)


def hang():
    time.sleep(600)


def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ignoring", flush=True)
    time.sleep(600)


def background():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)


def prompt():
    Path("prompt.txt").write_text(PROMPT)


def environment():
    Path("environment.json").write_text(json.dumps(dict(os.environ)))


def sleep(seconds):
    time.sleep(float(seconds))


def wait_for(name):
    """Wait until the test lets it go on, by a file in the worktree or the project."""
    there = (Path(name), Path(os.environ["CLEW_PROJECT"]) / name)
    deadline = time.monotonic() + 600
    while not any(path.exists() for path in there) and time.monotonic() < deadline:
        time.sleep(0.02)


def mark(name):
    """Tell the test how far it is."""
    path = Path(os.environ["CLEW_PROJECT"]) / name
    path.write_text(f"{time.time()}\n")


def note_span(name):
    """Tell from when to when this spec was worked on."""
    with (Path(os.environ["CLEW_PROJECT"]) / name).open("a") as file:
        file.write(f"{SPEC} {time.time()}\n")


def alone(directory):
    """Tell if another agent works on this spec now: its lock is freed by its end, however it ends."""
    global held  # noqa: PLW0603 - for as long as this process lives
    held = (Path(directory) / f"{SPEC}.lock").open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        (Path(directory) / f"{SPEC}.double").write_text(f"{os.environ['CLEW_RUN_ID']}\n")


def note_commit(directory):
    """Tell which commit is on the branch now."""
    tip = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    with (Path(directory) / f"{SPEC}.commits").open("a") as file:
        file.write(tip.stdout)


def once(name, *words):
    """Do a step only in the first attempt."""
    path = Path(os.environ["CLEW_PROJECT"]) / name
    if not path.exists():
        path.write_text("")
        step(*words)


def keep_prompt(name="prompt.txt"):
    path = Path(os.environ["CLEW_PROJECT"]) / name
    path.write_text(PROMPT)


def leave(code="1"):
    sys.exit(int(code))


def end_parent():
    os.kill(os.getppid(), signal.SIGKILL)


def step(name, *words):
    globals()[name.replace("-", "_")](*words)


def written_steps():
    file = os.environ.get("CHANT_SPEC_FILE")
    written = Path(file).read_text() if file else ""
    steps = re.search(r"^## Steps\n+```\n(.*?)^```", written, re.MULTILINE | re.DOTALL)
    lines = steps.group(1).splitlines() if steps else ()
    return [line.split() for line in lines if line.strip()]


def named_steps(words):
    for word in words:
        name, _, argument = word.partition("=")
        usual = ["made.txt"] if name == "commit" else []
        yield [name, *([argument] if argument else usual)]


if __name__ == "__main__":
    PROMPT = sys.stdin.read()
    for words in list(named_steps(sys.argv[1:])) or written_steps():
        step(*words)
