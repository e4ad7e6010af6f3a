"""The four documented tools, and ours, through a real server."""

from __future__ import annotations

import json

import pytest

from tests.commands.project import HOME, record
from tests.support.client import CLEW, CLIMPT, face, pipe

GROUP = {"c1": "git", "c2": "group-commit", "c3": "unstaged-changes"}


def test_the_face_introduces_itself(project):
    with project.server() as server:
        result = server.result("initialize", {"protocolVersion": "2025-06-18"})
        assert result["serverInfo"]["name"] == "climpt-mcp"
        assert result["capabilities"]["prompts"] == {"listChanged": True}
        assert result["capabilities"]["resources"] == {"listChanged": True}
        listed = server.result("tools/list")["tools"]
        assert [tool["name"] for tool in listed] == ["search", "describe", "execute", "reload"]


def test_the_whole_program_offers_them_with_a_prefix():
    (answer,) = pipe(CLEW, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    names = {tool["name"] for tool in answer["result"]["tools"]}
    assert {"climpt_search", "climpt_execute"} <= names


def test_search_describe_execute_in_the_documented_order(tools):
    found = tools.found("search", query="group changes and commit", agent="climpt")
    assert list(found[0]) == ["c1", "c2", "c3", "description", "score", "origin"]
    assert found[0]["origin"] == "packaged"
    assert {key: found[0][key] for key in GROUP} == GROUP
    assert 0.8 <= found[0]["score"] <= 1
    assert len(found) <= 3
    (described,) = tools.found("describe", **GROUP)
    assert described["description"] == found[0]["description"]
    assert set(described["options"]) == {"edition", "adaptation", "file", "stdin", "destination"}
    text = tools.text("execute", agent="climpt", **GROUP, options={})
    assert text.startswith("#")
    assert text.endswith("\n")


def test_search_finds_nothing_for_nothing(tools):
    assert tools.found("search", query="   ") == []
    assert tools.found("search", query="zzzzqqqq xxyyzz") == []


def test_search_takes_the_first_of_two_records(project, tools):
    project.registry(record("git/do/it", "Polish the brass"), record("git/do/it", "Second words"))
    found = tools.found("search", query="polish the brass")
    assert [(hit["c2"], hit["description"]) for hit in found] == [("do", "Polish the brass")]
    assert [one["description"] for one in tools.found("describe", c1="git", c2="do", c3="it")] == [
        "Polish the brass",
        "Second words",
    ]


def test_describe_has_every_key_of_the_record_and_the_truth_beside_it(project, tools):
    options = {"edition": ["default", "detailed"], "file": True, "stdin": False}
    project.registry(record("git/do/it", usage="climpt git do it", options=options, extra=1))
    project.template("git/do/it", "{uv-x} {input_text}")
    (found,) = tools.found("describe", c1="git", c2="do", c3="it")
    assert found["options"] == options
    assert (found["usage"], found["extra"], found["origin"]) == ("climpt git do it", 1, "project")
    assert found["variables"] == ["uv-x", "input_text"]
    assert found["variants"] == [{"edition": "default"}]


@pytest.mark.parametrize(
    "address", [("git", "no", "such"), ("..", "..", ".."), ("a/b", "\0", ""), ("git", "do", "é")]
)
def test_describe_of_nothing_is_an_empty_list(tools, address):
    assert tools.found("describe", **dict(zip(("c1", "c2", "c3"), address, strict=True))) == []


@pytest.mark.parametrize(
    "options",
    [
        {"edition": "bug", "stdin": "text", "uv": {"x": "X"}},
        {"-e": "bug", "text": "text", "uv-x": "X"},
        {"--edition": "bug", "input_text": "text", "uv": {"uv-x": "X"}},
    ],
)
def test_options_as_an_object(project, tools, options):
    project.template("git/do/it", "D")
    project.template("git/do/it", "{uv-x}: {input_text}", variant="bug")
    address = {"agent": "climpt", "c1": "git", "c2": "do", "c3": "it"}
    assert tools.text("execute", **address, options=options) == "X: text\n"


def test_options_as_words(project, tools):
    project.template("git/do/it", "{uv-x} {destination_path}", variant="bug_deep")
    address = {"agent": "climpt", "c1": "git", "c2": "do", "c3": "it"}
    words = ["-e=bug", "--adaptation", "deep", "--uv-x=a=b", "-o=out.md"]
    text = tools.text("execute", **address, options=words)
    assert text == f"a=b {project.root}/out.md\n"
    assert not (project.root / "out.md").exists()


def test_the_structured_answer_tells_how_the_prompt_came_about(project, tools):
    path = project.template("git/do/it", "{uv-x} {uv-y}")
    address = {"agent": "climpt", "c1": "git", "c2": "do", "c3": "it"}
    result = tools.call("execute", **address, options={"adaptation": "feat", "uv": {"x": 1}})
    found = result["structuredContent"]
    assert found["prompt"] == result["content"][0]["text"] == "1 {uv-y}\n"
    assert found["template"] == str(path)
    assert found["origin"] == "project"
    assert found["missing"] == ["uv-y"]
    assert len(found["warnings"]) == 2


def test_a_domain_written_with_its_agent_is_the_same(project, tools):
    project.template("git/do/it", "Body")
    address = {"c1": "climpt-git", "c2": "do", "c3": "it"}
    assert tools.text("execute", agent="climpt", **address) == "Body\n"
    assert len(tools.found("describe", **address)) == 1


def test_an_unknown_command_names_the_nearest(tools):
    found = tools.error(
        "execute", agent="climpt", c1="git", c2="group-comit", c3="unstaged-changes"
    )
    assert list(found)[:4] == ["error", "c1", "c2", "c3"]
    assert found["error"] == "Command not found"
    assert (found["c1"], found["c2"]) == ("git", "group-comit")
    assert found["nearest"][0] == "git group-commit unstaged-changes"
    assert "Did you mean" in found["hint"]


def test_a_listed_command_without_a_template_is_never_an_empty_success(project, tools):
    project.registry(record("git/do/it"))
    found = tools.error("execute", agent="climpt", c1="git", c2="do", c3="it")
    assert found["error"] == "Execution failed"
    assert found["command"] == "git do it"
    assert (
        found["stderr"]
        == f"Template not found: {project.root}/{HOME}/prompts/git/do/it/f_default.md"
    )


def test_a_failure_of_another_agents_command_names_its_configuration(project, tools):
    project.write(f"{HOME}/mcp/config.json", {"registries": {"inspector": "inspector.json"}})
    project.registry(record("git/gone/file"), path="inspector.json")
    address = {"c2": "gone", "c3": "file"}
    asked = [
        {"agent": "inspector", "c1": "git"},
        {"agent": "inspector", "c1": "inspector-git"},
        {"agent": "climpt", "c1": "inspector-git"},
    ]
    for names in asked:
        found = tools.error("execute", **names, **address)
        assert found["command"] == "inspector-git gone file"
        assert found["hint"].endswith("clew command new inspector-git gone file")
    bad = tools.error("execute", **asked[0], **address, options={"strict": "yes"})
    assert bad["command"] == "inspector-git gone file"
    project.ok("command", "new", "inspector-git", "gone", "file", program="clew")
    assert "# Gone file" in tools.text("execute", **asked[0], **address)


def test_searching_takes_the_documented_algorithm(tools):
    query = "group changes and commit"
    plain = tools.found("search", query=query, algorithm="cosine")
    assert len(plain) == 3
    assert plain[0]["score"] < tools.found("search", query=query)[0]["score"]
    listed = {tool["name"]: tool for tool in tools.server.result("tools/list")["tools"]}
    assert list(listed["search"]["inputSchema"]["properties"]) == ["query", "agent", "algorithm"]
    wrong = tools.call("search", query=query, algorithm="magic")
    assert wrong["isError"] is True
    assert "algorithm must be one of ranked" in wrong["content"][0]["text"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"editon": "x"}, "No such option: editon"),
        ({"uv": "x"}, "uv must be an object"),
        ({"edition": ["x"]}, "edition must be a string"),
        (["-z=1"], "No such option: -z"),
        (["word"], "a word that is not an option"),
        ({"edition": "../x"}, "Not a usable edition"),
        ({"strict": True, "edition": "nope"}, "Template not found"),
        ({"strict": "yes"}, "strict must be true or false"),
    ],
)
def test_wrong_options_fail_as_documented(tools, options, words):
    found = tools.error("execute", agent="climpt", **GROUP, options=options)
    assert found["error"] == "Execution failed"
    assert found["command"] == "git group-commit unstaged-changes"
    assert words in found["stderr"]


