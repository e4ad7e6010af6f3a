"""An agent for tests: it talks for as long as a file in the project's home says so, then commits."""

import os
import subprocess
import time
from pathlib import Path

control = Path(os.environ["HOME"]) / "agent-goes-on"
spec = os.environ["CHANT_SPEC_ID"]
print("I have read the spec", flush=True)
number = 0
while not control.exists() and number < 3000:
    number += 1
    if number % 10 == 0:
        print(f"step {number // 10}", flush=True)
    time.sleep(0.05)
Path("made.txt").write_text("made\n")
subprocess.run(["git", "add", "made.txt"], check=True)
subprocess.run(["git", "commit", "-q", "-m", f"chant({spec}): make it"], check=True)
print("All done", flush=True)
