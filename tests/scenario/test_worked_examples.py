"""The worked examples of the dispatcher document (seed 000 section 9), over REST, event by event."""
import datetime
import hashlib
import json
import os
import re

from lib import Skip, testdata, until

ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def is_str(v):
    return isinstance(v, str)


def is_int(v):
    return isinstance(v, int) and not isinstance(v, bool) and v >= 0


def is_bool(v):
    return isinstance(v, bool)


def is_sha256(v):
    return is_str(v) and re.fullmatch("[0-9a-f]{64}", v)


def is_ulid(v):
    return is_str(v) and ULID.fullmatch(v)


def is_time(v):
    return is_str(v) and datetime.datetime.fromisoformat(v.replace("Z", "+00:00")).utcoffset() == datetime.timedelta(0)


def is_summary(v):
    return is_str(v) and len(v) <= 200


def is_texts(v):
    return isinstance(v, list) and all(is_str(i) for i in v)


def or_null(check):
    return lambda v: v is None or check(v)


def one_of(*values):
    return lambda v: v in values


ERROR_CLASSES = ("timeout", "permission_denied", "not_found", "validation_error", "execution_error", "cancelled",
                 "user_denied", "confirmation_timeout")

# type: actors, sensitivity, payload
EVENTS = {
    "tool.called": (("agent",), "private", {
        "tool_use_id": is_str, "tool_name": is_str, "input_hash": is_sha256, "input_size_bytes": is_int,
        "side_effects": one_of("none", "read", "write", "execute", "network")}),
    "tool.completed": (("tool",), "private", {
        "tool_use_id": is_str, "success": is_bool, "output_size_bytes": is_int, "latency_ms": is_int,
        "files_modified": or_null(is_texts), "command_executed": or_null(is_str)}),
    "tool.failed": (("tool",), "private", {
        "tool_use_id": is_str, "error_class": one_of(*ERROR_CLASSES), "error_message": is_str, "latency_ms": is_int}),
    "tool.input_invalid": (("system",), "pseudonymous", {
        "tool_name": is_str, "validation_errors": is_texts}),
    "tool.confirmation_requested": (("system",), "private", {
        "tool_use_id": is_str, "tool_name": is_str, "side_effects": one_of("write", "execute", "network"),
        "confirmation_request_id": is_ulid, "input_summary": is_summary,
        "projected_modifications": or_null(is_texts), "command_summary": or_null(is_str), "expires_at": is_time}),
    "tool.confirmation_resolved": (("user", "system"), "private", {
        "tool_use_id": is_str, "confirmation_request_id": is_ulid, "decision": one_of("allow", "deny", "timeout"),
        "scope": one_of("once", "session", "prefix", "workspace", "workspace_prefix", None),
        "responding_client_attach_token": or_null(is_str)}),
}

ORDERS = {
    "happy": ["tool.called", "tool.completed"],
    "not_found": ["tool.failed"],
    "schema_invalid": ["tool.input_invalid"],
    "workspace_escape": ["tool.failed"],
    "policy_deny": ["tool.failed"],
    "prompt_allow": ["tool.confirmation_requested", "tool.confirmation_resolved", "tool.called", "tool.completed"],
    "prompt_deny": ["tool.confirmation_requested", "tool.confirmation_resolved", "tool.failed"],
    "cancel_running": ["tool.called", "tool.failed", "turn.cancelled"],
    "cancel_pending": ["tool.failed", "turn.cancelled"],
}

ENVELOPE = {"id", "timestamp", "session_id", "turn_id", "parent_event_id", "type", "actor", "payload", "sensitivity"}

ASK_NOTHING = "tool_confirmation:\n  default: {WRITE: auto, EXECUTE: auto}\n"


def check_event(event):
    """The envelope and the payload of one event, by the tables above."""
    assert set(event) == ENVELOPE, event
    assert is_ulid(event["id"]) and is_time(event["timestamp"]) and is_str(event["session_id"]), event
    if event["type"] not in EVENTS:
        return
    actors, sensitivity, payload = EVENTS[event["type"]]
    assert event["actor"] in actors and event["sensitivity"] == sensitivity, event
    for field, check in payload.items():
        assert field in event["payload"], (field, event)
        assert check(event["payload"][field]), (field, event)


def happened(g, session, order):
    """The session's events of tools (and of cancelled turns) are these, well formed; gives them by type."""
    events = g.events(session)
    for event in events:
        check_event(event)
    told = [e for e in events if e["type"].startswith("tool.") or e["type"] == "turn.cancelled"]
    assert [e["type"] for e in told] == order, [e["type"] for e in told]
    assert [e["id"] for e in events] == sorted(e["id"] for e in events)
    return {e["type"]: e for e in events}


