"""The catalogue against its contract: names, texts, schemas, budgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from clew.catalog.faces import FACES, ROOMS
from clew.catalog.selection import select_tools
from clew.cli.setup.tools import shown_tokens
from clew.history.store.sqlite import SqliteHistory, database_path
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.call import Call
from clew.kit.git import run_git
from clew.program import all_tools
from clew.sessions.model import Filter
from clew.sessions.room import current_index
from tests.sessions.recorded import put
from tests.support.each import for_each

TOOLS = all_tools()

CHANT_NAMES = [
    "chant_spec_list",
    "chant_spec_get",
    "chant_ready",
    "chant_status",
    "chant_log",
    "chant_search",
    "chant_diagnose",
    "chant_lint",
    "chant_verify",
    "chant_spec_update",
    "chant_add",
    "chant_finalize",
    "chant_reset",
    "chant_resume",
    "chant_cancel",
    "chant_archive",
    "chant_work_start",
    "chant_work_list",
    "chant_pause",
    "chant_takeover",
    "chant_watch_status",
    "chant_watch_start",
    "chant_watch_stop",
    "chant_split",
]
FACE_TOOLS = {
    "chant": CHANT_NAMES,
    "commitmux": [f"commitmux_{n}" for n in ("search", "touches", "get_commit", "get_patch")],
    "climpt": ["search", "describe", "execute", "reload"],
    "clariad": ["vision_agent", "architecture_agent", "long_running_operation"],
}
# name -> {parameter: type}, required: as the documents of the four systems state them
PARAMETERS = {
    "commitmux_search": (
        {"query": "string", "since": "integer", "repos": "array", "paths": "array",
         "limit": "integer"}, ["query"]),
    "commitmux_touches": (
        {"path_glob": "string", "since": "integer", "repos": "array", "limit": "integer"},
        ["path_glob"]),
    "commitmux_get_commit": ({"repo": "string", "sha": "string"}, ["repo", "sha"]),
    "commitmux_get_patch": (
        {"repo": "string", "sha": "string", "max_bytes": "integer"}, ["repo", "sha"]),
    # The documented way of scoring is one of several, so that it can be asked for.
    "search": ({"query": "string", "agent": "string", "algorithm": "string"}, ["query"]),
    "describe": (
        {"agent": "string", "c1": "string", "c2": "string", "c3": "string"}, ["c1", "c2", "c3"]),
    "execute": (
        {"agent": "string", "c1": "string", "c2": "string", "c3": "string", "options": "object"},
        ["agent", "c1", "c2", "c3"]),
    "reload": ({"agent": "string"}, None),
    "vision_agent": (
        {"project_description": "string", "conversation_id": "string"}, ["project_description"]),
    "architecture_agent": (
        {"project_name": "string", "requirements": "string", "conversation_id": "string"},
        ["project_name", "requirements"]),
    "long_running_operation": (
        {"operation_name": "string", "duration_seconds": "number"},
        ["operation_name", "duration_seconds"]),
    "chant_spec_list": ({"status": "string", "limit": "integer"}, None),
    "chant_ready": ({"limit": "integer"}, None),
    "chant_status": ({"brief": "boolean", "include_activity": "boolean"}, None),
    "chant_log": (
        {"id": "string", "lines": "integer", "offset": "integer", "since": "string"}, ["id"]),
    "chant_search": ({"query": "string", "status": "string"}, ["query"]),
    "chant_lint": ({"id": "string"}, None),
    "chant_spec_update": (
        {"id": "string", "status": "string", "output": "string", "depends_on": "array",
         "labels": "array", "target_files": "array", "model": "string"}, ["id"]),
    "chant_add": ({"description": "string", "prompt": "string"}, ["description"]),
    "chant_work_start": (
        {"id": "string", "chain": "boolean", "parallel": "integer", "skip_criteria": "boolean"},
        ["id"]),
    "chant_work_list": ({"process_id": "string", "include_completed": "boolean"}, None),
    "chant_takeover": ({"id": "string", "force": "boolean"}, ["id"]),
    "chant_watch_status": ({}, None),
    "chant_watch_start": ({}, None),
    "chant_watch_stop": ({}, None),
    "chant_split": (
        {"id": "string", "force": "boolean", "recursive": "boolean", "max_depth": "integer"},
        ["id"]),
}  # fmt: skip
BY_ID = ["get", "diagnose", "verify", "finalize", "reset", "resume", "cancel", "archive", "pause"]
BY_NAME = {tool.name: tool for tool in TOOLS}


def test_the_four_systems_have_their_thirty_five_tools():
    declared = [tool for tool in TOOLS if tool.original]
    assert len(declared) == 35
    for name, names in FACE_TOOLS.items():
        assert list(select_tools(FACES[name], {}, TOOLS)) == names


@for_each(sorted(tool.name for tool in TOOLS if tool.original))
def test_parameters_are_exactly_the_documented_ones(name):
    short = name.removeprefix("chant_").removeprefix("spec_")
    by_id = ({"id": "string"}, ["id"])
    wanted, required = by_id if short in BY_ID else PARAMETERS[name]
    schema = BY_NAME[name].input_schema
    assert {key: value["type"] for key, value in schema["properties"].items()} == wanted
    assert schema.get("required") == required
    assert set(schema) <= {"type", "properties", "required"}


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("chant_spec_list", "List all chant specs in the current project"),
        ("chant_status", "Get project status summary with spec counts by status"),
        ("chant_split", "Split a complex spec into smaller member specs using AI analysis"),
        (
            "vision_agent",
            "Creates Vision & Scope documents to establish project requirements and goals",
        ),
        (
            "architecture_agent",
            "Designs system architecture and creates Architecture Decision Records (ADRs)",
        ),
        ("long_running_operation", "Example of a long-running operation with streaming updates"),
        ("reload", "Reloads the registry cache."),
    ],
)
def test_descriptions_are_exact(name, description):
    assert BY_NAME[name].description == description


@for_each(TOOLS, lambda tool: tool.name)
def test_every_tool_is_fully_declared(tool):
    wire = tool.wire(tool.name)
    assert wire["title"]
    assert set(wire["annotations"]) == {
        "title",
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    }
    for schema in (wire["inputSchema"], wire["outputSchema"]):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    for parameter in wire["inputSchema"]["properties"].values():
        assert parameter.keys() & {"description", "default"} or parameter["type"] == "array"
    assert tool.toolset in ROOMS


def test_names_are_unique_and_short_enough_for_hosts():
    for face in FACES.values():
        offered = select_tools(face, {"toolsets": "all"}, TOOLS)
        assert len(offered) == len(TOOLS)
        assert all(len(f"mcp__{face.name}__{name}") <= 64 for name in offered)


def test_what_a_model_reads_stays_within_its_budget():
    everything = select_tools(FACES["clew"], {"toolsets": "all"}, TOOLS)
    default = select_tools(FACES["clew"], {}, TOOLS)
    assert sum(shown_tokens(name, tool) for name, tool in everything.items()) < 7000
    assert sum(shown_tokens(name, tool) for name, tool in default.items()) < 2500
    assert len(default) <= 15


def test_instructions_fit_what_hosts_keep():
    assert all(len(face.instructions or "") <= 2048 for face in FACES.values())


SPEC = "2026-01-22-001-x7m"
STATUS_FOR = {"chant_archive": "completed", "chant_reset": "failed", "chant_resume": "failed"}


@pytest.fixture
def indexed(tmp_path, monkeypatch):
    """A repository with one commit for one spec, indexed; its root and the commit's id."""
    root = tmp_path / "thing"
    root.mkdir()
    (root / "file.txt").write_text("first line\n", encoding="utf-8")
    subject = f"chant({SPEC}): Add a file"
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", subject)):
        run_git(*words, cwd=root)
    monkeypatch.setenv("COMMITMUX_DB", str(tmp_path / "index" / "db.sqlite3"))
    store = SqliteHistory.create(database_path())
    sync_repo(store, register(store, root))
    store.close()
    return root, run_git("rev-parse", "HEAD", cwd=root).decode().strip()


