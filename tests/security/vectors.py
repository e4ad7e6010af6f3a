"""Everything by which a repository can name a program, as data, and a repository that does it all.

Each vector leaves a mark of its own when its program runs. `fires` is a plain git command that
makes it run, so that the marks are known to be worth looking for.
"""

from __future__ import annotations

import os
import pty
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

MARK = "{mark}"
LOST = "lost.txt"  # its content is in no object: git would have to fetch it


@dataclass(frozen=True)
class Vector:
    """A program that a repository names, and the git command that runs it."""

    name: str
    settings: tuple[tuple[str, str], ...]
    fires: tuple[str, ...]
    attribute: str = ""
    needs: tuple[str, ...] = ()
    terminal: bool = False

    @property
    def is_possible(self):
        """Whether this git can be made to run it."""
        return all(shutil.which(name) or Path(name).exists() for name in self.needs)


def promisor(name, *settings):
    """A remote from which git fetches what is missing; others stand aside."""
    return ((f"remote.{name}.promisor", "true"), *settings)


STATUS = ("status",)
FETCH = ("cat-file", "-p", f"HEAD:{LOST}")
LOG = ("log", "-p")
BEFORE = ("HEAD~2", "HEAD")
CHECKOUT = ("checkout", "HEAD", "--")
MERGE = ("merge-tree", "--write-tree", "main", "other")
QUIET = ("-c", "filter.p.process=")  # git ends when such a filter does
CREDENTIAL = ("credential", "fill")
VECTORS = (
    Vector("textconv", (("diff.t.textconv", MARK),), LOG, "*.t diff=t"),
    Vector("diff-command", (("diff.d.command", MARK),), ("diff", *BEFORE, "--", "a.d"), "*.d diff=d"),
    Vector("diff-external", (("diff.external", MARK),), ("diff", *BEFORE)),
    Vector("filter-clean", (("filter.c.clean", MARK),), STATUS, "*.c filter=c"),
    Vector("filter-clean-named-oddly", (("filter.c=x.clean", MARK),), STATUS, "*.c2 filter=c=x"),
    Vector(
        "filter-clean-required",
        (("filter.q.clean", MARK), ("filter.q.required", "true")), STATUS, "*.q filter=q",
    ),
    Vector("filter-smudge", (("filter.s.smudge", MARK),), (*CHECKOUT, "a.s"), "*.s filter=s"),
    Vector("filter-process", (("filter.p.process", MARK),), STATUS, "zz.p filter=p"),
    Vector("merge-driver", (("merge.m.driver", MARK),), MERGE, "*.m merge=m"),
    Vector("fsmonitor", (("core.fsmonitor", MARK),), STATUS),
    Vector("hook", (), ("-c", "core.hooksPath=.git/hooks", "update-ref", "refs/x/y", "HEAD")),
    Vector("hooks-path", (("core.hooksPath", ".git/more-hooks"),), ("update-ref", "refs/x/y", "HEAD")),
    Vector(
        "ssh-command",
        promisor("ssh", ("remote.ssh.url", "ssh://example.invalid/x"), ("core.sshCommand", MARK)),
        FETCH,
    ),
    Vector(
        "git-proxy",
        promisor("git", ("remote.git.url", "git://example.invalid/x"), ("core.gitProxy", MARK)),
        FETCH,
    ),
    Vector(
        "upload-pack",
        promisor("pack", ("remote.pack.url", "."), ("remote.pack.uploadpack", MARK)), FETCH,
    ),
    Vector(
        "ext-transport",
        promisor("ext", ("remote.ext.url", "ext::" + MARK), ("protocol.ext.allow", "always")), FETCH,
    ),
    Vector(
        "vcs-helper",
        promisor(
            "vcs", ("remote.vcs.vcs", "ext"), ("remote.vcs.url", MARK), ("protocol.ext.allow", "always")
        ),
        FETCH,
    ),
    Vector("receive-pack", (("remote.pack.receivepack", MARK),), ("push", "pack", "main")),
    Vector("alternate-refs", (("core.alternateRefsCommand", MARK),), ("fetch", "other")),
    Vector("credential-helper", (("credential.helper", "!" + MARK),), CREDENTIAL),
    Vector("ask-pass", (("core.askPass", MARK),), CREDENTIAL),
    Vector("gpg", (("gpg.program", MARK), ("log.showSignature", "true")), ("log", "-1", "signed")),
    Vector(
        "gpg-x509",
        (("gpg.x509.program", MARK), ("log.showSignature", "true")), ("log", "-1", "signed-x509"),
    ),
    Vector("pager", (("core.pager", MARK),), ("tag", "-l"), terminal=True),
    Vector("pager-of-a-command", (("pager.log", MARK),), ("log", "-1"), terminal=True),
    Vector("editor", (("core.editor", MARK),), (*QUIET, "commit", "--amend", "--no-verify")),
    Vector("sequence-editor", (("sequence.editor", MARK),), (*QUIET, "rebase", "-i", "HEAD~1")),
    Vector("alias", (("alias.evil", "!" + MARK),), ("evil",)),
    Vector(
        "send-email",
        (("sendemail.smtpServer", MARK),),
        ("send-email", "--to=a@example.invalid", "--quiet", "-1"), needs=("git-send-email",),
    ),
    Vector("trailer", (("trailer.t.command", MARK),), ("interpret-trailers", "--trailer", "t=x", "a.t")),
    Vector("archive", (("tar.evil.command", MARK),), ("archive", "--format=evil", "other")),
    Vector(
        "diff-tool",
        (("difftool.e.cmd", MARK), ("diff.tool", "e"), ("difftool.prompt", "false")),
        ("difftool", *BEFORE, "--", "a.t"),
    ),
    Vector("submodule-update", (("submodule.sub.update", "!" + MARK),), ("submodule", "update")),
    Vector("submodule-fsmonitor", (), (*QUIET, *STATUS)),
    Vector("included", (("include.path", "more-config"),), STATUS, "*.i filter=i"),
    Vector("worktree-settings", (("extensions.worktreeConfig", "true"),), STATUS, "*.w filter=w"),
)  # fmt: skip
_SIGNED = "gpgsig -----BEGIN {kind}-----\n \n iQ==\n -----END {kind}-----\n"
_HOOKS = (
    "post-checkout", "post-commit", "pre-commit", "reference-transaction", "post-index-change",
    "post-merge", "pre-push", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman",
)  # fmt: skip