def call(g, session, id, name, input, **more):
    return g.ok("POST", "/sessions/%s/turns" % session,
                {"content": [{"type": "tool_use", "id": id, "name": name, "input": input}], **more})


def test_9_1_a_file_is_read(box):
    box.write("README.md", "# Project Foo\nhello\n")
    g = box.serve()
    s = g.session()
    turn = call(g, s, "tu_01HZ_a", "read_file", {"path": "README.md"})
    assert turn["content"] == [{"type": "tool_result", "tool_use_id": "tu_01HZ_a",
                                "content": [{"type": "text", "text": "# Project Foo\nhello\n"}], "is_error": False}]
    told = happened(g, s, ORDERS["happy"])
    called = told["tool.called"]["payload"]
    assert called["tool_use_id"] == "tu_01HZ_a" and called["tool_name"] == "read_file"
    assert called["side_effects"] == "read"
    text = json.dumps({"path": "README.md"}, sort_keys=True)
    assert called["input_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert called["input_size_bytes"] == len(text)
    assert told["tool.called"]["parent_event_id"] == told["turn.started"]["id"]
    assert told["tool.completed"]["parent_event_id"] == told["tool.called"]["id"]
    assert told["tool.completed"]["payload"]["success"] is True
    assert told["tool.completed"]["payload"]["files_modified"] is None


def test_9_2_a_path_that_escapes_is_refused(box):
    g = box.serve()
    s = g.session()
    turn = call(g, s, "tu_01HZ_b", "read_file", {"path": "../../etc/passwd"})
    assert turn["content"][0]["is_error"] is True
    assert turn["content"][0]["content"] == [
        {"type": "text", "text": "Path '../../etc/passwd' escapes workspace boundary"}]
    told = happened(g, s, ORDERS["workspace_escape"])
    failed = told["tool.failed"]
    assert failed["payload"]["error_class"] == "permission_denied"
    assert failed["payload"]["tool_use_id"] == "tu_01HZ_b"
    assert failed["parent_event_id"] == told["turn.started"]["id"]


def test_9_3_a_write_is_denied_by_the_person(box):
    g = box.serve()
    s = g.session()
    turn = call(g, s, "tu_01HZ_c", "write_file", {"path": "src/auth.ts", "content": "..."}, wait=False)
    assert g.answer(g.question(s), "deny")[0] == 200
    turn = g.turn(s, turn["turn_id"])
    assert turn["content"] == [{"type": "tool_result", "tool_use_id": "tu_01HZ_c", "is_error": True,
                                "content": [{"type": "text", "text": "User denied this operation."}]}]
    told = happened(g, s, ORDERS["prompt_deny"])
    requested, resolved = told["tool.confirmation_requested"], told["tool.confirmation_resolved"]
    assert requested["payload"]["projected_modifications"] == ["src/auth.ts"]
    assert requested["payload"]["side_effects"] == "write"
    assert resolved["payload"]["decision"] == "deny" and resolved["actor"] == "user"
    assert resolved["parent_event_id"] == requested["id"]
    assert told["tool.failed"]["payload"]["error_class"] == "user_denied"
    assert not box.exists("src")


def test_9_3_a_write_is_allowed_by_the_person(box):
    g = box.serve()
    s = g.session()
    turn = call(g, s, "tu_01HZ_c", "write_file", {"path": "src/auth.ts", "content": "..."}, wait=False)
    g.answer(g.question(s), "allow")
    turn = g.turn(s, turn["turn_id"])
    assert turn["content"][0]["content"] == [{"type": "text", "text": "Wrote 3 bytes to src/auth.ts"}]
    told = happened(g, s, ORDERS["prompt_allow"])
    assert told["tool.completed"]["payload"]["files_modified"] == ["src/auth.ts"]
    assert turn["calls"][0]["files_modified"] == ["src/auth.ts"]
    assert box.read("src/auth.ts") == "..."


def test_9_4_a_command_is_cancelled_while_it_runs(box):
    """It ignores SIGTERM, so that SIGKILL must follow."""
    box.config(ASK_NOTHING)
    g = box.serve()
    s = g.session()
    command = "trap '' TERM; echo begun; touch begun; while :; do sleep 1; done"
    turn = call(g, s, "tu_01HZ_d", "shell", {"command": command}, wait=False)
    until(lambda: box.exists("begun"), "the command runs")
    answer = g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {"reason": "user_cancel"})
    assert answer == {"turn_id": turn["turn_id"], "cancellation_initiated": True}
    turn = g.turn(s, turn["turn_id"])
    assert turn["state"] == "cancelled"
    assert turn["content"][0]["is_error"] is True
    assert "begun\n" in turn["content"][0]["content"][1]["text"]
    told = happened(g, s, ORDERS["cancel_running"])
    failed = told["tool.failed"]
    assert failed["payload"]["error_class"] == "cancelled"
    assert failed["parent_event_id"] == told["tool.called"]["id"]
    assert "begun\n" in json.dumps(failed["payload"]["partial_output"]).replace("\\n", "\n")
    assert told["tool.called"]["payload"]["side_effects"] == "execute"
    assert told["turn.cancelled"]["payload"]["reason"] == "user_cancel"