def test_a_registry_that_cannot_be_read_fails_as_documented(project, tools):
    project.write(f"{HOME}/registry.json", "{")
    for name, arguments in (("search", {"query": "x"}), ("describe", GROUP), ("reload", {})):
        found = tools.error(name, **arguments)
        assert found["error"] == "Failed to load registry"
        assert found["path"] == f"{HOME}/registry.json"
        assert found["details"].startswith("Not JSON")
    assert tools.error("search", query="x", agent="nobody")["details"] == "File not found"
    assert tools.error("search", query="x", agent="../..")["error"] == "Failed to load registry"


def test_reload_needs_no_arguments(tools):
    result = tools.server.result("tools/call", {"name": "reload"})
    assert result["structuredContent"]["commandCount"] == 7


def test_reload_tells_what_changed(project, tools):
    project.template("docs/write/page", "Body", title="Page", description="One")
    assert tools.found("reload")["agent"] == "climpt"
    project.template("docs/write/page", "Body", title="Page", description="Two, and longer")
    project.template("docs/write/letter", "Body", description="New")
    project.template("docs/write/broken", '---\ntitle: "\n---\nBody')
    found = tools.found("reload", agent="climpt")
    assert found["success"] is True
    assert found["changed"] == ["docs write page"]
    assert sorted(found["added"]) == ["docs write broken", "docs write letter"]
    assert found["removed"] == []
    assert [one["path"].endswith("broken/f_default.md") for one in found["broken"]] == [True]
    assert found["message"] == (
        f"Successfully reloaded {found['commandCount']} commands for agent 'climpt'"
    )
    (project.root / f"{HOME}/prompts/docs/write/letter/f_default.md").unlink()
    assert tools.found("reload")["removed"] == ["docs write letter"]


