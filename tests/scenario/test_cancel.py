"""Cancelling: a call, a turn, a session; and how many calls run at once."""
import http.client
import json
import threading

from lib import processes_with, until

ASK_NOTHING = "tool_confirmation:\n  default: {WRITE: auto, EXECUTE: auto}\n"


def quiet(box):
    """A gateway that asks nothing."""
    box.config(ASK_NOTHING)
    return box.serve()


def waits_for(name):
    """A command that says its name, then runs until the file `go` is there."""
    return {"command": "echo begun > begun-%s; until [ -e go ]; do sleep 0.05; done; echo %s" % (name, name)}


def begun(box, name):
    until(lambda: box.exists("begun-" + name), name + " runs")


def places(g):
    return g.ok("GET", "/status")["calls"]


def classes(turn):
    return [c["error_class"] for c in turn["calls"]]


# What is cancelled

def test_a_running_call_is_cancelled_alone(box):
    g = quiet(box)
    s = g.session()
    turn = g.message(s, ("shell", waits_for("a")), ("shell", waits_for("b")), wait=False)
    begun(box, "a"), begun(box, "b")
    id = turn["calls"][0]["call_id"]
    answer = g.request("POST", "/calls/%s/cancel" % id, {})
    assert answer == (202, {"call_id": id, "cancellation_initiated": True})
    until(lambda: g.ok("GET", "/sessions/%s/turns/%s" % (s, turn["turn_id"]))["calls"][0]["settled"], "it ends")
    box.write("go", "")
    turn = g.turn(s, turn["turn_id"])
    assert classes(turn) == ["cancelled", None]
    assert turn["state"] == "completed"


def test_a_cancelled_command_leaves_nothing_and_keeps_what_it_said(box):
    g = quiet(box)
    s = g.session()
    marker = "marker-of-%s" % s
    command = "echo so far; echo and this >&2; sh -c 'sleep 600; : %s' & sleep 600; : %s" % (marker, marker)
    stream = g.stream("/sessions/%s/events" % s)
    turn = g.start(s, "shell", {"command": command})
    said = ""
    while "so far" not in said or "and this" not in said:
        said += stream.next_of("tool.output_delta")["payload"]["text"]
    stream.close()
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    turn = g.turn(s, turn["turn_id"])
    text = "\n".join(b["text"] for b in turn["content"][0]["content"])
    assert text.startswith("the call was cancelled") and "so far\n" in text and "and this\n" in text, text
    failed = g.events(s, event_types="tool.failed")[0]["payload"]
    assert "so far\n" in failed["partial_output"][0]["text"]
    until(lambda: not processes_with(marker), "nothing of it is left")


def test_a_turn_is_cancelled_with_all_its_calls_and_no_other(box):
    g = quiet(box)
    s = g.session()
    turn = g.message(s, ("shell", waits_for("a")), ("shell", waits_for("b")), wait=False)
    other = g.start(s, "shell", waits_for("c"))
    for name in "abc":
        begun(box, name)
    answer = g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    assert answer == {"turn_id": turn["turn_id"], "cancellation_initiated": True}
    turn = g.turn(s, turn["turn_id"])
    assert turn["state"] == "cancelled" and classes(turn) == ["cancelled", "cancelled"]
    box.write("go", "")
    other = g.turn(s, other["turn_id"])
    assert other["state"] == "completed" and classes(other) == [None]
    ends = [e["type"] for e in g.events(s) if e["type"].startswith("turn.") and e["type"] != "turn.started"]
    assert ends == ["turn.cancelled", "turn.completed"]


def test_a_session_is_cancelled_and_goes_on(box):
    g = quiet(box)
    s, other = g.session(), g.session()
    turns = [g.start(s, "shell", waits_for("a")), g.start(s, "shell", waits_for("b"))]
    elsewhere = g.start(other, "shell", waits_for("c"))
    for name in "abc":
        begun(box, name)
    assert g.request("POST", "/sessions/%s/cancel" % s, {}) == (202, {"session_id": s, "cancelled": 2})
    for turn in turns:
        assert classes(g.turn(s, turn["turn_id"])) == ["cancelled"]
    assert g.call(s, "list_dir", {}).is_error is False
    box.write("go", "")
    assert classes(g.turn(other, elsewhere["turn_id"])) == [None]


