"""A scripted model that edits files: what it writes for each request is known beforehand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from tests.support.models.script import Answer, _aside, _filled

_SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")
_READERS = ("Read", "read", "read_file", "view")
_WRITERS = ("Write", "write", "write_file", "create")
_EDITORS = ("Edit", "edit", "replace")


@dataclass(frozen=True)
class Step:
    """One deed of the model: `write`, `edit` (old text for new), `shell` or `say`."""

    kind: str
    path: str = ""
    old: str = ""
    new: str = ""
    command: str = ""


@dataclass
class Editor:
    """The model behind one case: steps by the request that asks for them."""

    root: str
    plans: dict[str, list[Step]] = field(default_factory=dict)
    said: str = "That is done."

    def __call__(self, said):
        """The next step for the newest request in the conversation."""
        request = self._request(said)
        if request is None or said.schema or (said.is_told("commit message") and not said.tools):
            return Answer(_aside(said))
        if said.edits_by_text:
            return Answer(self._blocks(self.plans[request]))
        if not said.tools:
            return Answer(_aside(said))
        steps: list = []
        for step in self.plans[request]:
            # One look at a file is enough, and a program may ask a person about the same call again.
            steps += [call for call in self._calls(said, step) if call not in steps]
        done = self._done(said, request)
        if done < len(steps):
            return Answer(f"Step {done + 1}.", [steps[done]])
        return Answer(self.said)

    def _request(self, said):
        for turn in reversed(said.turns):
            if turn.role == "user":
                for request in self.plans:
                    if request in turn.text:
                        return request
        return None

    @staticmethod
    def _done(said, request):
        count = 0
        for turn in said.turns:
            is_request = turn.role == "user" and request in turn.text
            count = 0 if is_request else count + len(turn.calls)
        return count

    def _calls(self, said, step):
        """The program's own tools for a step; existing files are read first, as programs demand."""
        if step.kind == "shell":
            return [self._shell(said, step.command)]
        writer, editor = said.tool(*_WRITERS), said.tool(*_EDITORS)
        patcher = said.tool("apply_patch")
        if patcher is not None and (writer is None or editor is None):
            return [(patcher, _patch(step))]
        if writer is None or editor is None:
            command = f"apply_patch <<'EOF'\n{_patch(step)}EOF"
            return [self._shell(said, command)]
        path = f"{self.root}/{step.path}"
        named = {"file_path": path, "filePath": path, "path": path, "absolute_path": path}
        calls = []
        reader = said.tool(*_READERS)
        if step.kind == "edit":
            calls.append((reader, _filled(reader.schema, named)))
            texts = {"old_string": step.old, "oldString": step.old, "old_str": step.old,
                     "new_string": step.new, "newString": step.new, "new_str": step.new,
                     "instruction": "Change it", "replace_all": False}  # fmt: skip
            calls.append((editor, _filled(editor.schema, named | texts)))
        else:
            texts = {"content": step.new, "file_text": step.new}
            calls.append((writer, _filled(writer.schema, named | texts)))
        return calls

    @staticmethod
    def _shell(said, command):
        shell = said.tool(*_SHELLS)
        kind = shell.schema.get("properties", {}).get("command", {}).get("type")
        words = ["bash", "-lc", command] if kind == "array" else command
        known = {"command": words, "cmd": command, "description": "Run it"}
        return shell, _filled(shell.schema, known)

    @staticmethod
    def _blocks(steps):
        """SEARCH/REPLACE blocks for what edits by text."""
        blocks = [
            f"{step.path}\n```\n<<<<<<< SEARCH\n{step.old}=======\n{step.new}>>>>>>> REPLACE\n```\n"
            for step in steps
            if step.kind != "shell"
        ]
        return "I change it.\n\n" + "\n".join(blocks)


def _patch(step):
    if step.kind == "write":
        body = "".join(f"+{line}\n" for line in step.new.splitlines())
        return f"*** Begin Patch\n*** Add File: {step.path}\n{body}*** End Patch\n"
    old = "".join(f"-{line}\n" for line in step.old.splitlines())
    new = "".join(f"+{line}\n" for line in step.new.splitlines())
    return f"*** Begin Patch\n*** Update File: {step.path}\n@@\n{old}{new}*** End Patch\n"


def plan_text(steps):
    """The steps as one line, for a fixture that names what it shows."""
    return json.dumps([vars(step) for step in steps])
