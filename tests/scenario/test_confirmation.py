"""A person is asked: what the question shows, who may answer, and what is remembered of it."""
import json
import os
import threading

from lib import until

# Open: that a command could not reach the door, or our program, is not what is shown here.
SHELL_ONLY_AUTO = "tool_confirmation:\n  per_tool: {shell: auto}\nconfinement: {shell: open}\n"


def write(g, session, name="a.txt", content="new\n", **more):
    return g.start(session, "write_file", {"path": name, "content": content}, **more)


def asks(g, session, tool, input):
    """Does this call ask? If so it is denied, and nothing is remembered of that."""
    turn = g.start(session, tool, input)

    def outcome():
        asked = g.ok("GET", "/confirmations?session=" + session)["confirmations"]
        mine = [q for q in asked if q["turn_id"] == turn["turn_id"]]
        state = g.ok("GET", "/sessions/%s/turns/%s" % (session, turn["turn_id"]))["state"]
        return mine or state != "open"
    found = until(outcome, "the call asks, or ends")
    if found is True:
        return False
    assert g.answer(found[0], "deny")[0] == 200
    g.turn(session, turn["turn_id"])
    return True


def asks_for_command(g, session, command):
    return asks(g, session, "shell", {"command": command})


def allow(g, session, tool, input, **more):
    """A call whose question is allowed."""
    turn = g.start(session, tool, input)
    status, answer = g.answer(g.question(session), "allow", **more)
    assert status == 200 and answer["applied"] is True, (status, answer)
    turn = g.turn(session, turn["turn_id"])
    assert turn["calls"][0]["is_error"] is False, turn
    return answer


def resolved(g, session):
    return [e for e in g.events(session) if e["type"] == "tool.confirmation_resolved"]


# What is shown

def test_2_the_event_carries_the_id_that_answers(box):
    """The origin's events carried an id of their own, which the door did not know."""
    g = box.serve()
    s = g.session()
    stream = g.stream("/sessions/%s/events" % s)
    turn = write(g, s)
    event = stream.next_of("tool.confirmation_requested")
    stream.close()
    id = event["payload"]["confirmation_request_id"]
    assert [q["confirmation_request_id"] for q in g.ok("GET", "/confirmations")["confirmations"]] == [id]
    answer = g.ok("POST", "/sessions/%s/turns/%s/confirmations/%s" % (s, event["turn_id"], id), {"decision": "allow"})
    assert answer == {"request_id": id, "decision": "allow", "scope": "once", "applied": True}
    g.turn(s, turn["turn_id"])
    assert box.read("a.txt") == "new\n"
    assert resolved(g, s)[0]["payload"]["confirmation_request_id"] == id


