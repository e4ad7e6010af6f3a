"""What files of each language define and call, and where names of a tree are defined."""

from __future__ import annotations

from functools import partial

import pytest

from clew.kit.git import run_git
from clew.symbols import tree
from clew.symbols.cache import cache_file
from clew.symbols.languages import LANGUAGES, language_of
from clew.symbols.parser import outline
from clew.symbols.tree import TreeSymbols
from tests.support.repos import Repository

SOURCES = {
    "a.py": ("class A:\n    x = 1\n    def m(self):\n        f()\n\ndef f(): pass\n", "A A.x A.m f", "f"),
    "a.rs": ("struct A; impl A { fn m(&self) { f() } }\nfn f() {}\nmod t { fn g() {} }", "A A.m f t.g", "f"),
    "a.go": ("package p\ntype A struct{}\nfunc (a *A) m() { f() }\nfunc f() {}\n", "A A.m f", "f"),
    "a.c": ("#define X 1\nstruct A { int x; };\nstatic int *f(void) { return g(); }\n", "X A f", "g"),
    "a.cpp": ("namespace n { class A { void m() {} }; }\nvoid A::k() { f(); }\n", "n.A n.A.m A.k", "f"),
    "a.java": ("class A { int x; A() {} void m() { f(); } }", "A A.x A.A A.m", "f"),
    "a.js": ("class A { m() { f() } }\nconst g = () => 1\nfunction f() {}\n", "A A.m g f", "f"),
    "a.ts": ("interface I {}\ntype T = I\nabstract class A { m(): void { f() } }\n", "I T A A.m", "f"),
    "a.tsx": ("export function F() { return <b/> }\n", "F", ""),
    "a.rb": ("module M\n class A\n  def m\n   f()\n  end\n end\nend\n", "M M.A M.A.m", "f"),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_each_language_tells_its_definitions_and_calls(name):
    source, defined, called = SOURCES[name]
    language = language_of(name)
    assert language is not None
    found = outline(language, source.encode())
    assert list(dict.fromkeys(one.full_name for one in found.definitions)) == defined.split()
    assert {call for call, _ in found.calls} == set(called.split())


def test_every_language_is_tried():
    assert {language_of(name) for name in SOURCES} == set(LANGUAGES)
    assert language_of("Makefile") is None
    assert language_of("x.unknown") is None


@pytest.mark.parametrize("source", [b"", b"\xff\xfe(", b"def (((((", b"class " * 3000])
def test_texts_that_make_no_sense_define_what_can_be_read(source):
    for language in LANGUAGES:
        outline(language, source)


def test_a_line_is_in_its_innermost_definition():
    source, _, _ = SOURCES["a.py"]
    found = outline(LANGUAGES[0], source.encode())
    around = found.around(4)
    assert around is not None
    assert around.full_name == "A.m"
    assert found.around(5) is None


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "r")
    made.commit(
        "One", {"pkg/a.py": SOURCES["a.py"][0], "b.py": "class B:\n    def m(self): pass\n"}
    )
    (made.path / "link.py").symlink_to("b.py")
    made.commit("A link")
    return made


def symbols(repository):
    return TreeSymbols(partial(run_git, cwd=repository.path))


def test_a_qualified_name_means_only_that(repository):
    places = symbols(repository).definitions(["m"])["m"]
    assert [(one.path, one.definition.full_name) for one in places] == [
        ("b.py", "B.m"),
        ("pkg/a.py", "A.m"),
    ]
    for name, answers in {"A.m": 1, "pkg.a.A.m": 1, "m": 2, "C.m": 0, "b.B.m": 1}.items():
        assert sum(one.answers_to(name.split(".")) for one in places) == answers, name


def test_a_blob_is_parsed_once(repository, monkeypatch):
    first = symbols(repository).definitions(["m", "f"])
    assert cache_file().is_file()
    monkeypatch.setattr(tree, "outline", None)
    assert symbols(repository).definitions(["m", "f"]) == first


def test_a_damaged_cache_is_passed_by(repository):
    cache_file().parent.mkdir(parents=True, exist_ok=True)
    cache_file().write_bytes(b"this is no database" * 500)
    assert symbols(repository).definitions(["f"])["f"]
