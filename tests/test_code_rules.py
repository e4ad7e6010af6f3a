"""Rules about the code itself that no linter knows: each test lists every offence at once."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.support.references import Uses, definitions, module_name

ROOT = Path(__file__).parent.parent
MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_README = 60
MOST_MODULES_OF_A_FOLDER = 15


def python_in(*directories):
    return [path for name in directories for path in sorted((ROOT / name).rglob("*.py"))]


SOURCES = python_in("src")
PROGRAMS = python_in("src", "scripts", "benchmarks")
ALL_PYTHON = [*PROGRAMS, *python_in("tests")]
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root)/")


def name_of(path):
    return str(path.relative_to(ROOT))


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path):
    return ast.parse(text_of(path))


def test_files_stay_short():
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in ALL_PYTHON}
    assert {n: count for n, count in lengths.items() if count > MOST_LINES_OF_A_FILE} == {}


def test_folders_stay_small():
    counts = {}
    for path in PROGRAMS:
        counts[name_of(path.parent)] = counts.get(name_of(path.parent), 0) + 1
    assert {n: count for n, count in counts.items() if count > MOST_MODULES_OF_A_FOLDER} == {}


# Names that modules had and that told nobody what is in them.
WORDLESS = {
    "abandoning", "adding", "attending", "choosing", "configured", "declared", "deciding",
    "desk", "editing", "endings", "finishing", "glance", "intake", "knowing", "launching",
    "live_files", "merged", "mergeable", "misses", "more", "places", "prompting", "remembered",
    "retrying", "saving", "scheduling_process", "settling", "shown", "splitting", "standing",
    "starting", "stuff", "syncing", "told", "truth", "utils", "watched", "watching",
    "writing",
}  # fmt: skip


def test_modules_are_named_for_what_is_in_them():
    assert [name_of(path) for path in SOURCES if path.stem in WORDLESS] == []


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def public_definitions(body):
    """Functions and classes that others may use, with the methods of the classes."""
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body)


def test_public_names_have_a_docstring():
    missing = [name_of(path) for path in SOURCES if not ast.get_docstring(tree_of(path))]
    missing += [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in public_definitions(tree_of(path).body)
        if not ast.get_docstring(node)
    ]
    assert missing == []


def test_functions_stay_short():
    long = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in PROGRAMS
        for node in ast.walk(tree_of(path))
        if isinstance(node, FUNCTIONS)
        and node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_whoever_opens_something_closes_it():
    finalizers = [
        f"{name_of(path)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name == "__del__"
    ]
    assert finalizers == [], "use a context manager"


def attributes(path, wanted):
    """The places of a file that have this name after a dot."""
    found = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute))
    return [f"{name_of(path)}:{node.lineno}" for node in found if node.attr == wanted]


# Each store of the program keeps its SQL to itself; everything else calls named operations.
STORES = (
    "src/clew/history/store/",
    "src/clew/work/journal/",
    "src/clew/advisors/conversation/store.py",
    "src/clew/protocol/kernel/task_store.py",
    "src/clew/specs/index/text_index.py",
    "src/clew/kit/sqlite.py",
    "src/clew/sessions/index/",
    "src/clew/sessions/readers/cursor.py",  # the tables of other programs
    "src/clew/sessions/readers/opencode.py",
    "src/clew/team/",
    "src/clew/doctor/machine.py",  # it tries out what this SQLite can do
)
PROTOCOL = "src/clew/protocol/"  # its connections are another thing
SQL = re.compile(
    r"\s*(?:SELECT\s.*\sFROM\s|INSERT\s(?:OR\s|INTO\s)|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(?:CREATE|DROP|ALTER)\s+(?:\w+\s+)?(?:TABLE|INDEX|VIEW|TRIGGER)\s|PRAGMA\s)",
    re.DOTALL,
)


def test_sql_stands_in_the_stores_alone():
    def is_sql(node):
        return (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
        )

    def is_execution(node):
        return isinstance(node, ast.Attribute) and node.attr in {"executemany", "executescript"}

    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in SOURCES
        if not name_of(path).startswith(STORES)
        for node in ast.walk(tree_of(path))
        if is_sql(node) or is_execution(node)
    ]
    others = [path for path in SOURCES if not name_of(path).startswith((*STORES, PROTOCOL))]
    found += [place for path in others for place in attributes(path, "connection")]
    assert found == [], "ask an operation of the store"


def test_written_times_are_read_in_one_place():
    others = [path for path in SOURCES if path.name != "times.py"]
    found = [place for path in others for place in attributes(path, "fromisoformat")]
    assert found == [], "use clew.kit.times.parse_iso"


def test_no_path_of_a_machine_is_in_the_tree():
    texts = [*ALL_PYTHON, *ROOT.glob("*.md"), ROOT / "Makefile"]
    for directory in ("docs", "src", "scripts", "benchmarks", "packaging"):
        texts += [p for p in (ROOT / directory).rglob("*") if p.suffix in {".md", ".sh", ".json"}]
    others = [path for path in texts if path.name != "test_code_rules.py"]
    assert [name_of(path) for path in others if MACHINE_PATH.search(text_of(path))] == []


def test_every_room_tells_what_it_is():
    rooms = [p for p in (ROOT / "src" / "clew").iterdir() if (p / "__init__.py").exists()]
    readmes = [room / "README.md" for room in rooms]
    assert [name_of(path) for path in readmes if not path.exists()] == []
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in readmes}
    assert {n: count for n, count in lengths.items() if count > MOST_LINES_OF_A_README} == {}


def starts_git(path):
    """Whether a file has a command that begins with git, and a way to start it."""
    commands = [n for n in ast.walk(tree_of(path)) if isinstance(n, (ast.List, ast.Tuple))]
    firsts = [node.elts[0] for node in commands if node.elts]
    found = any(isinstance(n, ast.Constant) and n.value == "git" for n in firsts)
    return "subprocess" in text_of(path) and found


def test_git_is_started_in_one_place():
    starters = [name_of(path) for path in SOURCES if starts_git(path)]
    assert starters == ["src/clew/kit/git.py"], "run_git does that"


LOADED_BY_NAME = re.compile(r"clew(\.\w+)+:\w+")
MAY_LOAD_BY_NAME = "src/clew/catalog/command_table.py"


def loads_by_name(path):
    """The lines of a file that import by a computed name, or that name a function in a string."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
            if called == "import_module" or (called == "__import__" and not literal):
                yield f"{name_of(path)}:{node.lineno}"
        elif isinstance(node, ast.Constant) and LOADED_BY_NAME.fullmatch(str(node.value)):
            yield f"{name_of(path)}:{node.lineno}"


