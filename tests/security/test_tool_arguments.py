"""Every string argument of every tool, with everything that a path or an option could abuse."""

from __future__ import annotations

import json
import random
import re

import pytest

from clew.program import all_tools
from tests.advisors.conftest import DESCRIPTION, PLAN_DRAFT, REQUIREMENTS, VISION_DRAFT
from tests.support.client import CLEW, StdioServer
from tests.support.proof import amount

DONE = "2026-01-01-002-def"
USUAL = {
    "id": DONE,
    "repo": "r",
    "sha": "HEAD",
    "shas": ["HEAD"],
    "path": "src/a.py",
    "path_glob": "a.py",
    "query": "words",
    "text": "two",
    "texts": ["two"],
    "issue": "1",
    "description": "A thing",
    "prompt": "standard",
    "number": 1,
    "start": 1,
    "agent": "climpt",
    "c1": "git",
    "c2": "create",
    "c3": "issue",
    "project_description": "A shop for bicycles.",
    "project_name": "Shop",
    "requirements": "It sells bicycles.",
    "operation_name": "wait",
    "duration_seconds": 0,
    "target": "src/a.py",
    "task": "sell bicycles",
}
# Tools that would start programs are called with hostile names only, never with usual ones.
STARTERS = {"chant_watch_start", "chant_watch_stop"}
_BUG = re.compile(r"Internal error|-32603|Traceback|sqlite3?\.|OperationalError")
# A directory that the caller names is the one it asks about.
DIRECTORIES = {"project"}


def hostile(ground):
    """Values that must do nothing but be refused or be looked for."""
    outside = ground.outside
    values = [
        "../outside/canary.txt",
        f"{outside}/canary.txt",
        "--output=../outside/pwned",
        "-c core.fsmonitor=touch ../outside/pwned",
        "x\0../../outside/canary.txt",
        "' OR 1=1; DROP TABLE commits; --",
        "x" * amount(100_000, 1_000_000),
        "\x1b]0;title\x07\x9b31m\r\n\u202e",
        '"NEAR(a b) AND * OR ^ ( {{constructor}} {uv-x} ${HOME}',
        "link/canary.txt",
        "link.txt",
    ]
    more = [
        "../../../outside/canary",
        "src/../../outside/canary.md",
        f"file://{outside}/canary.txt",
        "..",
        "~root/.ssh/id_rsa",
        "--upload-pack=touch ../outside/pwned",
        "-",
        "--",
        "$(touch ../outside/pwned)",
        "`touch ../outside/pwned`; touch ../outside/pwned",
        "%2e%2e%2foutside%2fcanary.txt",
        "..\\outside\\canary.txt",
        '"',
        "*",
        "a AND OR NOT b",
        "NEAR(",
        "link/../canary.txt",
        "HEAD:link.txt",
        "--git-dir=../outside/.git",
        "@{-1}",
        ":!x",
        ":(glob)../**",
        "\ud7ff\ufffe\U0010ffff",
        "a" * 256,
        "",
        " ",
        "con",
        ".git/config",
        "../.git/config",
    ]
    return values + more if amount(0, 1) else values


def string_places(schema):
    """Each argument that takes text, and how to put a text into it."""
    for name, about in schema["properties"].items():
        kinds = about.get("type")
        if about.get("enum") or name in DIRECTORIES:
            continue
        if kinds == "string":
            yield name, lambda value: value
        elif kinds == "array":
            yield name, lambda value: [value]
        elif isinstance(kinds, list) and "object" in kinds:
            yield name, lambda value: {"-uv-name": value, value[:50]: value}
        elif kinds == "object":
            yield name, lambda value: {"labels": [value], value[:50]: value}


ATTACKED = [tool for tool in all_tools() if tool.name not in STARTERS]


@pytest.fixture
def server(ground):
    """One server with every tool."""
    with StdioServer((*CLEW, "--toolsets", "all"), cwd=ground.root) as made:
        names = {tool["name"] for tool in made.result("tools/list", {})["tools"]}
        assert {tool.prefixed_name for tool in ATTACKED} <= names
        yield made
        assert made.process.poll() is None
        made.result("tools/list", {})
    assert b"Traceback" not in made.stderr, made.stderr.decode()[-3000:]


def assert_civil_answer(ground, answer, asked):
    """Nothing of what is outside, and no word of a bug; what was asked for may be repeated."""
    said = json.dumps(answer)
    assert ground.secret not in said, asked
    assert not _BUG.search(said), (asked, said[:500])