def test_a_write_is_shown_as_a_diff_before_it_happens(box):
    box.write("a.txt", "one\ntwo\nthree\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s, content="one\n2\nthree\n")
    question = g.question(s)
    diff = question["diff"].splitlines()
    assert "-two" in diff and "+2" in diff and " one" in diff, diff
    assert question["projected_modifications"] == ["a.txt"]
    assert question["input"] == {"path": "a.txt", "content": "one\n2\nthree\n"}
    assert question["rule"] == "default.WRITE"
    assert question["workspace_path"] == box.workspace
    assert box.read("a.txt") == "one\ntwo\nthree\n"
    event = g.events(s, event_types="tool.confirmation_requested")[0]
    assert event["payload"]["diff"] == question["diff"]
    g.answer(question, "allow")
    g.turn(s, turn["turn_id"])
    assert box.read("a.txt") == "one\n2\nthree\n"


def test_a_patch_is_shown_as_a_diff(box):
    box.write("a.txt", "one\ntwo\nthree\n")
    g = box.serve()
    s = g.session()
    g.start(s, "patch_file", {"path": "a.txt", "old": "two", "new": "2"})
    diff = g.question(s)["diff"].splitlines()
    assert "-two" in diff and "+2" in diff, diff


def test_a_command_is_shown_whole(box):
    g = box.serve()
    s = g.session()
    command = "true " + "x" * 5000 + "; touch the-end"
    g.start(s, "shell", {"command": command})
    question = g.question(s)
    assert question["command"] == command
    assert len(question["input_summary"]) <= 200
    payload = g.events(s, event_types="tool.confirmation_requested")[0]["payload"]
    assert payload["command_summary"] == command and payload["diff"] is None
    assert payload["side_effects"] == "execute" and payload["projected_modifications"] is None


def test_2_a_file_that_is_no_text_hides_nothing_of_what_replaces_it(box):
    box.write("run.sh", b"\x7fELF\xff\xfe")
    g = box.serve()
    s = g.session()
    write(g, s, "run.sh", "#!/bin/sh\necho new\n")
    question = g.question(s)
    lines = question["diff"].splitlines()
    assert "not text" in lines[0] and lines[-2:] == ["+#!/bin/sh", "+echo new"], lines
    assert question["diff_cut"] is False and question["projected_modifications"] == ["run.sh"]


def test_2_a_diff_that_is_cut_says_so(box):
    g = box.serve()
    s = g.session()
    write(g, s, "long", "A" * 300000 + "\nthe end\n")
    question = g.question(s)
    assert question["diff_cut"] is True and len(question["diff"]) <= 256 * 1024
    assert "+" + "A" * 100000 in question["diff"] and question["diff"].endswith("not shown]\n+the end\n")
    assert question["input"]["content"] == "A" * 300000 + "\nthe end\n"


def test_2_the_path_shown_is_the_one_that_is_written(box):
    os.makedirs(os.path.join(box.workspace, "sub", "deep"))
    os.symlink("sub/deep", os.path.join(box.workspace, "link"))
    box.write("x", "of the root\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s, "link/../x")
    question = g.question(s)
    assert question["projected_modifications"] == ["sub/x"], question
    assert question["diff"].startswith("--- /dev/null\n+++ b/sub/x\n"), question
    g.answer(question, "allow")
    g.turn(s, turn["turn_id"])
    assert box.read("sub/x") == "new\n" and box.read("x") == "of the root\n"
    assert g.events(s, event_types="tool.completed")[0]["payload"]["files_modified"] == ["sub/x"]


def test_2_a_large_question_keeps_its_id_in_the_event(box):
    """Control characters are six bytes each in JSON: the event was cut to {"truncated": true}."""
    g = box.serve()
    s = g.session()
    turns = [write(g, s, content=("\x01" * 79 + "\n") * 3000), g.start(s, "shell", {"command": ": " + "é\x02" * 40000})]
    asked = until(lambda: (lambda all: all if len(all) == 2 else None)(
        g.events(s, event_types="tool.confirmation_requested")), "both questions are asked")
    for event in asked:
        payload, question = event["payload"], g.ok("GET", "/confirmations/" + event["payload"]["confirmation_request_id"])
        assert payload["rule"] == question["rule"] and payload["expires_at"] == question["expires_at"]
        assert payload["diff_cut"] is (payload["tool_name"] == "write_file")
        assert payload["command_cut"] is (payload["tool_name"] == "shell")
        for part, whole in ((payload["diff"], question["diff"]), (payload["command_summary"], question["command"])):
            if whole is not None:
                assert whole.startswith(part) and 16000 < len(part.encode()) <= 32 * 1024 < len(whole.encode())
        assert g.answer(question, "deny")[0] == 200
    for turn in turns:
        g.turn(s, turn["turn_id"])


def test_what_cannot_run_is_never_asked_about(box):
    box.write("a.txt", "one\n")
    g = box.serve()
    s = g.session()
    assert g.call(s, "write_file", {"path": "a.txt"}).error_class == "validation_error"
    assert g.call(s, "write_file", {"path": "../a.txt", "content": ""}).error_class == "permission_denied"
    assert g.call(s, "patch_file",
                  {"path": "a.txt", "old": "two", "new": "2"}).text == "patch source not found in 'a.txt'"
    assert "tool.confirmation_requested" not in g.types(s)


# Answers

def test_a_denied_call_has_no_effect(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    g.answer(g.question(s), "deny")
    turn = g.turn(s, turn["turn_id"])
    assert turn["calls"][0]["error_class"] == "user_denied"
    assert turn["content"][0]["content"][0]["text"] == "User denied this operation."
    assert not box.exists("a.txt")


def test_one_of_fifty_racing_answers_wins(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    question = g.question(s)
    answers = []
    together = threading.Barrier(50)

    def answer(number):
        together.wait()
        decision = "allow" if number % 2 else "deny"
        answers.append((decision, *g.answer(question, decision, by="client %d" % number)))
    clients = [threading.Thread(target=answer, args=(i,)) for i in range(50)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    won = [a for a in answers if a[1] == 200]
    lost = [a for a in answers if a[1] == 409]
    assert len(won) == 1 and len(lost) == 49, [a[1] for a in answers]
    decision = won[0][0]
    for _, _, body in lost:
        assert body["error"]["code"] == "confirmation_already_resolved"
        assert body["error"]["details"]["decision"] == decision
    outcome = g.turn(s, turn["turn_id"])["calls"][0]
    assert outcome["is_error"] is (decision == "deny")
    assert box.exists("a.txt") is (decision == "allow")
    assert [e["payload"]["decision"] for e in resolved(g, s)] == [decision]


def test_answers_to_nothing_are_not_found(box):
    g = box.serve()
    s, other = g.session(), g.session()
    turn, elsewhere = write(g, s), write(g, other, "b.txt")
    question = g.question(s)
    id = question["confirmation_request_id"]
    yes = {"decision": "allow"}
    for path in (
            "/sessions/%s/turns/%s/confirmations/01ARZ3NDEKTSV4RRFFQ69G5FAV" % (s, turn["turn_id"]),
            "/sessions/%s/turns/%s/confirmations/%s" % (other, turn["turn_id"], id),
            "/sessions/%s/turns/%s/confirmations/%s" % (s, elsewhere["turn_id"], id),
            "/sessions/%s/turns/%s/confirmations/%s" % (other, elsewhere["turn_id"], id),
            "/sessions/nobody/turns/%s/confirmations/%s" % (turn["turn_id"], id),
            "/confirmations/01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        g.refused(404, "confirmation_not_found", "POST", path, yes)
    assert len(g.ok("GET", "/confirmations")["confirmations"]) == 2
    assert not box.exists("a.txt") and not box.exists("b.txt")


def test_an_answer_that_cannot_be_understood_leaves_the_question_open(box):
    g = box.serve()
    s = g.session()
    write(g, s)
    question = g.question(s)
    path = "/confirmations/" + question["confirmation_request_id"]
    for body, names in (
            ({}, "decision"), ({"decision": "yes"}, "decision"), ({"decision": True}, "decision"),
            ({"decision": "allow", "scope": "forever"}, "scope"), ({"decision": "allow", "scop": "once"}, "scop"),
            ({"decision": "allow", "by": ""}, "by"), ({"decision": "allow", "by": "a\nb"}, "by")):
        assert g.refused(400, "invalid_content", "POST", path, body).startswith(names + ":"), body
    assert g.refused(400, "validation_error", "POST", path, {"decision": "allow", "scope": "prefix"})
    assert g.question(s)["confirmation_request_id"] == question["confirmation_request_id"]
    assert not box.exists("a.txt")


def test_the_end_of_an_id_is_enough_when_it_is_unambiguous(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    id = g.question(s)["confirmation_request_id"]
    assert g.ok("POST", "/confirmations/" + id[-6:].lower(), {"decision": "allow"})["request_id"] == id
    assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False


def test_no_answer_in_time_is_no(box):
    box.config("tool_confirmation:\n  confirmation_timeout_seconds: 1\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    question = g.question(s)
    outcome = g.turn(s, turn["turn_id"])
    assert outcome["calls"][0]["error_class"] == "confirmation_timeout"
    assert outcome["content"][0]["content"][0]["text"] == "nobody answered within 1 second"
    assert g.types(s) == ["tool.confirmation_requested", "tool.confirmation_resolved", "tool.failed"]
    event = resolved(g, s)[0]
    assert event["payload"]["decision"] == "timeout" and event["payload"]["scope"] is None
    assert event["actor"] == "system"
    status, late = g.answer(question, "allow")
    assert status == 409 and late["error"]["details"] == {"decision": "timeout"}, (status, late)
    assert not box.exists("a.txt")


def test_a_question_is_withdrawn_when_its_call_is_cancelled(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    question = g.question(s)
    g.ok("POST", "/calls/%s/cancel" % turn["calls"][0]["call_id"], {})
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"
    assert g.ok("GET", "/confirmations")["confirmations"] == []
    status, late = g.answer(question, "allow")
    assert status == 409 and late["error"]["details"] == {"decision": "withdrawn"}, (status, late)
    g.refused(404, "confirmation_not_found", "GET", "/confirmations/" + question["confirmation_request_id"])
    assert not box.exists("a.txt")


def test_nobody_can_be_asked_unless_somebody_watches(box):
    g = box.serve()
    s = g.session()
    refused = g.call(s, "write_file", {"path": "a.txt", "content": ""}, attended=False)
    assert refused.is_error and "nobody can be asked" in refused.text
    assert "tool.confirmation_requested" not in g.types(s)
    watching = g.stream("/events?watch=1")
    turn = write(g, s, attended=False)
    g.answer(g.question(s), "allow")
    assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False
    watching.close()


# What is remembered

def test_once_is_not_remembered(box):
    g = box.serve()
    s = g.session()
    allow(g, s, "write_file", {"path": "a.txt", "content": ""})
    assert asks(g, s, "write_file", {"path": "a.txt", "content": "x"})
    assert g.ok("GET", "/grants")["grants"] == []


def test_a_yes_for_the_session_is_for_that_tool_and_that_session(box):
    g = box.serve()
    s = g.session()
    allow(g, s, "write_file", {"path": "a.txt", "content": "one"}, scope="session")
    assert not asks(g, s, "write_file", {"path": "b.txt", "content": "two"})
    assert asks(g, s, "patch_file", {"path": "b.txt", "old": "two", "new": "2"})
    assert asks_for_command(g, s, "true")
    assert asks(g, g.session(), "write_file", {"path": "b.txt", "content": ""})
    assert g.ok("DELETE", "/sessions/" + s)["ended"] is True
    assert g.ok("GET", "/grants")["grants"] == []


def test_a_yes_for_the_workspace_is_for_that_tool_and_that_directory(box):
    box.write("sub/x", "")
    g = box.serve()
    s = g.session()
    allow(g, s, "write_file", {"path": "a.txt", "content": ""}, scope="workspace")
    assert not asks(g, g.session(), "write_file", {"path": "b.txt", "content": ""})
    assert asks_for_command(g, s, "true")
    for other in (box.make_dir("other"), os.path.join(box.workspace, "sub"), box.dir):
        assert asks(g, g.session(other), "write_file", {"path": "b.txt", "content": ""}), other
    link = os.path.join(box.dir, "link")
    os.symlink(box.workspace, link)
    assert not asks(g, g.session(link), "write_file", {"path": "b.txt", "content": ""})


def test_what_is_remembered_can_be_revoked(box):
    g = box.serve()
    s = g.session()
    allow(g, s, "write_file", {"path": "a.txt", "content": ""}, scope="workspace", by="me")
    grant, = g.ok("GET", "/grants")["grants"]
    assert (grant["tool_name"], grant["decision"], grant["scope"], grant["by"]) == ("write_file", "allow", "workspace",
                                                                                    "me")
    assert grant["workspace_path"] == box.workspace
    g.ok("DELETE", "/grants/" + grant["id"])
    g.refused(404, "grant_not_found", "DELETE", "/grants/" + grant["id"])
    assert asks(g, s, "write_file", {"path": "a.txt", "content": "x"})


def test_a_yes_for_a_prefix_is_for_plain_commands_that_go_on(box):
    g = box.serve()
    s = g.session()
    allow(g, s, "shell", {"command": "echo one"}, scope="prefix")
    assert not asks_for_command(g, s, "echo two three")
    assert not asks_for_command(g, s, "echo")
    assert asks_for_command(g, s, "echoo two")
    assert asks_for_command(g, s, "touch effect")
    assert asks_for_command(g, g.session(), "echo two")


def test_a_prefix_never_covers_what_a_shell_gives_a_meaning(box):
    g = box.serve()
    s = g.session()
    allow(g, s, "shell", {"command": "echo one"}, scope="prefix")
    for rest in (";touch effect", " && touch effect", " | touch effect", "& touch effect", " $(touch effect)",
                 " `touch effect`", " > effect", " < effect", "\ntouch effect", " ${IFS}", " 'x'", ' "x"', " *", " ~",
                 " \\", " #", " a=b", " {a,b}", " x\ttouch", "\r", " (x)", " !x", " ?", " [x]", " \u00a0x"):
        assert asks_for_command(g, s, "echo" + rest), rest
    assert not box.exists("effect")


def test_a_prefix_may_be_chosen_but_must_fit_and_be_safe(box):
    g = box.serve()
    s = g.session()
    turn = g.start(s, "shell", {"command": "echo one two"})
    path = "/confirmations/" + g.question(s)["confirmation_request_id"]
    for prefix in ("ls", "echo two", "echo on", "echo;", "echo $(x)", "", " "):
        g.refused(400, "validation_error", "POST", path, {"decision": "allow", "scope": "prefix", "prefix": prefix})
    g.ok("POST", path, {"decision": "allow", "scope": "prefix", "prefix": "echo one"})
    g.turn(s, turn["turn_id"])
    assert not asks_for_command(g, s, "echo one three")
    assert asks_for_command(g, s, "echo three")


def test_a_program_that_runs_others_is_no_prefix(box):
    g = box.serve()
    s = g.session()
    for command in ("env true", "sh -c true", "sudo true", "xargs true", "python3 x.py", "/usr/bin/env true"):
        turn = g.start(s, "shell", {"command": command})
        question = g.question(s)
        assert question["prefix"] is None, command
        path = "/confirmations/" + question["confirmation_request_id"]
        g.refused(400, "validation_error", "POST", path, {"decision": "allow", "scope": "prefix"})
        g.refused(400, "validation_error", "POST", path,
                  {"decision": "allow", "scope": "prefix", "prefix": command.split()[0]})
        g.answer(question, "deny")
        g.turn(s, turn["turn_id"])


def test_never_in_this_workspace_is_remembered(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    assert g.answer(g.question(s), "deny", scope="workspace")[0] == 200
    g.turn(s, turn["turn_id"])
    other = g.session()
    refused = g.call(other, "write_file", {"path": "a.txt", "content": ""})
    assert refused.error_class == "user_denied" and "remembered" in refused.text
    assert g.types(other) == ["tool.failed"]
    assert asks(g, g.session(box.make_dir("other")), "write_file", {"path": "a.txt", "content": ""})
    assert asks_for_command(g, s, "true")


def test_a_refused_prefix_holds_against_an_allowed_tool(box):
    g = box.serve()
    s = g.session()
    turn = g.start(s, "shell", {"command": "touch effect"})
    g.answer(g.question(s), "deny", scope="prefix")
    g.turn(s, turn["turn_id"])
    allow(g, s, "shell", {"command": "true"}, scope="session")
    assert not asks_for_command(g, s, "echo fine")
    assert g.call(s, "shell", {"command": "touch effect"}).error_class == "user_denied"
    assert asks_for_command(g, s, "true; touch effect")
    assert not box.exists("effect")


def test_a_remembered_answer_settles_the_other_open_questions_it_covers(box):
    g = box.serve()
    s = g.session()
    turn = g.message(s, ("write_file", {"path": "a.txt", "content": ""}),
                     ("write_file", {"path": "b.txt", "content": ""}),
                     ("shell", {"command": "true"}), wait=False)
    until(lambda: len(g.ok("GET", "/confirmations")["confirmations"]) == 3, "all three ask")
    g.answer(next(q for q in g.ok("GET", "/confirmations")["confirmations"] if q["tool_name"] == "write_file"), "allow",
             scope="session")
    left = g.ok("GET", "/confirmations")["confirmations"]
    assert [q["tool_name"] for q in left] == ["shell"]
    g.answer(left[0], "deny")
    outcome = g.turn(s, turn["turn_id"])
    assert [c["is_error"] for c in outcome["calls"]] == [False, False, True]


# The policy

def test_prompt_once_asks_once_in_a_session(box):
    box.config("tool_confirmation:\n  default: {WRITE: prompt_once}\n")
    g = box.serve()
    s = g.session()
    assert asks(g, s, "write_file", {"path": "a.txt", "content": ""})
    assert asks(g, s, "write_file", {"path": "a.txt", "content": ""}), "a no is not remembered"
    allow(g, s, "write_file", {"path": "a.txt", "content": "x"})
    assert not asks(g, s, "write_file", {"path": "b.txt", "content": ""})
    assert asks(g, s, "patch_file", {"path": "a.txt", "old": "x", "new": "y"})
    assert asks(g, g.session(), "write_file", {"path": "b.txt", "content": "x"})


def test_deny_emits_no_confirmation_events(box):
    box.config("tool_confirmation:\n  default: {WRITE: deny}\n")
    g = box.serve()
    s = g.session()
    refused = g.call(s, "write_file", {"path": "a.txt", "content": ""})
    assert refused.error_class == "user_denied" and "default.WRITE" in refused.text
    assert g.types(s) == ["tool.failed"]
    assert not box.exists("a.txt")


def test_10_1_13_a_trusted_workspace_lowers_the_bar(box):
    trusted = os.path.join(box.env["HOME"], "code", "project")
    os.makedirs(trusted)
    box.config("tool_confirmation:\n"
               "  trusted_workspaces:\n    - ~/code/project\n"
               "  trusted_workspace_overrides:\n    EXECUTE: prompt\n")
    g = box.serve()
    s = g.session(trusted)
    assert not asks(g, s, "write_file", {"path": "a.txt", "content": ""})
    assert asks_for_command(g, s, "true")
    assert asks(g, g.session(), "write_file", {"path": "a.txt", "content": ""})
    os.makedirs(trusted + "-other")
    assert asks(g, g.session(trusted + "-other"), "write_file", {"path": "a.txt", "content": ""})


def test_a_wrong_policy_file_ends_the_start_and_names_file_line_and_key(box):
    for text, line, key in (
            ("tool_confirmation:\n  default:\n    WRITE: maybe\n", 3, "tool_confirmation.default.WRITE"),
            ("tool_confirmation:\n  default:\n    write: auto\n", 3, "tool_confirmation.default.write"),
            ("tool_confirmation:\n\n  per_tol: {shell: auto}\n", 3, "tool_confirmation.per_tol"),
            ("tool_confirmation:\n  per_tool: [shell]\n", 2, "tool_confirmation.per_tool"),
            ("tool_confirmation:\n  confirmation_timeout_seconds: soon\n", 2, "confirmation_timeout_seconds"),
            ("tool_confirmation:\n  confirmation_timeout_seconds: 0\n", 2, "confirmation_timeout_seconds"),
            ("tool_confirmation:\n  trusted_workspaces: [~bob/x]\n", 2, "trusted_workspaces[0]"),
            ("tool_confirmation:\n  default: {}\n  default: {}\n", 3, "default"),
            ("# a note\ntool_confirmatio: {}\n", 2, "tool_confirmatio"),
            ("tool_confirmation: {\n", 2, "")):
        box.config(text)
        ended = box.run("serve", "--listen", "127.0.0.1:0", limit=20)
        assert ended.returncode == 3, (text, ended)
        file = os.path.join(box.env["XDG_CONFIG_HOME"], "holdfast", "config.yaml")
        assert file in ended.stderr and "line %d" % line in ended.stderr and key in ended.stderr, (text, ended.stderr)


# Restarts

def test_answers_for_a_workspace_survive_a_restart(box):
    g = box.serve()
    s = g.session()
    allow(g, s, "write_file", {"path": "a.txt", "content": ""}, scope="workspace")
    allow(g, s, "shell", {"command": "echo one"}, scope="workspace_prefix")
    g.kill()
    g = box.serve()
    s = g.session()
    assert not asks(g, s, "write_file", {"path": "b.txt", "content": ""})
    assert not asks_for_command(g, s, "echo two")
    assert asks_for_command(g, s, "echo two; true")
    assert asks(g, g.session(box.make_dir("other")), "write_file", {"path": "b.txt", "content": ""})


def test_open_questions_end_with_the_gateway_and_without_an_effect(box):
    for end in ("kill", "stop"):
        g = box.serve()
        s = g.session()
        write(g, s)
        question = g.question(s)
        getattr(g, end)()
        g = box.serve()
        assert g.ok("GET", "/confirmations")["confirmations"] == []
        assert g.answer(question, "allow")[0] == 404
        g.refused(404, "confirmation_not_found", "POST", "/confirmations/" + question["confirmation_request_id"],
                  {"decision": "allow"})
        assert not box.exists("a.txt")
        g.stop()


# Who may answer

def test_a_tool_call_cannot_approve_what_an_agent_asked_for(box):
    box.config(SHELL_ONLY_AUTO)
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    id = g.question(s)["confirmation_request_id"]
    for command in ("%s approve %s" % (box.program, id),
                    "%s approve --workspace" % box.program,
                    "(setsid sh -c '%s approve %s > detached 2>&1 < /dev/null; touch done' & )\n"
                    "until [ -e done ]; do sleep 0.1; done; cat detached" % (box.program, id)):
        tried = g.call(s, "shell", {"command": "XDG_RUNTIME_DIR=%s; export XDG_RUNTIME_DIR; %s"
                                    % (box.env["XDG_RUNTIME_DIR"], command)})
        assert "a tool call cannot answer questions" in tried.text, tried.text
        assert g.question(s)["confirmation_request_id"] == id
    assert not box.exists("a.txt") and g.ok("GET", "/grants")["grants"] == []
    g.answer(g.question(s), "allow")
    assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False


def test_a_tool_call_gets_403_on_the_socket_whatever_it_answers(box):
    box.config(SHELL_ONLY_AUTO)
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    id = g.question(s)["confirmation_request_id"]
    box.write("ask.py", """
import json, os, socket, sys
def send(method, path, body):
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(%r)
    text = json.dumps(body)
    head = ("%%s %%s HTTP/1.1", "Host: x", "Connection: close", "Content-Type: application/json", "Content-Length: %%d", "", "%%s")
    wire.sendall(("\\r\\n".join(head) %% (method, path, len(text), text)).encode())
    return wire.makefile("rb").read().split(b" ")[1].decode()
for method, path in json.load(open("paths.json")):
    print(path, send(method, path, {"decision": "allow"}))
""" % os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"))
    paths = [("POST", "/confirmations/" + id), ("POST", "/confirmations/" + id[-8:]),
             ("POST", "/sessions/%s/turns/%s/confirmations/%s" % (s, turn["turn_id"], id)),
             ("DELETE", "/grants/grant_x"), ("POST", "/stop")]
    box.write("paths.json", json.dumps(paths))
    tried = g.call(s, "shell", {"command": "python3 ask.py"})
    assert [line.split()[-1] for line in tried.text.splitlines()[3:]] == ["403"] * len(paths), tried.text
    assert g.question(s)["confirmation_request_id"] == id
    assert not box.exists("a.txt") and g.alive()


def test_a_tool_call_that_watches_is_no_person(box):
    box.config(SHELL_ONLY_AUTO)
    g = box.serve()
    s = g.session()
    box.write("listen.py", """
import socket
wire = socket.socket(socket.AF_UNIX)
wire.connect(%r)
wire.sendall(b"GET /events?watch=1 HTTP/1.1\\r\\nHost: x\\r\\nAccept: text/event-stream\\r\\n\\r\\n")
assert b"200 OK" in wire.recv(100)
open("seen", "w").close()
wire.recv(100000)
""" % os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"))
    command = "python3 listen.py; sleep 60"
    turn = g.start(s, "shell", {"command": command})
    until(lambda: box.exists("seen"), "the tool call listens")
    assert g.ok("GET", "/status")["watchers"] == 0
    assert g.call(s, "write_file", {"path": "a.txt", "content": ""}, attended=False).is_error
    g.ok("POST", "/sessions/%s/cancel" % s, {})
    g.turn(s, turn["turn_id"])


def test_2_a_tool_call_that_read_the_token_cannot_approve_over_tcp(box):
    """By descent here too: also from a process that has left its session, and from one that hangs up at once."""
    box.config(SHELL_ONLY_AUTO)
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    id = g.question(s)["confirmation_request_id"]
    box.write("ask.py", """
import socket, struct, sys
token = open(%r).read().strip()
def connect():
    wire = socket.create_connection(("127.0.0.1", %d))
    body = '{"decision":"allow"}'
    wire.sendall(("POST /confirmations/%s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nAuthorization: Bearer " + token +
                  "\\r\\nContent-Type: application/json\\r\\nContent-Length: 20\\r\\n\\r\\n" + body).encode())
    return wire
if sys.argv[1] == "wait":
    print(connect().recv(100).split(b" ")[1].decode())
elif sys.argv[1] == "close":
    for _ in range(20):
        connect().close()
elif sys.argv[1] == "reset":
    for _ in range(20):
        wire = connect()
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
""" % (os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "token"), g.port, id, g.port))
    for command in ("python3 ask.py wait", "setsid --wait python3 ask.py wait"):
        assert "403" in g.call(s, "shell", {"command": command}).text
    for command in ("python3 ask.py close", "python3 ask.py reset"):
        g.call(s, "shell", {"command": command})
    assert g.question(s)["confirmation_request_id"] == id
    assert not box.exists("a.txt")
    assert g.answer(g.question(s), "allow")[0] == 200  # a person can
    assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False


def test_trusted_workspaces_must_not_depend_on_where_one_stands(box):
    box.config("tool_confirmation:\n  trusted_workspaces:\n    - .\n")
    tried = box.run("call", "list_dir", "{}")
    assert tried.returncode != 0 and "line 3" in tried.stderr and "trusted_workspaces" in tried.stderr, tried.stderr


def test_a_policy_for_a_tool_that_is_not_there_is_told(box):
    box.config("tool_confirmation:\n  per_tool:\n    shel: deny\n")
    g = box.serve()
    assert "shel" in g.log() and "no such tool" in g.log(), g.log()