def test_functions_are_loaded_by_name_in_one_place():
    others = [path for path in SOURCES if name_of(path) != MAY_LOAD_BY_NAME]
    found = [place for path in others for place in loads_by_name(path)]
    assert found == [], "import the function; only commands are loaded by name, from their table"


# Words that only a translation would say, in what users read.
AWKWARD = re.compile(r"\b(so many|so often|of ours|all the time|put right)\b", re.IGNORECASE)


def spoken_texts(path):
    """The strings of a file that may be read by users: all but its docstrings."""
    documented = (ast.Module, ast.ClassDef, *FUNCTIONS)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree_of(path))
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree_of(path)):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in docstrings:
            yield node.lineno, node.value


def test_texts_are_plain_english():
    found = [
        f"{name_of(path)}:{line} {text.strip()}"
        for path in SOURCES
        for line, text in spoken_texts(path)
        if AWKWARD.search(text)
    ]
    assert found == []


# Modules whose names are put together where they are used, so that no scan can see it.
NAMED_ELSEWHERE = {}


def test_everything_is_used_by_the_program_itself():
    trees = {
        module_name(path, ROOT / "src" if path in SOURCES else ROOT): tree_of(path)
        for path in PROGRAMS
    }
    uses = Uses(trees)
    uses.read((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    unused = [
        f"{found.module}:{found.name}"
        for module, tree in trees.items()
        if module.split(".")[0] == "clew" and module not in NAMED_ELSEWHERE
        for found, _ in definitions(module, tree)
        if found not in uses
    ]
    assert unused == [], "only tests use it, or nobody: delete it, or give it a caller"
