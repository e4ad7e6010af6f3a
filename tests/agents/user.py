"""An ordinary user where root runs the proof: a user id of nobody, with all it needs in reach."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

SCRATCH_USER = 64_321
_ROOT = Path(__file__).parent.parent.parent
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


class OrdinaryUser:
    """Programs and Clew itself, where a user without rights can start them.

    What root keeps to itself (a cache, say) is linked into a directory that everybody may enter.
    An interpreter cannot be moved; the system's own of the same version takes its place.
    """

    def __init__(self, directory):
        self._directory = directory / "shared"
        self._directory.mkdir()
        self.number = SCRATCH_USER if os.geteuid() == 0 else None
        self._python = shutil.which(_VERSION, path=os.defpath)
        if self._python is None and not self._has_python(Path(sys.prefix)):
            print(f"All as root: there is no {_VERSION} for an ordinary user.")
            self.number = None

    def reach(self, path):
        """The directory, or a copy of it that the user can enter."""
        if self.number is None or self._may_enter(path):
            return path
        copy = self._directory / f"{len(list(self._directory.iterdir()))}-{path.name}"
        _link(path, copy)
        return copy

    def program(self, place, name):
        """The directory with an installed program that the user can start."""
        if (place / "node_modules").exists():
            return self.reach(place) / "node_modules" / ".bin"
        if self._has_python(place):
            return place / "bin"
        made = self._environment(name, [], {name: f"{name}.main:main"})
        packages = Path("lib") / _VERSION / "site-packages"
        _link(place / packages, made.parent / packages)
        return made

    def clew(self):
        """The directory with `chant` and the Python that runs it."""
        if self._has_python(Path(sys.prefix)):
            return Path(sys.prefix) / "bin"
        packages = [_ROOT / "src", *map(Path, site.getsitepackages())]
        faces = {name: f"clew.faces:{name}" for name in ("chant", "clew")}
        return self._environment("clew", packages, faces)

    def _has_python(self, place):
        """Whether the user can start the Python of a virtual environment."""
        if self.number is None:
            return True
        target = (place / "bin" / "python").resolve()
        return self._may_enter(place / "bin") and self._may_enter(target)

    def _environment(self, name, packages, programs):
        """A virtual environment over these packages, with some programs."""
        made = self._directory / f"venv-{name}"
        subprocess.run([self._python, "-m", "venv", "--without-pip", made], check=True)
        paths = "".join(f"{self.reach(path)}\n" for path in packages)
        own = made / "lib" / _VERSION / "site-packages"
        (own / "reached.pth").write_text(paths, encoding="utf-8")
        for program, place in programs.items():
            module, _, function = place.partition(":")
            script = made / "bin" / program
            lines = [f"#!{made}/bin/python", "import sys", f"from {module} import {function}"]
            text = "\n".join([*lines, f"sys.exit({function}())", ""])
            script.write_text(text, encoding="utf-8")
            script.chmod(0o755)
        return made / "bin"

    def _may_enter(self, path):
        user = {"user": self.number, "group": self.number, "extra_groups": []}
        done = subprocess.run(["ls", path], **user, capture_output=True, check=False)
        return done.returncode == 0


def _link(directory, copy):
    """Copy a directory by links, or in full where they cannot lead there."""
    shutil.rmtree(copy, ignore_errors=True)
    linked = subprocess.run(["cp", "-al", directory, copy], capture_output=True, check=False)
    if linked.returncode:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(directory, copy, symlinks=True)