class Trap:
    """A repository in which every vector lies in wait, and the place where marks appear."""

    def __init__(self, repository, marks):
        self.repository = repository
        self.root = repository.path
        self.marks = Path(marks)
        self.marks.mkdir()
        self._programs = self.marks.with_name("programs")
        self._programs.mkdir()
        self._time = 0
        self._checkouts = (self.root,)

    def prepare(self):
        """Commit files that choose every program; nothing is configured yet."""
        names = [one.attribute.split()[0].replace("*", "a") for one in VECTORS if one.attribute]
        attributes = "".join(f"{one.attribute}\n" for one in VECTORS if one.attribute)
        files = dict.fromkeys(names, "one\n")
        self.repository.commit("Files of every kind", {**files, LOST: "kept\n", "z.txt": "z\n"})
        self._submodule()
        self.repository.git("checkout", "-q", "-b", "other")
        self.repository.commit("One side", {"a.m": "other\n"})
        self.repository.git("checkout", "-q", "main")
        changed = dict.fromkeys(names, "two\n")
        sha = self.repository.commit("Other side", {**changed, LOST: "lost\n"})
        for name, kind in (("signed", "PGP SIGNATURE"), ("signed-x509", "SIGNED MESSAGE")):
            self._sign(name, kind, sha)
        self.repository.write(".gitattributes", attributes)
        self.repository.git("add", ".gitattributes")
        self.repository.git("commit", "-q", "-m", "Choose programs")

    def arm(self, *checkouts):
        """Name the programs; files in other checkouts lie in wait as well."""
        self._checkouts = (self.root, *checkouts)
        self._settings()
        inside = self.root / "sub"
        subprocess.run(["git", "update-ref", "HEAD", "HEAD~1"], cwd=inside, check=True)
        self.touch()
        self._lose(LOST)
        self.sprung()

    def touch(self):
        """Have git read the files anew, because their times are others."""
        self._time += 1
        for root in self._checkouts:
            for file in [*root.glob("a.*"), root / "zz.p"]:
                os.utime(file, (self._time, self._time))

    def _submodule(self):
        other = self.repository.__class__(self.root.with_name("sub"))
        other.commit("inside", {"inside.txt": "x\n"})
        other.commit("inside", {"inside.txt": "y\n"})
        allowed = ("-c", "protocol.file.allow=always")
        self.repository.git(*allowed, "submodule", "--quiet", "add", str(other.path), "sub")
        self.repository.commit("With a submodule")
        inside = self.root / "sub"
        program = self._program("submodule-fsmonitor")
        subprocess.run(["git", "config", "core.fsmonitor", program], cwd=inside, check=True)

    def _sign(self, name, kind, sha):
        """A branch whose tip says that it is signed."""
        raw = self.repository.git("cat-file", "commit", sha)
        head, _, message = raw.partition(b"\n\n")
        signed = head + b"\n" + _SIGNED.format(kind=kind).encode() + b"\n" + message
        made = self.repository.text("hash-object", "-t", "commit", "-w", "--stdin", data=signed)
        self.repository.git("branch", name, made)

    def _program(self, name):
        """A program that leaves a mark, and does nothing else: a filter lets all through."""
        file = self._programs / name
        file.write_text(f"#!/bin/sh\ntouch '{self.marks / name}'\n{self._end_of(name)}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return str(file)

    @staticmethod
    def _end_of(name):
        is_filter = name.startswith(("filter-clean", "filter-smudge", "included", "worktree"))
        return "exec cat" if is_filter else "exit 1"

    def _settings(self):
        git = self.root / ".git"
        for place, name in (("hooks", "hook"), ("more-hooks", "hooks-path")):
            (git / place).mkdir(exist_ok=True)
            for hook in _HOOKS:
                shutil.copy(self._program(name), git / place / hook)
        program = self._program("included")
        (git / "more-config").write_text(f'[filter "i"]\n\tclean = {program}\n')
        for vector in VECTORS:
            for key, value in vector.settings:
                name = self._program(vector.name)
                self.repository.git("config", key, value.replace(MARK, name))
        program = self._program("worktree-settings")
        self.repository.git("config", "--worktree", "filter.w.clean", program)
        # A repository can overrule `protocol.allow`, wherever that was set.
        for protocol in ("ssh", "git", "file", "ext"):
            self.repository.git("config", f"protocol.{protocol}.allow", "always")
        self.repository.git("config", "remote.other.url", str(self.root.with_name("sub")))
        self.repository.git("config", "core.repositoryFormatVersion", "1")
        self.repository.git("config", "extensions.partialClone", "ssh")
        objects = self.root.with_name("sub") / ".git" / "objects"
        (git / "objects" / "info" / "alternates").write_text(f"{objects}\n")

    def _lose(self, path):
        """Take an object away, as in a clone that never fetched it."""
        blob = self.repository.text("rev-parse", f"HEAD:{path}")
        file = self.root / ".git" / "objects" / blob[:2] / blob[2:]
        file.chmod(0o644)
        file.unlink()

    def sprung(self):
        """The marks since the last time."""
        found = sorted(mark.name for mark in self.marks.iterdir())
        for name in found:
            (self.marks / name).unlink()
        return found

    def fire(self, vector):
        """Run plain git so that a vector's program runs."""
        command = ["git", *vector.fires]
        self.touch()
        if vector.fires[0] == "checkout":
            (self.root / vector.fires[-1]).unlink()
        if not vector.terminal:
            asked = b"protocol=https\nhost=example.invalid\n\n"
            subprocess.run(
                command, cwd=self.root, input=asked, capture_output=True, timeout=60, check=False
            )
            return
        ours, theirs = pty.openpty()
        try:
            subprocess.run(
                command, cwd=self.root, stdin=theirs, stdout=theirs, stderr=theirs, timeout=60,
                env={**os.environ, "TERM": "xterm"}, check=False,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)
