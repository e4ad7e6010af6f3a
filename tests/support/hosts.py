"""Several hosts on one machine: network namespaces where these are allowed, else plain processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from itertools import count


def _ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def why_no_namespaces():
    """Why hosts are plain processes; empty where they are namespaces."""
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("ip") is None or shutil.which("setpriv") is None:
        return "no iproute2 or setpriv"
    name = f"clew-try-{os.getpid()}"
    done = _ip("netns", "add", name, check=False)
    if done.returncode:
        return done.stderr.strip()
    link = _ip("-n", name, "link", "add", "sw0", "type", "bridge", check=False)
    _ip("netns", "del", name)
    return link.stderr.strip()


class Host:
    """One host: its address, and the processes started on it."""

    def __init__(self, name, address, space):
        self.name, self.address, self._space = name, address, space
        self.processes = []

    def command(self, words, user=None):
        """The command line that runs this here."""
        if self._space is None:
            return list(map(str, words))
        who = [] if user is None else ["setpriv", f"--reuid={user}", "--clear-groups", "--"]
        return ["ip", "netns", "exec", self._space, *who, *map(str, words)]

    def start(self, words, **options):
        process = subprocess.Popen(self.command(words), text=True, **options)
        self.processes.append(process)
        return process

    def crash(self):
        """End every process of the host at once."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()


class Hosts:
    """Hosts on a network of their own; whoever makes it removes it."""

    def __init__(self):
        self.reason = why_no_namespaces()
        self._mark = f"{os.getpid() % 100000}"
        self._net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self._numbers = count(10)
        self.all = {}
        if not self.reason:
            self._make_switch()

    @property
    def kind(self):
        return "network namespaces" if not self.reason else f"processes ({self.reason})"

    @property
    def _switch(self):
        return f"clew-{self._mark}"

    def _make_switch(self):
        mine, far = f"clm{self._mark}", f"clf{self._mark}"
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "sw0", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "sw0", "up")
        _ip("link", "add", mine, "type", "veth", "peer", "name", far)
        _ip("link", "set", far, "netns", self._switch)
        _ip("-n", self._switch, "link", "set", far, "master", "sw0", "up")
        _ip("addr", "add", f"{self._net}.1/24", "dev", mine)
        _ip("link", "set", mine, "up")

    def add(self, name):
        if self.reason:
            self.all[name] = Host(name, "127.0.0.1", None)
            return self.all[name]
        space, number = f"{self._switch}-{name}", next(self._numbers)
        _ip("netns", "add", space)
        _ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", f"p-{name}",
            "netns", self._switch)  # fmt: skip
        _ip("-n", self._switch, "link", "set", f"p-{name}", "master", "sw0", "up")
        _ip("-n", space, "addr", "add", f"{self._net}.{number}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        _ip("-n", space, "link", "set", "lo", "up")
        self.all[name] = Host(name, f"{self._net}.{number}", space)
        return self.all[name]

    def cut(self, host):
        """Take the network from a host; where it is a process, it hears nothing and says nothing."""
        self._network(host, "down", signal.SIGSTOP)

    def join(self, host):
        """Give the network back."""
        self._network(host, "up", signal.SIGCONT)

    def _network(self, host, state, number):
        if not self.reason:
            _ip("-n", self._switch, "link", "set", f"p-{host.name}", state)
            return
        for process in host.processes:
            if process.poll() is None:
                process.send_signal(number)

    def remove(self):
        for host in self.all.values():
            host.crash()
            for process in host.processes:
                process.wait(60)
        if self.reason:
            return
        for host in self.all.values():
            _ip("netns", "del", host._space, check=False)
        _ip("netns", "del", self._switch, check=False)
        _ip("link", "del", f"clm{self._mark}", check=False)