def test_what_waits_for_a_slot_never_runs(box):
    g = quiet(box)
    s = g.session()
    turn = g.message(s, *[("shell", waits_for(n)) for n in "abcd"], ("shell", {"command": "touch effect"}),
                     ("write_file", {"path": "effect", "content": ""}), wait=False)
    for name in "abcd":
        begun(box, name)
    assert places(g)["queued"] == 2
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    assert classes(g.turn(s, turn["turn_id"])) == ["cancelled"] * 6
    assert not box.exists("effect")
    queued = {turn["calls"][i]["tool_use_id"] for i in (4, 5)}
    told = [e["type"] for e in g.events(s) if e["payload"].get("tool_use_id") in queued]
    assert told == ["tool.failed", "tool.failed"]


def test_cancelling_twice_is_harmless(box):
    g = quiet(box)
    s = g.session()
    turn = g.start(s, "shell", {"command": "trap '' TERM; touch begun-a; sleep 600"})
    begun(box, "a")
    path, call = "/sessions/%s/turns/%s" % (s, turn["turn_id"]), "/calls/" + turn["calls"][0]["call_id"]
    for _ in range(3):
        for target in (path, call, "/sessions/" + s):
            assert g.request("POST", target + "/cancel", {})[0] == 202
    assert classes(g.turn(s, turn["turn_id"])) == ["cancelled"]
    g.refused(409, "turn_already_completed", "POST", path + "/cancel", {})
    g.refused(404, "call_not_found", "POST", call + "/cancel", {})
    assert g.ok("POST", "/sessions/%s/cancel" % s, {})["cancelled"] == 0
    assert g.types(s).count("tool.failed") == 1


def test_ending_a_session_cancels_what_runs_asks_and_waits(box):
    box.config("tool_confirmation:\n  per_tool: {shell: auto}\n")
    g = box.serve()
    s = g.session()
    results = []
    waiting = threading.Thread(target=lambda: results.append(g.request("POST", "/sessions/%s/turns" % s, {
        "content": [{"type": "tool_use", "name": "shell", "input": waits_for(n)} for n in "abcdefg"]
        + [{"type": "tool_use", "name": "write_file", "input": {"path": "effect", "content": ""}}]})))
    waiting.start()
    for name in "abcd":
        begun(box, name)
    g.question(s)
    assert g.ok("DELETE", "/sessions/" + s) == {"session_id": s, "ended": True}
    waiting.join()
    status, turn = results[0]
    assert status == 200 and classes(turn) == ["cancelled"] * 8, turn
    assert not box.exists("begun-e") and not box.exists("effect")
    assert g.ok("GET", "/confirmations")["confirmations"] == []
    g.refused(409, "session_already_ended", "POST", "/sessions/%s/turns" % s, {"name": "list_dir", "input": {}})
    g.refused(409, "session_already_ended", "DELETE", "/sessions/" + s)
    assert s not in [x["session_id"] for x in g.ok("GET", "/sessions")["sessions"]]
    assert g.types(s).count("tool.failed") == 8


def test_a_client_that_hangs_up_cancels_nothing(box):
    g = quiet(box)
    s = g.session()
    wire = http.client.HTTPConnection("127.0.0.1", g.port)
    wire.request("POST", "/sessions/%s/turns" % s, json.dumps({"name": "shell", "input": waits_for("a")}),
                 g.headers({"Content-Type": "application/json"}))
    begun(box, "a")
    wire.close()
    turn = next(e["turn_id"] for e in g.events(s) if e["type"] == "turn.started")
    box.write("go", "")
    assert g.turn(s, turn)["content"][0]["content"][0]["text"].endswith("\na\n")


