"""Commands as MCP prompts, completions and resources, and the news of changes."""

from __future__ import annotations

import json

import pytest

from clew.commands.registry.registry import shelf
from clew.commands.registry.watch import Watcher
from tests.commands.project import HOME, record
from tests.support.client import CLEW, modern

NAME = "climpt-docs-write-page"


@pytest.fixture
def page(project):
    lines = ["---", "title: A page", "description: Write a page", "options:", "  stdin: true"]
    lines += ["uv:", "  - name: tone", "    description: How", "    enum: [dry, warm, wet]"]
    lines += ["  - name: who", "    required: true", "---", ""]
    body = "{uv-tone} for {uv-who}: {input_text} {uv-odd}"
    project.template("docs/write/page", "\n".join([*lines, body]))
    project.template("docs/write/page", "Bug {uv-who}", variant="bug")
    return project


@pytest.fixture
def server(page):
    with page.server() as running:
        running.result("initialize", {"protocolVersion": "2025-06-18"})
        running.notify("notifications/initialized")
        yield running


def test_every_command_is_a_prompt(server):
    listed = {prompt["name"]: prompt for prompt in server.result("prompts/list")["prompts"]}
    assert "climpt-git-group-commit-unstaged-changes" in listed
    page = listed[NAME]
    assert (page["title"], page["description"]) == ("A page", "Write a page")
    names = [argument["name"] for argument in page["arguments"]]
    assert len(names) == len(set(names))
    tone = page["arguments"][names.index("uv-tone")]
    assert tone["description"] == "How. One of: dry, warm, wet"
    arguments = {argument["name"]: argument["required"] for argument in page["arguments"]}
    assert arguments == {
        "input_text": False,
        "uv-tone": False,
        "uv-who": True,
        "uv-odd": False,
        "edition": False,
    }


def test_a_prompt_is_filled_in(server):
    arguments = {"uv-tone": "dry", "uv-who": "me", "input_text": "several words", "uv-odd": ""}
    result = server.result("prompts/get", {"name": NAME, "arguments": arguments})
    assert result["description"] == "Write a page"
    (message,) = result["messages"]
    assert message["role"] == "user"
    assert message["content"]["text"] == "dry for me: several words {uv-odd}\n"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (NAME, {}, "uv-who is required"),
        (NAME, {"uv-who": "x", "nonsense": "y"}, "No such option"),
        ("climpt-docs-write-pag", {}, f"Did you mean {NAME}"),
    ],
)
def test_a_prompt_that_cannot_be_had_is_an_error(server, name, arguments, words):
    error = server.ask("prompts/get", {"name": name, "arguments": arguments})["error"]
    assert words in error["message"]


def complete(server, ref, name, value):
    params = {"ref": ref, "argument": {"name": name, "value": value}}
    return server.result("completion/complete", params)["completion"]["values"]


def test_completions(server):
    prompt = {"type": "ref/prompt", "name": NAME}
    assert complete(server, prompt, "uv-tone", "w") == ["warm", "wet"]
    assert complete(server, prompt, "edition", "") == ["default", "bug"]
    assert complete(server, prompt, "other", "") == []
    assert complete(server, {"type": "ref/prompt", "name": "nope"}, "edition", "") == []
    uri = {"type": "ref/resource", "uri": "climpt://template/{agent}/{c1}/{c2}/{c3}"}
    assert complete(server, uri, "c1", "") == ["docs", "git", "meta"]
    assert complete(server, uri, "c2", "group") == ["group-commit"]


def test_templates_previews_and_the_registry_are_resources(server, page):
    uris = {resource["uri"] for resource in server.result("resources/list")["resources"]}
    assert {"climpt://template/climpt/docs/write/page", "climpt://registry/climpt"} <= uris
    patterns = server.result("resources/templates/list")["resourceTemplates"]
    assert [pattern["name"] for pattern in patterns] == ["template", "preview"]

    def read(uri):
        (contents,) = server.result("resources/read", {"uri": uri})["contents"]
        return contents["text"]

    raw = read("climpt://template/climpt/docs/write/page")
    assert raw.startswith("---\ntitle: A page")
    assert read("climpt://preview/climpt/docs/write/page").startswith("{uv-tone} for {uv-who}")
    document = json.loads(read("climpt://registry/climpt"))
    assert "docs" in document["tools"]["availableConfigs"]


@pytest.mark.parametrize(
    "uri",
    [
        "climpt://template/climpt/../../x",
        "climpt://template/climpt/git/no/such",
        "climpt://nothing/climpt/docs/write/page",
        "climpt://registry/nobody",
        "climpt://",
    ],
)
def test_other_resources_are_not_there(server, uri):
    assert server.ask("resources/read", {"uri": uri})["error"]["code"] in (-32002, -32602)


def test_the_whole_program_has_the_guide_beside_them(page):
    with page.server(command=CLEW) as server:
        uris = {resource["uri"] for resource in server.result("resources/list")["resources"]}
        assert {"clew://guide/overview", "climpt://template/climpt/docs/write/page"} <= uris
        topic = {"type": "ref/resource", "uri": "clew://guide/{topic}"}
        assert "overview" in complete(server, topic, "topic", "o")


def test_a_new_file_is_news_for_an_older_client(server, page):
    server.result("prompts/list")
    page.template("docs/write/letter", "Body")
    server.notification("notifications/prompts/list_changed")
    server.notification("notifications/resources/list_changed")
    names = [prompt["name"] for prompt in server.result("prompts/list")["prompts"]]
    assert "climpt-docs-write-letter" in names


def test_a_new_file_is_news_for_a_modern_client(page):
    with page.server() as server:
        wanted = {"notifications": {"promptsListChanged": True}}
        server.request("subscriptions/listen", modern(**wanted))
        server.notification("notifications/subscriptions/acknowledged")
        server.result("prompts/list", modern())
        page.template("docs/write/letter", "Body")
        server.notification("notifications/prompts/list_changed")


def test_the_watcher_speaks_only_of_changes(project):
    said = []
    watcher = Watcher(project.settings, lambda kind, uri: said.append(kind))
    assert watcher.look_once() is False
    project.registry(record("git/do/it"))
    assert watcher.look_once() is True
    assert watcher.look_once() is False
    assert said == ["prompts", "resources"]
    project.write(f"{HOME}/notes.txt", "not a template")
    assert watcher.look_once() is False


def test_a_call_right_after_a_change_may_wait_but_a_fresh_look_never_does(project):
    kept = shelf("climpt", project.settings)
    before = len(kept.registry().commands)
    project.template("docs/write/page", "Body")
    assert len(kept.registry(fresh=True).commands) == before + 1
