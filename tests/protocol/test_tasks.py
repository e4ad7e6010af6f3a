"""Tasks: durable before answered, readable by other servers, honest when cut off."""

from __future__ import annotations

import pytest

from tests.support.client import CLARIAD, EVERYTHING, TASKS, StdioServer, modern
from tests.support.waiting import wait_until

CAPABLE = {"elicitation": {}, "extensions": {TASKS: {}}}


def start(server, name, **arguments):
    return server.result("tools/call", modern(CAPABLE, name=name, arguments=arguments))


def state_of(server, task_id):
    return server.result("tasks/get", modern(CAPABLE, taskId=task_id))


def finished(server, task_id):
    def final_state():
        state = state_of(server, task_id)
        return None if state["status"] in ("working", "input_required") else state

    return wait_until(final_state)


def test_a_slow_tool_becomes_a_task_for_those_who_can_follow_it():
    with StdioServer(CLARIAD) as server:
        task = start(server, "long_running_operation", operation_name="Job", duration_seconds=0.4)
        assert task["resultType"] == "task"
        assert task["status"] == "working"
        assert task["ttlMs"] > 0
        assert state_of(server, task["taskId"])["resultType"] == "complete"
        done = finished(server, task["taskId"])
        assert done["status"] == "completed"
        assert "Completed Job" in done["result"]["content"][0]["text"]
        plain = modern(
            {},
            name="long_running_operation",
            arguments={"operation_name": "x", "duration_seconds": 0},
        )
        assert server.result("tools/call", plain)["resultType"] == "complete"


def test_wrong_arguments_never_become_a_task():
    with StdioServer(CLARIAD) as server:
        result = start(server, "long_running_operation", operation_name="x")
        assert result["isError"] is True
        assert "duration_seconds" in result["content"][0]["text"]


def test_progress_is_the_status_message():
    with StdioServer(CLARIAD) as server:
        task = start(server, "long_running_operation", operation_name="Job", duration_seconds=5)
        said = wait_until(lambda: state_of(server, task["taskId"]).get("statusMessage"))
        assert "Job" in said


def test_cancelling_a_task():
    with StdioServer(EVERYTHING) as server:
        task_id = start(server, "slow_compute", seconds=60)["taskId"]
        for _ in range(2):
            result = server.result("tasks/cancel", modern(CAPABLE, taskId=task_id))
            assert result["resultType"] == "complete"
            assert "taskId" not in result
        assert state_of(server, task_id)["status"] == "cancelled"


def test_a_tools_error_is_a_completed_task_and_a_protocol_error_a_failed_one():
    with StdioServer(EVERYTHING) as server:
        failing = finished(server, start(server, "failing_job")["taskId"])
        assert failing["status"] == "completed"
        assert failing["result"]["isError"] is True
        broken = finished(server, start(server, "protocol_error_job")["taskId"])
        assert broken["status"] == "failed"
        assert broken["error"]["code"] == -32603


def test_a_task_asks_and_goes_on_when_all_is_answered():
    with StdioServer(EVERYTHING) as server:
        task_id = start(server, "multi_input")["taskId"]
        wait_until(lambda: state_of(server, task_id)["status"] == "input_required")
        state = state_of(server, task_id)
        assert set(state["inputRequests"]) == {"first", "second"}

        def answer(**answers):
            replies = {k: {"action": "accept", "content": {"name": v}} for k, v in answers.items()}
            params = modern(CAPABLE, taskId=task_id, inputResponses=replies)
            return server.result("tasks/update", params)

        answer(unknown="x")
        answer(first="Ada")
        assert set(state_of(server, task_id)["inputRequests"]) == {"second"}
        answer(second="Bob")
        done = finished(server, task_id)
        assert done["result"]["content"][0]["text"] == "Ada and Bob"
        assert "inputRequests" not in done


def test_unknown_tasks_and_undeclared_extensions_are_refused():
    with StdioServer(EVERYTHING) as server:
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            unknown = server.ask(method, modern(CAPABLE, taskId="nope"))["error"]
            assert unknown["code"] == -32602
            error = server.ask(method, modern({}, taskId="nope"))["error"]
            assert error["code"] == -32021
            assert error["data"]["requiredCapabilities"] == {"extensions": {TASKS: {}}}
        must = modern({}, name="failing_job", arguments={})
        assert server.ask("tools/call", must)["error"]["code"] == -32021


def test_another_server_of_the_same_user_sees_the_task():
    with StdioServer(CLARIAD) as one, StdioServer(CLARIAD) as two:
        task = start(one, "long_running_operation", operation_name="Job", duration_seconds=1)
        assert state_of(two, task["taskId"])["status"] == "working"
        done = finished(two, task["taskId"])
        assert "Completed Job" in done["result"]["content"][0]["text"]


def test_a_finished_task_survives_its_server():
    with StdioServer(CLARIAD) as one:
        task = start(one, "long_running_operation", operation_name="Job", duration_seconds=0)
        finished(one, task["taskId"])
    with StdioServer(CLARIAD) as two:
        assert state_of(two, task["taskId"])["status"] == "completed"


@pytest.mark.parametrize("attempt", range(3))
def test_a_task_whose_server_was_killed_says_so(attempt):
    with StdioServer(CLARIAD) as one:
        task = start(one, "long_running_operation", operation_name="Job", duration_seconds=60)
        one.process.kill()
        one.process.wait()
    with StdioServer(CLARIAD) as two:
        state = state_of(two, task["taskId"])
        assert state["status"] == "failed"
        assert "ended" in state["error"]["message"]
        assert state_of(two, task["taskId"]) == {**state, "_meta": state["_meta"]}


def test_a_stream_follows_a_task_to_its_end():
    with StdioServer(EVERYTHING) as server:
        task_id = start(server, "slow_compute", seconds=0.5)["taskId"]
        wanted = {"taskIds": [task_id, "unknown"]}
        server.request("subscriptions/listen", modern(CAPABLE, notifications=wanted), "stream")
        opened = server.notification("notifications/subscriptions/acknowledged")
        assert opened["params"]["notifications"] == {"taskIds": [task_id]}
        told = server.notification("notifications/tasks")["params"]
        assert told["status"] == "completed"
        assert told["result"]["content"][0]["text"] == "computed"
        error = server.ask("subscriptions/listen", modern({}, notifications=wanted))["error"]
        assert error["code"] == -32021
