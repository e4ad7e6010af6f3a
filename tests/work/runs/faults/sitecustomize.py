"""kill -9 from inside, at a chosen call of a chosen program, once: as a power cut would do it.

`FAULT` is `PROGRAM MODULE CLASS.METHOD before|after WORD MARK`: the call that has WORD among its
arguments ends the program, unless the file MARK is there, which it leaves.
"""

import importlib
import os
import signal
import sys


def install(program, module, method, when, word, mark):
    if program not in sys.orig_argv:
        return
    owner_name, _, name = method.rpartition(".")
    loaded = importlib.import_module(module)
    owner = getattr(loaded, owner_name) if owner_name else loaded
    real = getattr(owner, name)

    def end():
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def faulty(*positional, **named):
        said = [str(value) for value in (*positional, *named, *named.values())]
        is_it = word == "-" or word in said
        if is_it and when == "before":
            end()
        result = real(*positional, **named)
        if is_it and when == "after":
            end()
        return result

    setattr(owner, name, faulty)


if os.environ.get("FAULT"):
    install(*os.environ["FAULT"].split())