def test_calls_that_ended_cannot_be_cancelled(box):
    g = quiet(box)
    s = g.session()
    turn = g.message(s, ("list_dir", {}))
    g.refused(409, "turn_already_completed", "POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    g.refused(404, "call_not_found", "POST", "/calls/%s/cancel" % turn["calls"][0]["call_id"], {})
    assert g.types(s) == ["tool.called", "tool.completed"]


# How many run at once

def check_cap(box, g, session, post, results):
    """Six calls, four slots: two wait, all end in the order asked."""
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(g.ok("POST", "/sessions/%s/turns" % session, post)))
    waiting.start()
    for name in "abcd":
        begun(box, name)
    until(lambda: places(g)["queued"] == 2, "two wait")
    assert places(g)["running"] == 4
    shown = g.ok("GET", "/sessions/" + session)
    assert (shown["running"], shown["queued"]) == (4, 2)
    assert not box.exists("begun-e") and not box.exists("begun-f")
    box.write("go", "")
    waiting.join()
    answer, = answers
    assert [text.splitlines()[-1] for text in results(answer)] == list("abcdef")
    called = [e["payload"]["tool_use_id"] for e in g.events(session, event_types="tool.called")]
    assert called == ["id-" + n for n in "abcdef"]
    return answer


def test_10_1_8_six_calls_run_four_at_a_time_anthropic(box):
    g = quiet(box)
    blocks = [{"type": "tool_use", "id": "id-" + n, "name": "shell", "input": waits_for(n)} for n in "abcdef"]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
               "stop_sequence": None, "usage": {"input_tokens": 1},
               "content": [{"type": "text", "text": "Let me see."}, {"type": "thinking", "thinking": "hm"}] + blocks}
    turn = check_cap(box, g, g.session(), message, lambda a: [b["content"][0]["text"] for b in a["content"]])
    assert [(b["type"], b["tool_use_id"], b["is_error"]) for b in turn["content"]] == [
        ("tool_result", "id-" + n, False) for n in "abcdef"]


def test_10_1_8_six_calls_run_four_at_a_time_openai(box):
    g = quiet(box)
    calls = [{"id": "id-" + n, "type": "function", "function": {"name": "shell", "arguments": json.dumps(waits_for(n))}}
             for n in "abcdef"]
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}
    turn = check_cap(box, g, g.session(), message, lambda a: [m["content"][0]["text"] for m in a["messages"]])
    assert [(m["role"], m["tool_call_id"]) for m in turn["messages"]] == [("tool", "id-" + n) for n in "abcdef"]
    assert "content" not in turn


def test_slots_of_one_session_are_not_those_of_another(box):
    g = quiet(box)
    s, other = g.session(), g.session()
    turn = g.message(s, *[("shell", waits_for(n)) for n in "abcd"], wait=False)
    for name in "abcd":
        begun(box, name)
    assert g.call(other, "shell", {"command": "echo free"}).text.endswith("free\n")
    box.write("go", "")
    g.turn(s, turn["turn_id"])


def test_a_call_that_asks_holds_no_slot(box):
    box.config("tool_confirmation:\n  per_tool: {shell: auto}\n")
    g = box.serve()
    s = g.session()
    turn = g.message(s, *[("write_file", {"path": "f%d" % i, "content": ""}) for i in range(6)],
                     ("shell", {"command": "touch ran"}), wait=False)
    until(lambda: box.exists("ran"), "the command runs although six ask")
    until(lambda: places(g)["asking"] == 6, "six ask")
    g.answer(g.question(s), "allow", scope="session")
    assert classes(g.turn(s, turn["turn_id"])) == [None] * 7


def test_the_same_id_twice_in_a_message_is_refused(box):
    g = quiet(box)
    s = g.session()
    message = g.refused(400, "invalid_content", "POST", "/sessions/%s/turns" % s, {"content": [
        {"type": "tool_use", "id": "same", "name": "write_file", "input": {"path": "a", "content": ""}}] * 2})
    assert "'same'" in message and not box.exists("a")
