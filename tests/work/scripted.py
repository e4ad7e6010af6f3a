"""An agent for tests: does the steps that its arguments name, one after the other."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def edit(name="made.txt"):
    Path(name).write_text(f"made by {os.environ['CLEW_RUN_ID']}\n")


def commit(name="made.txt"):
    subprocess.run(["git", "add", "--", name], check=True)
    spec = os.environ["CHANT_SPEC_ID"]
    subprocess.run(["git", "commit", "-q", "-m", f"chant({spec}): make {name}"], check=True)


def say(text="hello"):
    print(text, flush=True)


def flood(lines="20000"):
    for number in range(int(lines)):
        print(f"{number} {'x' * 100}", file=sys.stderr)


def hang():
    time.sleep(600)


def stubborn():
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ignoring", flush=True)
    time.sleep(600)


def background():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)


def prompt():
    Path("prompt.txt").write_text(sys.stdin.read())


def environment():
    Path("environment.json").write_text(json.dumps(dict(os.environ)))


def kill_supervisor():
    os.kill(os.getppid(), 9)


def wait_for(name):
    while not Path(name).exists():
        time.sleep(0.02)


def leave(code="1"):
    sys.exit(int(code))


def cost(dollars="1.5"):
    print(
        json.dumps(
            {"type": "result", "is_error": False, "result": "", "total_cost_usd": float(dollars)}
        ),
        flush=True,
    )


def stream():
    blocks = [
        {"type": "text", "text": "Looking"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    ]
    done = {"type": "tool_result", "content": "made.txt", "is_error": False}
    for line in (
        {"type": "system", "subtype": "init", "session_id": "s-1", "model": "m"},
        {"type": "assistant", "session_id": "s-1", "message": {"content": blocks}},
        {"type": "user", "session_id": "s-1", "message": {"content": [done]}},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "All done",
            "session_id": "s-1",
            "total_cost_usd": 0.25,
        },
    ):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    for step in sys.argv[1:]:
        name, _, argument = step.partition("=")
        globals()[name](*([argument] if argument else []))