def test_reload_reads_the_map_of_agents_again(project, tools):
    assert tools.error("reload", agent="late")["error"] == "Failed to load registry"
    project.write(f"{HOME}/mcp/config.json", {"registries": {"late": "late.json"}})
    project.registry(record("a/b/c"), path="late.json")
    assert tools.found("reload", agent="late")["commandCount"] == 1
    everything = tools.found("reload", agent="*")
    assert [one["agent"] for one in everything["reloadedAgents"]] == ["climpt", "late"]


def test_reload_tells_where_file_and_templates_differ(project, tools):
    project.registry(record("git/do/it", "As listed"))
    project.template("git/do/it", "Body", title="It", description="As written")
    assert tools.found("reload")["drift"] == [
        "git do it: description differs from the template's frontmatter"
    ]


def test_an_edited_registry_counts(project, tools):
    project.registry(record("git/do/it", "Water the garden"))
    assert tools.found("search", query="water the garden")[0]["c2"] == "do"
    project.registry(record("git/do/it", "Paint the whole fence"))
    tools.found("reload")
    assert tools.found("search", query="paint fence")[0]["description"] == "Paint the whole fence"


def test_match_has_more_say(project):
    project.write(
        f"{HOME}/mcp/config.json",
        {"registries": {"climpt": f"{HOME}/registry.json", "other": "other.json"}},
    )
    project.registry(record("git/commit/everything", "Commit everything"), path="other.json")
    from tests.commands.project import Tools

    with project.server("--extended") as server:
        tools = Tools(server)
        assert tools.call("match", query="commit", layer="project")["isError"] is True
        found = tools.found(
            "match", action="group commit", target="changes", explain=True, layer="packaged"
        )
        assert found[0]["c2"] == "group-commit"
        assert found[0]["why"]
        assert tools.found("match", query="commit", c1="test", layer="packaged") == []
        everywhere = tools.found("match", query="commit everything", agent="*", limit=10)
        assert {hit["agent"] for hit in everywhere} == {"other"}
        plain = tools.found(
            "match", query="commit changes", algorithm="cosine", limit=1, layer="packaged"
        )
        assert len(plain) == 1
        refused = tools.call("match")
        assert refused["isError"] is True
        assert "Nothing to search for" in refused["content"][0]["text"]


def test_a_secret_is_redacted_in_log_lines(project):
    project.template("git/do/it", "{uv-api-token} {uv-x}")
    arguments = {
        "agent": "climpt", "c1": "git", "c2": "do", "c3": "it",
        "options": {"uv": {"api-token": "hunter2", "x": "shown"}},
    }  # fmt: skip
    with project.server() as server:
        server.result("initialize", {"protocolVersion": "2025-06-18"})
        server.result("logging/setLevel", {"level": "debug"})
        answer = server.result("tools/call", {"name": "execute", "arguments": arguments})
        line = server.notification("notifications/message")["params"]["data"]
    assert answer["content"][0]["text"] == "hunter2 shown\n"
    assert line["uv"] == {"api-token": "[redacted]", "x": "shown"}
    assert "hunter2" not in json.dumps(line)


def test_the_server_may_be_told_its_project(project, tmp_path):
    project.template("git/do/it", "Body")
    call = {
        "name": "execute",
        "arguments": {"agent": "climpt", "c1": "git", "c2": "do", "c3": "it"},
    }
    command = face("climpt", "mcp", "--project", str(project.root))
    assert command[:2] == CLIMPT
    (answer,) = pipe(command, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    assert answer["result"]["content"][0]["text"] == "Body\n"
