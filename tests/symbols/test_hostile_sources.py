"""Source files that were made to hang or to end the program that parses them."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from clew.symbols.languages import language_of
from clew.symbols.parser import LARGEST, outline

MEMORY, CPU_SECONDS = 1 << 30, 60
PARSE = """
import sys
from clew.symbols.languages import language_of
from clew.symbols.parser import outline
made = outline(language_of(sys.argv[1]), sys.stdin.buffer.read())
print(len(made.definitions))
"""
NESTED = [
    ("a.cpp", "a<", ""), ("a.cpp", "a<", ">"), ("a.ts", "a<", ""), ("a.js", "{", ""),
    ("a.js", "{", "}"), ("a.c", "(", ""), ("a.go", "(", ")"), ("a.py", "f(", ")"),
    ("a.js", "class a{b(){", "}}"), ("a.java", "class a{", "}"), ("a.rs", "mod a{", "}"),
    ("a.rb", "class A\n", "end\n"), ("a.tsx", "<a>", "</a>"), ("a.js", "!", ""),
    ("a.py", "x+", ""), ("a.c", "}", ""), ("a.c", "if(a)", ""), ("a.py", "\0", ""), ("a.js", "@", ""),
]  # fmt: skip


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


@pytest.mark.parametrize(("name", "opening", "closing"), NESTED)
def test_a_file_made_to_be_hard_is_survived_with_little(name, opening, closing):
    times = LARGEST // len(opening + closing)
    done = subprocess.run(
        [sys.executable, "-c", PARSE, name],
        input=(opening * times + closing * times).encode(),
        capture_output=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])


def test_names_around_a_name_are_bounded_and_what_is_deep_but_real_is_found():
    source = b"class a{" * 100 + b"}" * 100
    made = outline(language_of("a.java"), source)
    assert len(made.definitions) == 100
    assert max(len(one.owners) for one in made.definitions) == 20