def groups(tools, count=4):
    """The tools in some heaps, one for each test."""
    return [tools[start::count] for start in range(count)]


@pytest.mark.parametrize("tools", groups(ATTACKED), ids=lambda tools: tools[0].name)
def test_no_argument_leads_outside(ground, server, tools, record_property):
    count = 0
    for tool in tools:
        required = tool.input_schema.get("required", [])
        for name, put in string_places(tool.accepted_schema):
            for value in hostile(ground):
                arguments = {key: USUAL.get(key, "words") for key in required} | {name: put(value)}
                call = {"name": tool.prefixed_name, "arguments": arguments}
                answer = server.ask("tools/call", call)
                assert_civil_answer(ground, answer, (tool.name, name, value[:80]))
                count += 1
        ground.assert_untouched()
    assert count
    record_property("hostile calls", count)


def with_each_text(value, put):
    """The same structure, once for each text in it, with another one in its place."""
    if isinstance(value, str):
        yield put
    elif isinstance(value, list | dict):
        for key in range(len(value)) if isinstance(value, list) else value:
            for changed in with_each_text(value[key], put):
                copy = value.copy()
                copy[key] = changed
                yield copy


@pytest.mark.parametrize(
    ("tool", "about", "draft"),
    [
        ("vision_agent", {"project_description": DESCRIPTION}, VISION_DRAFT),
        (
            "architecture_agent",
            {"project_name": "Tably", "requirements": REQUIREMENTS},
            PLAN_DRAFT,
        ),
    ],
)
def test_no_text_of_a_draft_leads_outside(ground, server, tool, about, draft, record_property):
    """Names of files come from such texts: decision records have their title's."""
    values = hostile(ground)
    drafts = [one for value in values for one in with_each_text(draft, value[:5000])]
    chosen = random.Random(7).sample(drafts, min(len(drafts), amount(120, 1500)))
    saved = 0
    for number, one in enumerate(chosen):
        arguments = {**about, "conversation_id": f"c{number % 10}", "draft": one, "save": True}
        answer = server.ask("tools/call", {"name": tool, "arguments": arguments})
        assert_civil_answer(ground, answer, (tool, str(one)[:200]))
        saved += not answer["result"].get("isError", False)
    ground.assert_untouched()
    assert saved > len(chosen) // 2
    record_property("hostile calls", len(chosen))


@pytest.mark.parametrize("name", sorted(DIRECTORIES))
def test_a_directory_that_is_no_project_is_refused_or_left_as_it_is(ground, server, name):
    for tool in ATTACKED:
        if name not in tool.accepted_schema["properties"]:
            continue
        required = tool.input_schema.get("required", [])
        for value in (
            str(ground.outside / "canary.txt"),
            "../outside/specs",
            "-x",
            "a\0b",
            "x" * 9999,
        ):
            arguments = {key: USUAL.get(key, "words") for key in required} | {name: value}
            answer = server.ask("tools/call", {"name": tool.prefixed_name, "arguments": arguments})
            assert_civil_answer(ground, answer, (tool.name, value[:50]))
    ground.assert_kept()


def test_resources_prompts_and_completions(ground, server):
    for value in hostile(ground):
        asked = [
            ("resources/read", {"uri": value}),
            ("resources/read", {"uri": f"clew://guide/{value}"}),
            ("resources/read", {"uri": f"climpt://{value}"}),
            ("prompts/get", {"name": value, "arguments": {"uv-name": value}}),
            ("prompts/get", {"name": f"git/create/{value}"}),
            (
                "completion/complete",
                {
                    "ref": {"type": "ref/prompt", "name": value},
                    "argument": {"name": value, "value": value},
                },
            ),
            ("tools/call", {"name": value, "arguments": {}}),
            ("tasks/get", {"taskId": value}),
        ]
        for method, params in asked:
            assert_civil_answer(ground, server.ask(method, params), (method, value[:80]))
    ground.assert_untouched()


@pytest.mark.parametrize("half", ["\ud800", "a\udfffb"])
def test_half_a_character_is_refused_before_any_tool(server, half):
    server.request("tools/call", {"name": "clew_guide", "arguments": {"topic": half}})
    refused = server.wait(lambda message: "error" in message)
    assert refused["id"] is None
    assert refused["error"]["code"] == -32700
    assert server.result("tools/list", {})["tools"]
