"""Arguments that are nearly right: refused by default, repaired and reported where the configuration says so."""
import hashlib
import json

from test_mcp import INVALID_PARAMS, with_clients

ON = "builtin: {repair_arguments: true}\ntools: {defaults: {repeat_limit: 0}}\n"
WHOLE = {"path": "$", "rule": "parse_stringified_object"}
LIMIT = {"path": "$.limit", "rule": "str_to_integer"}
SECONDS = {"path": "$.timeout_seconds", "rule": "str_to_integer"}


def payloads(gateway, session, type):
    return [e["payload"] for e in gateway.events(session) if e["type"] == type]


def digest(input):
    return hashlib.sha256(json.dumps(input, sort_keys=True).encode()).hexdigest()


def test_nothing_is_repaired_unless_it_is_asked_for(box):
    box.write("a.txt", "one\ntwo\n")
    for text in (None, "builtin:\n", "builtin: {}\n", "builtin: {repair_arguments: false}\n"):
        if text:
            box.config(text)
        g = box.serve()
        s = g.session()
        for input in ({"path": "a.txt", "limit": "1"}, '{"path": "a.txt"}'):
            result = g.call(s, "read_file", input)
            assert result.is_error and result.error_class == "validation_error", result.text
            assert "provenance" not in result.outcome
        assert all("arg_repairs" not in p for p in payloads(g, s, "tool.input_invalid"))
        g.stop()


def test_a_repair_is_told_beside_the_result_which_keeps_its_shape(box):
    box.config(ON)
    box.write("a.txt", "one\ntwo\n")
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", {"path": "a.txt", "limit": " 1 "})
    assert not result.is_error and result.text.startswith("one\n") and "two" not in result.text, result.text
    assert result.outcome["provenance"] == {"arg_repairs": [LIMIT]}
    # Providers refuse members they do not know; the block goes to them as it is.
    assert set(result.block) == {"type", "tool_use_id", "content", "is_error"}
    again = g.ok("GET", "/sessions/%s/turns/%s" % (s, result.turn["turn_id"]))
    assert again["calls"][0]["provenance"] == {"arg_repairs": [LIMIT]}

    whole = g.call(s, "read_file", '\ufeff {"path": "a.txt", "limit": "1"}\n')
    assert not whole.is_error and whole.outcome["provenance"] == {"arg_repairs": [WHOLE, LIMIT]}
    plain = g.call(s, "read_file", {"path": "a.txt", "limit": 1})
    assert not plain.is_error and "provenance" not in plain.outcome

    called = payloads(g, s, "tool.called")
    assert [p.get("arg_repairs") for p in called] == [[LIMIT], [WHOLE, LIMIT], None]
    # One input for all of them: the repaired one.
    assert [p["input_hash"] for p in called] == [digest({"path": "a.txt", "limit": 1})] * 3
    rows = g.ok("GET", "/sessions/%s/calls" % s)["calls"]
    assert [r["input"] for r in rows] == [{"path": "a.txt", "limit": 1}] * 3, rows
    assert [r["input_hash"] for r in rows] == [digest({"path": "a.txt", "limit": 1})] * 3, rows


def test_5_the_digest_in_the_journal_is_of_the_whole_input(box):
    """It is not kept where the row's input tells it; of an input that is cut it is."""
    box.config("tool_confirmation: {default: {WRITE: auto}}")
    g = box.serve()
    s = g.session()
    inputs = [{"path": "\u00e4\U0001f600.txt", "content": "1.50 \\ \"\n"}, {"path": "long.txt", "content": "x" * 70000},
              {"path": "long.txt"}]
    for given in inputs:
        g.call(s, "write_file", given)
    rows = g.ok("GET", "/sessions/%s/calls" % s)["calls"]
    called = payloads(g, s, "tool.called")
    assert [r["input_hash"] for r in rows] == [digest(inputs[0]), digest(inputs[1]), None], rows
    assert [p["input_hash"] for p in called] == [digest(inputs[0]), digest(inputs[1])]
    assert rows[0]["input"] == inputs[0] and rows[1]["input"]["truncated"] is True