def write_spec(root, status):
    """One spec whose criteria are met, and its log."""
    chant = root / ".chant"
    for name in ("specs", "logs"):
        (chant / name).mkdir(parents=True)
    text = f"---\ntype: code\nstatus: {status}\n---\n# Add a file\n\n## Acceptance Criteria\n\n"
    (chant / "specs" / f"{SPEC}.md").write_text(f"{text}- [x] It is there\n", encoding="utf-8")
    (chant / "logs" / f"{SPEC}.log").write_text("Started\n", encoding="utf-8")
    (root / "docs").mkdir()
    (root / "docs" / "vision.md").write_text("# Vision & Scope: Thing\n", encoding="utf-8")


# Tools that start and stop processes need more around them: tests/work/runs, tests/work/scheduling.
ALONE = [tool for tool in TOOLS if tool.toolset != "work"]


@pytest.mark.parametrize("tool", ALONE, ids=lambda tool: tool.name)
def test_every_tool_has_its_handler_and_keeps_its_output_schema(tool, indexed):
    root, sha = indexed
    write_spec(root, STATUS_FOR.get(tool.name, "in_progress"))
    arguments = {
        "id": SPEC,
        "description": "Add another file",
        "number": 1,
        "output": "Done.",
        "set": {"owner": "Ada"},
        "operation_name": "x",
        "duration_seconds": 0,
        "project_description": "A list of files",
        "project_name": "Thing",
        "requirements": "It lists files.",
        "project": str(root),
        "query": "file",
        "target": "file.txt:1",
        "task": SPEC,
        "path_glob": "file",
        "path": "file.txt",
        "start": 1,
        "text": "file",
        "texts": ["line"],
        "issue": "#1",
        "repo": "thing",
        "sha": sha,
        "shas": [sha],
        "agent": "climpt",
        "c1": "git",
        "c2": "group-commit",
        "c3": "unstaged-changes",
    }
    if tool.toolset == "sessions":
        put("copilot", Path.home(), root)
        with current_index(root) as (index, _):
            arguments["session"] = index.sessions(Filter(), 1)[0].name
    known = {k: v for k, v in arguments.items() if k in tool.input_schema["properties"]}
    answer = tool.handler(known, Call(settings={"project": str(root)}))
    Draft202012Validator(tool.output_schema).validate(answer.structured())
    assert answer.text


@for_each(TOOLS, lambda tool: tool.name)
def test_every_handler_can_be_imported(tool):
    assert callable(tool.handler)


def test_the_catalogue_is_plain_data():
    listed = [tool.wire(tool.name) for tool in TOOLS]
    assert json.loads(json.dumps(listed)) == listed
