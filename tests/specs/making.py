"""Projects with specs, for tests."""

from clew.specs.store.config import load_config
from clew.specs.store.store import SpecStore


class Project:
    """A project under construction."""

    def __init__(self, root):
        self.root = root
        (root / ".chant" / "specs").mkdir(parents=True, exist_ok=True)
        self.store = SpecStore(root)

    def spec(self, spec_id, fields="", body="# Title\n", *, archived=False):
        """Write a spec's file; `fields` are lines of YAML."""
        place = f"archive/{spec_id[:10]}" if archived else "specs"
        path = self.root / ".chant" / place / f"{spec_id}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = fields.strip("\n")
        lines = ["---", *known.splitlines(), "---", body]
        if "type:" not in known:
            lines.insert(1, "type: code")
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def config(self, yaml):
        """Write the configuration."""
        (self.root / ".chant" / "config.md").write_text(f"---\n{yaml}\n---\n", encoding="utf-8")

    @property
    def settings(self):
        """The configuration as it is read."""
        return load_config(self.root)
