"""A service with one of everything, under the names that the official conformance suite asks for.

Test-only: the suite needs tools, prompts and resources with fixed names and behaviour. Run as
`python -m tests.support.everything --port N` (HTTP) or `--stdio`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from clew.kit import jsontext
from clew.kit.answer import Answer
from clew.kit.errors import ClewError, Invalid, NotFound
from clew.protocol.errors import RpcError, missing_capability
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.service import Service, UnknownTool

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text_resource(uri, text):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}}


def elicitation(message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sampling(prompt, tokens=100):
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": tokens},
    }


ROOTS = {"method": "roots/list", "params": {}}
NAME = {"name": {"type": "string"}}
OPTIONS = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]


def field(reply, name):
    content = reply.get("content")
    return content.get(name, "unknown") if isinstance(content, dict) else "unknown"


# --- tools ---------------------------------------------------------------------------------------


def simple_text(arguments, call, service):
    return "This is a simple text response for testing."


def image_content(arguments, call, service):
    return Answer(content=[IMAGE])


def audio_content(arguments, call, service):
    return Answer(content=[{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}])


def embedded_resource(arguments, call, service):
    return Answer(content=[text_resource("test://embedded-resource", "Embedded.")])


def multiple_content(arguments, call, service):
    block = {"type": "text", "text": "Multiple content types test:"}
    return Answer(content=[block, IMAGE, text_resource("test://mixed-content-resource", "{}")])


def with_logging(arguments, call, service):
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.log("info", line)
        call.sleep(0.05)
    return "Tool with logging executed successfully"


def with_progress(arguments, call, service):
    for done in (0, 50, 100):
        call.progress(done, 100, f"Completed step {done} of 100")
        call.sleep(0.05)
    return "done"


def error_handling(arguments, call, service):
    raise ClewError("This tool intentionally returns an error for testing")


def ask_sampling(arguments, call, service):
    reply = call.ask({"sample": sampling(arguments["prompt"])})["sample"]
    return f"LLM response: {field(reply, 'text')}"


def ask_elicitation(arguments, call, service):
    properties = {"response": {"type": "string", "description": "User's response"}}
    request = elicitation(arguments["message"], properties, ["response"])
    reply = call.ask({"answer": request})["answer"]
    return f"User response: action={reply['action']}, content={reply.get('content')}"


def ask_defaults(arguments, call, service):
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
    reply = call.ask({"form": elicitation("Review the defaults", properties)})["form"]
    return f"Elicitation completed: action={reply['action']}"


def ask_enums(arguments, call, service):
    plain = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": OPTIONS},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["One", "Two", "Three"],
        },
        "untitledMulti": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {"type": "string", "enum": plain},
        },
        "titledMulti": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {"anyOf": OPTIONS},
        },
    }
    reply = call.ask({"form": elicitation("Select options", properties)})["form"]
    return f"Elicitation completed: action={reply['action']}"


def missing_capability_tool(arguments, call, service):
    if "sampling" not in call.capabilities:
        raise missing_capability({"sampling": {}})
    return "Success"


def ask_name(arguments, call, service):
    reply = call.ask({"user_name": elicitation("What is your name?", NAME, ["name"])})
    return f"Hello, {field(reply['user_name'], 'name')}!"


def ask_sample(arguments, call, service):
    reply = call.ask({"sample_request": sampling("What is the capital of France?")})
    return f"Sampling result: {field(reply['sample_request'], 'text')}"


def ask_roots(arguments, call, service):
    reply = call.ask({"roots_request": ROOTS})["roots_request"]
    return f"Found {len(reply.get('roots', []))} root(s)"


def ask_confirm(arguments, call, service):
    request = elicitation("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])
    call.ask({"confirm": request})
    return "state-ok integrity-ok: the state was verified"


def ask_several(arguments, call, service):
    replies = call.ask(
        {
            "user_name": elicitation("What is your name?", NAME, ["name"]),
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": ROOTS,
        }
    )
    return f"Name: {field(replies['user_name'], 'name')}; roots: {replies['client_roots']}"


def ask_rounds(arguments, call, service):
    name = field(call.ask({"step1": elicitation("Name?", NAME, ["name"])})["step1"], "name")
    colours = {"color": {"type": "string"}}
    reply = call.ask({"step2": elicitation("Colour?", colours, ["color"])})["step2"]
    return f"{name} likes {field(reply, 'color')}"


def ask_what_is_possible(arguments, call, service):
    requests = {}
    if "elicitation" in call.capabilities:
        requests["elicit_input"] = elicitation("Value?", {"value": {"type": "string"}}, ["value"])
    if "sampling" in call.capabilities:
        requests["sample_input"] = sampling("Say something", 50)
    call.ask(requests)
    return "done"


def streaming_elicitation(arguments, call, service):
    call.progress(1, 2, "about to ask")
    call.ask({"name": elicitation("Name?", NAME, ["name"])})
    return "done"


def trigger_tool_change(arguments, call, service):
    service.announce("tools", None)
    return "announced"


def trigger_prompt_change(arguments, call, service):
    service.announce("prompts", None)
    return "announced"


def greet(arguments, call, service):
    return f"Hello, {arguments.get('name', 'nobody')}!"


def slow_compute(arguments, call, service):
    call.sleep(float(arguments.get("seconds", 1)))
    return "computed"


def failing_job(arguments, call, service):
    call.sleep(1)
    raise ClewError("This job always fails")


def protocol_error_job(arguments, call, service):
    raise RpcError(-32603, "This job breaks the protocol on purpose")


def confirm_delete(arguments, call, service):
    request = elicitation(
        f"Delete {arguments.get('filename')}?", {"confirm": {"type": "boolean"}}, ["confirm"]
    )
    reply = call.ask({"confirm": request})["confirm"]
    return f"confirmed={field(reply, 'confirm')}"


def multi_input(arguments, call, service):
    replies = call.ask(
        {
            "first": elicitation("First?", NAME, ["name"]),
            "second": elicitation("Second?", NAME, ["name"]),
        }
    )
    return f"{field(replies['first'], 'name')} and {field(replies['second'], 'name')}"


def task_after_question(arguments, call, service):
    return f"Hello, {field(call.answers['user_name'], 'name')}!"


PROMPT_ARGUMENT = {"prompt": {"type": "string"}}
MESSAGE_ARGUMENT = {"message": {"type": "string"}}
# name -> (handler, properties, required, task support)
TOOLS = {
    "test_simple_text": (simple_text, {}, (), "never"),
    "test_image_content": (image_content, {}, (), "never"),
    "test_audio_content": (audio_content, {}, (), "never"),
    "test_embedded_resource": (embedded_resource, {}, (), "never"),
    "test_multiple_content_types": (multiple_content, {}, (), "never"),
    "test_tool_with_logging": (with_logging, {}, (), "never"),
    "test_logging_tool": (with_logging, {}, (), "never"),
    "test_tool_with_progress": (with_progress, {}, (), "never"),
    "test_error_handling": (error_handling, {}, (), "never"),
    "test_sampling": (ask_sampling, PROMPT_ARGUMENT, ("prompt",), "never"),
    "test_elicitation": (ask_elicitation, MESSAGE_ARGUMENT, ("message",), "never"),
    "test_elicitation_sep1034_defaults": (ask_defaults, {}, (), "never"),
    "test_elicitation_sep1330_enums": (ask_enums, {}, (), "never"),
    "test_missing_capability": (missing_capability_tool, {}, (), "never"),
    "test_input_required_result_elicitation": (ask_name, {}, (), "never"),
    "test_input_required_result_sampling": (ask_sample, {}, (), "never"),
    "test_input_required_result_list_roots": (ask_roots, {}, (), "never"),
    "test_input_required_result_request_state": (ask_confirm, {}, (), "never"),
    "test_input_required_result_multiple_inputs": (ask_several, {}, (), "never"),
    "test_input_required_result_multi_round": (ask_rounds, {}, (), "never"),
    "test_input_required_result_tampered_state": (ask_confirm, {}, (), "never"),
    "test_input_required_result_capabilities": (ask_what_is_possible, {}, (), "never"),
    "test_streaming_elicitation": (streaming_elicitation, {}, (), "never"),
    "test_trigger_tool_change": (trigger_tool_change, {}, (), "never"),
    "test_trigger_prompt_change": (trigger_prompt_change, {}, (), "never"),
    "greet": (greet, NAME, (), "never"),
    "greet_region": (greet, {"name": {"type": "string", "x-mcp-header": "Region"}}, (), "never"),
    "slow_compute": (slow_compute, {"seconds": {"type": "number"}}, (), "may"),
    "failing_job": (failing_job, {}, (), "must"),
    "protocol_error_job": (protocol_error_job, {}, (), "may"),
    "confirm_delete": (confirm_delete, {"filename": {"type": "string"}}, (), "may"),
    "multi_input": (multi_input, {}, (), "may"),
    "test_tool_with_task": (task_after_question, {}, (), "must"),
}


class Everything(Service):
    """Everything the protocol has, in test sizes."""

    name = "clew-conformance"
    version = "1.0.0"
    features = frozenset(
        {"tools", "prompts", "resources", "completions", "logging", "listChanged", "subscribe"}
    )

    def tools(self):
        tools = [
            {
                "name": name,
                "description": f"Fixture {name}",
                "inputSchema": {
                    "type": "object",
                    "properties": properties,
                    "required": list(required),
                },
            }
            for name, (_, properties, required, _) in TOOLS.items()
        ]
        schema_tool = {
            "name": "json_schema_2020_12_tool",
            "description": "Fixture with a full schema",
            "inputSchema": SCHEMA_2020_12,
        }
        return [*tools, schema_tool]

    def task_support(self, name):
        return TOOLS[name][3] if name in TOOLS else "never"

    def check_call(self, name, arguments, call):
        if name == "json_schema_2020_12_tool":
            return arguments
        if name not in TOOLS:
            raise UnknownTool(f"Unknown tool: {name}")
        for required in TOOLS[name][2]:
            if required not in arguments:
                raise Invalid(f"Missing required parameter: {required}")
        if name == "test_tool_with_task":
            ask_name(arguments, call, self)
        return arguments

    def call_tool(self, name, arguments, call):
        if name == "json_schema_2020_12_tool":
            return Answer(jsontext.dumps(arguments))
        answer = TOOLS[name][0](arguments, call, self)
        return answer if isinstance(answer, Answer) else Answer(answer)

    def prompts(self):
        def prompt(name, *arguments):
            listed = [{"name": argument, "required": True} for argument in arguments]
            return {"name": name, "description": f"Fixture {name}", "arguments": listed}

        return [
            prompt("test_simple_prompt"),
            prompt("test_prompt_with_arguments", "arg1", "arg2"),
            prompt("test_prompt_with_embedded_resource", "resourceUri"),
            prompt("test_prompt_with_image"),
            prompt("test_input_required_result_prompt"),
        ]

    def get_prompt(self, name, arguments, call):
        def messages(*contents):
            return {"messages": [{"role": "user", "content": content} for content in contents]}

        def text(value):
            return {"type": "text", "text": value}

        if name == "test_simple_prompt":
            return messages(text("This is a simple prompt for testing."))
        if name == "test_prompt_with_arguments":
            one, two = arguments["arg1"], arguments["arg2"]
            return messages(text(f"Prompt with arguments: arg1='{one}', arg2='{two}'"))
        if name == "test_prompt_with_embedded_resource":
            return messages(text_resource(arguments["resourceUri"], "Embedded."), text("Use it."))
        if name == "test_prompt_with_image":
            return messages(IMAGE, text("Please analyze the image above."))
        if name == "test_input_required_result_prompt":
            request = elicitation("Context?", {"context": {"type": "string"}}, ["context"])
            reply = call.ask({"user_context": request})["user_context"]
            return messages(text(f"Context: {field(reply, 'context')}"))
        raise NotFound(f"Unknown prompt: {name}")

    def resources(self):
        return [
            {"uri": "test://static-text", "name": "static-text", "mimeType": "text/plain"},
            {"uri": "test://static-binary", "name": "static-binary", "mimeType": "image/png"},
            {"uri": "test://watched-resource", "name": "watched", "mimeType": "text/plain"},
        ]

    def resource_templates(self):
        return [{"uriTemplate": "test://template/{id}/data", "name": "template"}]

    def read_resource(self, uri, call):
        if uri == "test://static-binary":
            return [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]
        if uri in ("test://static-text", "test://watched-resource"):
            return [{"uri": uri, "mimeType": "text/plain", "text": f"This is the text of {uri}."}]
        if uri.startswith("test://template/") and uri.endswith("/data"):
            identity = uri.removeprefix("test://template/").removesuffix("/data")
            body = jsontext.dumps({"id": identity, "templateTest": True})
            return [{"uri": uri, "mimeType": "application/json", "text": body}]
        raise NotFound(f"Unknown resource: {uri}")

    def complete(self, reference, name, value):
        return [word for word in ("paris", "park", "party") if word.startswith(value)]


def make_kernel(task_directory, database=None):
    from clew.protocol.kernel.task_store import SqliteTasks
    from clew.protocol.kernel.tasks import TaskDesk

    if database is None:
        return Kernel(
            Everything(), tasks=lambda kernel: TaskDesk(kernel, SqliteTasks(Path(task_directory)))
        )
    from clew.team.servers.shared_secret import shared_secret
    from clew.team.servers.tasks import PostgresTasks

    return Kernel(
        Everything(),
        secret=lambda: shared_secret(database, "state"),
        tasks=lambda kernel: TaskDesk(kernel, PostgresTasks(database, alive_seconds=6)),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", default="0")
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--database")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        kernel = make_kernel(directory, arguments.database)
        if arguments.stdio:
            from clew.protocol.stdio.server import serve

            return serve(kernel)
        from clew.protocol.http.server import run
        from clew.protocol.http.token import open_listener

        listener = open_listener("127.0.0.1", arguments.port)
        book = None
        if arguments.database:
            from clew.team.servers.sessions import PostgresSessions

            book = PostgresSessions(arguments.database)
        return run(kernel, listener, host="127.0.0.1", token=None, book=book)


if __name__ == "__main__":
    sys.exit(main())