def test_openai_messages_are_repaired_too(box):
    box.config(ON)
    box.write("a.txt", "one\ntwo\n")
    g = box.serve()
    s = g.session()
    arguments = json.dumps({"path": "a.txt", "limit": "1"})
    calls = [{"id": "c%d" % i, "type": "function", "function": {"name": "read_file", "arguments": text}}
             for i, text in enumerate((arguments, json.dumps(arguments)))]
    turn = g.ok("POST", "/sessions/%s/turns" % s, {"role": "assistant", "content": None, "tool_calls": calls})
    assert [c["provenance"]["arg_repairs"] for c in turn["calls"]] == [[LIMIT], [WHOLE, LIMIT]]
    assert all(set(m) == {"role", "tool_call_id", "content"} for m in turn["messages"])


def test_the_person_is_asked_about_what_will_run(box):
    box.config(ON)
    g = box.serve()
    s = g.session()
    turn = g.start(s, "shell", json.dumps({"command": "echo hello", "timeout_seconds": "5"}))
    question = g.question(s)
    assert question["input"] == {"command": "echo hello", "timeout_seconds": 5}
    assert question["command"] == "echo hello"
    assert g.answer(question, "allow")[0] == 200
    outcome = g.turn(s, turn["turn_id"])["calls"][0]
    assert not outcome["is_error"] and outcome["provenance"] == {"arg_repairs": [WHOLE, SECONDS]}


def test_what_is_still_wrong_is_told_about_the_repaired_input(box):
    box.config(ON)
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", {"path": "a.txt", "limit": "0"})
    assert result.error_class == "validation_error" and result.text == "/limit: must be at least 1, got 0", result.text
    assert result.outcome["provenance"] == {"arg_repairs": [LIMIT]}
    (told,) = payloads(g, s, "tool.input_invalid")
    assert told["validation_errors"] == ["limit: 0 is less than the minimum of 1"] and told["arg_repairs"] == [LIMIT]

    for wrong in ("1.0", "+1", "ten", ""):
        result = g.call(s, "read_file", {"path": "a.txt", "limit": wrong})
        assert result.text == '/limit: must be an integer, got "%s"' % wrong, (wrong, result.text)
        assert "provenance" not in result.outcome
    # A text is a text, whatever it looks like.
    box.write("42", "a number for a name")
    assert g.call(s, "read_file", {"path": "42"}).text.startswith("a number for a name")
    assert g.call(s, "read_file", 'path: "a.txt"').error_class == "validation_error"


def test_a_path_that_came_in_a_string_is_confined_like_any_other(box):
    box.config(ON)
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", json.dumps({"path": "../../etc/passwd"}))
    assert result.error_class == "permission_denied" and result.outcome["provenance"] == {"arg_repairs": [WHOLE]}


@with_clients
def test_mcp_tells_of_repairs_in_meta(box, client):
    box.config(ON)
    box.write("a.txt", "one\ntwo\n")
    box.serve()
    c = client()
    c.initialize()
    for arguments, repairs in (({"path": "a.txt", "limit": "1"}, [LIMIT]), ('{"path": "a.txt", "limit": 1}', [WHOLE])):
        result = c.call("read_file", arguments)["result"]
        assert not result["isError"] and result["_meta"] == {"holdfast/provenance": {"arg_repairs": repairs}}, result
    assert "_meta" not in c.call("read_file", {"path": "a.txt"})["result"]
    assert c.call("read_file", "no object")["result"]["isError"]
    assert c.call("read_file", ["a.txt"])["error"]["code"] == INVALID_PARAMS
    assert c.call("no_such_tool", "{}")["error"]["code"] == INVALID_PARAMS


@with_clients
def test_mcp_takes_no_string_for_arguments_by_default(box, client):
    box.serve()
    c = client()
    c.initialize()
    assert c.call("read_file", '{"path": "a.txt"}')["error"]["code"] == INVALID_PARAMS


def test_a_wrong_setting_is_named_with_its_line(box):
    for text, line, said in (
            ("builtin: yes please\n", 1, "builtin: must be a mapping"),
            ("builtin:\n  repair_arguments: maybe\n", 2, "builtin.repair_arguments: must be true or false"),
            ("builtin:\n  repair_arguments: 1\n", 2, "builtin.repair_arguments: must be true or false"),
            ("builtin:\n\n  repair: true\n", 3, "builtin.repair: there is no such key")):
        box.config(text)
        ended = box.run("serve", "--listen", "127.0.0.1:0", limit=20)
        assert ended.returncode == 3 and "line %d: %s" % (line, said) in ended.stderr, (text, ended.stderr)