def test_9_4_a_call_is_cancelled_before_it_runs(box):
    g = box.serve()
    s = g.session()
    turn = call(g, s, "tu_01HZ_d", "shell", {"command": "touch effect"}, wait=False)
    g.question(s)
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"
    happened(g, s, ["tool.confirmation_requested"] + ORDERS["cancel_pending"])
    assert not box.exists("effect")


def test_9_5_three_reads_in_one_message(box):
    names = {"tu_01HZ_e": "a.txt", "tu_01HZ_f": "b.txt", "tu_01HZ_g": "c.txt"}
    for name in names.values():
        box.write(name, "content of " + name)
    g = box.serve()
    s = g.session()
    turn = g.message(s, *(("read_file", {"path": name}, id) for id, name in names.items()))
    assert [b["tool_use_id"] for b in turn["content"]] == list(names)
    assert [b["content"][0]["text"] for b in turn["content"]] == ["content of " + n for n in names.values()]
    events = [e for e in g.events(s) if e["type"].startswith("tool.")]
    for event in events:
        check_event(event)
    for id in names:
        own = [e for e in events if e["payload"]["tool_use_id"] == id]
        assert [e["type"] for e in own] == ORDERS["happy"], own
        assert own[1]["parent_event_id"] == own[0]["id"]
    assert len(events) == 6


def test_an_unknown_tool_fails(box):
    g = box.serve()
    s = g.session()
    call(g, s, "tu_x", "reed_file", {})
    told = happened(g, s, ORDERS["not_found"])
    assert told["tool.failed"]["payload"]["error_class"] == "not_found"


def test_an_input_that_does_not_fit_is_told_field_by_field(box):
    g = box.serve()
    s = g.session()
    turn = call(g, s, "tu_x", "read_file", {"path": 7, "offset": 0})
    assert turn["content"][0]["is_error"] is True
    told = happened(g, s, ORDERS["schema_invalid"])
    errors = told["tool.input_invalid"]["payload"]["validation_errors"]
    assert sorted(e.partition(":")[0] for e in errors) == ["offset", "path"], errors
    assert turn["calls"][0]["error_class"] == "validation_error"


def test_a_tool_the_policy_denies_fails_without_a_question(box):
    box.config("tool_confirmation:\n  per_tool: {shell: deny}\n")
    g = box.serve()
    s = g.session()
    call(g, s, "tu_x", "shell", {"command": "touch effect"})
    told = happened(g, s, ORDERS["policy_deny"])
    assert told["tool.failed"]["payload"]["error_class"] == "user_denied"
    assert not box.exists("effect")


def test_10_1_14_the_event_names_the_declared_side_effect(box):
    box.config(ASK_NOTHING)
    box.write("a.txt", "one")
    g = box.serve()
    declared = {t["name"]: t["side_effects"] for t in g.ok("GET", "/tools")["tools"]}
    inputs = {"read_file": {"path": "a.txt"}, "list_dir": {}, "shell": {"command": "true"},
              "patch_file": {"path": "a.txt", "old": "one", "new": "two"},
              "write_file": {"path": "b.txt", "content": ""}}
    assert declared == {"read_file": "read", "list_dir": "read", "write_file": "write", "patch_file": "write",
                        "shell": "execute", "tool_view": "read"}
    for name, input in inputs.items():
        s = g.session()
        call(g, s, "tu_x", name, input)
        assert happened(g, s, ORDERS["happy"])["tool.called"]["payload"]["side_effects"] == declared[name]


def test_the_tables_here_are_those_of_the_catalogue(box):
    if not testdata():
        raise Skip("the test data is not there")
    with open(os.path.join(testdata(), "vectors", "metis_catalog.json")) as file:
        catalogue = json.load(file)
    assert set(EVENTS) == set(catalogue["tool_events"])
    for type, (actors, sensitivity, payload) in EVENTS.items():
        theirs = catalogue["tool_events"][type]
        assert set(payload) == set(theirs["payload"]), type
        assert sensitivity == theirs["sensitivity"] and theirs["actor"].startswith(actors[0]), type
    assert set(ERROR_CLASSES) == set(catalogue["tool_events"]["tool.failed"]["payload"]["error_class"])
    assert set(catalogue["envelope"]) == ENVELOPE
    assert ORDERS == {k: [e.split()[0] for e in v] for k, v in catalogue["event_order"].items()}
