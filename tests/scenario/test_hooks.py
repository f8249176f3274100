"""Hooks: programs of the configuration that look at calls, and what they may do to them. The way of a call as it is printed."""
import ctypes
import itertools
import json
import os

from lib import Skip, processes_with, until

numbers = itertools.count(1)

STAGES = ["record", "admit", "resolve", "hooks", "args", "scope", "replay", "policy", "confirm", "slot", "dispatch", "result"]


def mark():
    """A length of sleep nobody else sleeps."""
    return "11%05d.%d" % (next(numbers), os.getpid())


def program(box, name, text):
    """A hook of the user's own, outside the workspace."""
    path = os.path.join(box.make_dir("home/hooks"), name)
    with open(path, "w") as out:
        out.write(text if text.startswith("#!") else "#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def answer(**said):
    """A program that says so, in Claude Code's words."""
    return "cat >/dev/null; echo '%s'" % json.dumps({"hookSpecificOutput": said})


def config(box, pre=(), post=(), more=""):
    box.config(json.dumps({"hooks": {"PreToolUse": list(pre), "PostToolUse": list(post)},
                           **({"tool_confirmation": {"default": {"WRITE": "auto"}}} if more == "auto" else {})}))


def hooked(g, session):
    return [e["payload"] for e in g.events(session) if e["type"] == "tool.hooked"]


# What a program is told

def test_6_a_hook_is_told_of_the_call_in_claude_codes_words(box):
    box.write("a.txt", "hello\n")
    config(box, pre=[{"command": "cat >pre.json; env >env.txt; pwd >cwd.txt"}], post=[{"matcher": "read_file", "command": "cat >post.json"}])
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", {"path": "a.txt"})
    assert result.text == "hello\n" and not result.is_error
    told = json.loads(box.read("pre.json"))
    assert told == {"session_id": s, "cwd": box.workspace, "hook_event_name": "PreToolUse", "tool_name": "read_file",
                    "tool_input": {"path": "a.txt"}, "tool_use_id": result.block["tool_use_id"]}
    told = json.loads(box.read("post.json"))
    assert told["hook_event_name"] == "PostToolUse"
    assert told["tool_response"] == {"content": [{"type": "text", "text": "hello\n"}], "is_error": False}
    assert box.read("cwd.txt").strip() == box.workspace
    env = dict(line.split("=", 1) for line in box.read("env.txt").splitlines() if "=" in line)
    assert env["HOLDFAST_TOOL"] == "read_file" and env["HOLDFAST_SESSION"] == s
    assert env["CLAUDE_PROJECT_DIR"] == env["HOLDFAST_WORKSPACE"] == box.workspace
    assert "HOLDFAST_TOKEN" not in env and not any("SECRET" in name for name in env)
    assert hooked(g, s) == []  # who only looks is not told of


# Blocking

def test_6_exit_2_blocks_with_the_reason(box):
    config(box, pre=[{"matcher": "write_file|patch_file", "command": "echo 'not in this house' >&2; exit 2"}], more="auto")
    g = box.serve()
    s = g.session()
    result = g.call(s, "write_file", {"path": "a.txt", "content": "x"})
    assert result.is_error and result.error_class == "permission_denied"
    assert result.text == "aborted by hook: not in this house"
    assert not box.exists("a.txt")
    assert [(h["outcome"], h["exit"], h["event"]) for h in hooked(g, s)] == [("blocked", 2, "PreToolUse")]
    assert "tool.called" not in g.types(s)
    # Another tool is not meant.
    assert not g.call(s, "list_dir", {"path": "."}).is_error


def test_6_deny_and_block_in_json(box):
    rows = [answer(permissionDecision="deny", permissionDecisionReason="no"),
            "echo '%s'" % json.dumps({"decision": "block", "reason": "no"}),
            "echo '%s'" % json.dumps({"continue": False, "stopReason": "no"})]
    for row in rows:
        config(box, pre=[{"command": row}])
        g = box.serve()
        result = g.call(g.session(), "list_dir", {"path": "."})
        assert result.is_error and result.text == "aborted by hook: no", (row, result.text)
        g.stop()


def test_6_allow_makes_nothing_milder_and_ask_asks(box):
    config(box, pre=[{"matcher": "write_file", "command": answer(permissionDecision="allow")},
                     {"matcher": "list_dir", "command": answer(permissionDecision="ask", permissionDecisionReason="look at it")}])
    g = box.serve()
    s = g.session()
    turn = g.start(s, "write_file", {"path": "a.txt", "content": "x"})
    assert g.answer(g.question(s), "deny")[0] == 200
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"
    turn = g.start(s, "list_dir", {"path": "."})
    question = g.question(s)
    assert question["tool_name"] == "list_dir" and "look at it" in question["rule"], question
    assert g.answer(question, "allow")[0] == 200
    assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False


# Changing

def test_6_an_approval_covers_the_arguments_as_they_were_changed(box):
    path = program(box, "rewrite", """#!/usr/bin/env python3
import json, sys
call = json.load(sys.stdin)
call["tool_input"]["content"] = call["tool_input"]["content"].upper()
json.dump({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": call["tool_input"]}}, sys.stdout)
""")
    config(box, pre=[{"matcher": "write_file", "hooks": [{"type": "command", "command": [path], "timeout": 30}]}])
    g = box.serve()
    s = g.session()
    turn = g.start(s, "write_file", {"path": "a.txt", "content": "quiet\n"})
    question = g.question(s)
    assert "+QUIET" in question["diff"] and "quiet" not in question["diff"]
    assert json.loads(json.dumps(question["input"])) == {"path": "a.txt", "content": "QUIET\n"}
    assert g.answer(question, "allow")[0] == 200
    turn = g.turn(s, turn["turn_id"])
    assert box.read("a.txt") == "QUIET\n"
    called = [e["payload"] for e in g.events(s) if e["type"] == "tool.called"][0]
    row = g.ok("GET", "/calls/" + turn["calls"][0]["call_id"])
    assert row["input"] == {"path": "a.txt", "content": "QUIET\n"} and row["input_hash"] == called["input_hash"]
    assert [h["outcome"] for h in hooked(g, s)] == ["changed"]


def test_6_changed_arguments_are_checked_like_any(box):
    config(box, pre=[{"matcher": "read_file", "command": answer(updatedInput={"path": 7})},
                     {"matcher": "write_file", "command": answer(updatedInput={"path": "../out.txt", "content": "x"})}], more="auto")
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", {"path": "a.txt"})
    assert result.error_class == "validation_error" and "/path: must be a string" in result.text
    result = g.call(s, "write_file", {"path": "in.txt", "content": "x"})
    assert result.error_class == "permission_denied" and "escapes workspace boundary" in result.text
    assert not os.path.exists(os.path.join(box.dir, "out.txt")) and not box.exists("in.txt")


def test_6_results_are_changed_and_lose_their_secrets(box):
    box.write("a.txt", "plain\n")
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    config(box, post=[{"matcher": "read_file", "command": answer(additionalContext="mind the gap")},
                      {"matcher": "read_file", "command": answer(updatedToolOutput="changed " + key)},
                      {"matcher": "list_dir", "command": "echo 'too long a list' >&2; exit 2"}])
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", {"path": "a.txt"})  # the last of the file runs first
    assert not result.is_error
    assert result.text == "changed [REDACTED-SECRET]\nmind the gap", result.text
    result = g.call(s, "list_dir", {"path": "."})
    assert result.is_error and "a.txt" in result.text and result.text.endswith("too long a list")
    assert [h["outcome"] for h in hooked(g, s)] == ["changed", "blocked"]


# Failing

def test_6_a_hook_that_fails_blocks_what_it_should_have_looked_at(box):
    m = mark()
    rows = {
        "timeout": ({"command": "sleep " + m, "timeout_seconds": 1}, "it did not end within 1 second"),
        "crash": ({"command": "kill -SEGV $$"}, "it was ended by SIGSEGV"),
        "exit": ({"command": "echo 'cannot open the list' >&2; exit 1"}, "it ended with 1: cannot open the list"),
        "garbage": ({"command": "echo '{\"decision\": '"}, "its answer is not JSON"),
        "odd word": ({"command": "echo '{\"decision\": \"maybe\"}'"}, "its decision is neither block nor approve"),
        "odd input": ({"command": answer(updatedInput="x")}, "its updatedInput is no object"),
        "huge": ({"command": "yes '{' | head -c 8000000"}, "it wrote more than 1048576 bytes"),
        "missing": ({"command": ["/nonexistent/hook"]}, "it could not be run"),
    }
    for name, (hook, problem) in rows.items():
        config(box, pre=[hook])
        g = box.serve()
        s = g.session()
        result = g.call(s, "list_dir", {"path": "."})
        assert result.is_error and result.error_class == "permission_denied", (name, result.text)
        assert problem in result.text and "so the call is not made" in result.text, (name, result.text)
        assert [h["outcome"] for h in hooked(g, s)] == ["failed"], name
        g.stop()
    assert not processes_with(m)


def test_6_one_that_may_fail_lets_the_call_go_on(box):
    box.write("a.txt", "hello\n")
    config(box, pre=[{"command": "exit 7", "on_error": "continue"}], post=[{"command": "exit 7"}, {"command": "kill -9 $$"}])
    g = box.serve()
    s = g.session()
    result = g.call(s, "read_file", {"path": "a.txt"})
    assert result.text == "hello\n" and not result.is_error
    assert [(h["event"], h["outcome"], h.get("exit")) for h in hooked(g, s)] == [
        ("PreToolUse", "failed", 7), ("PostToolUse", "failed", None), ("PostToolUse", "failed", 7)]


def test_6_words_for_people_and_an_unread_call_are_no_failures(box):
    config(box, pre=[{"command": "echo checked"}, {"command": "exit 0"}, {"command": "exec 0<&-; true"}], more="auto")
    g = box.serve()
    s = g.session()
    result = g.call(s, "write_file", {"path": "a.txt", "content": "x" * 3000000})  # more than a pipe holds
    assert not result.is_error, result.text
    assert hooked(g, s) == []


def test_6_a_cancel_ends_the_hook(box):
    m = mark()
    config(box, pre=[{"command": "sleep %s & sleep %s; true" % (m, m), "timeout_seconds": 600}])
    g = box.serve()
    s = g.session()
    turn = g.start(s, "list_dir", {"path": "."})
    until(lambda: len(processes_with("sleep\0" + m)) == 2, "the hook runs")
    assert g.ok("GET", "/status")["calls"]["hooking"] == 1
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]))
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"
    until(lambda: not processes_with(m), "nothing of the hook is left")
    assert g.ok("GET", "/status")["calls"]["hooking"] == 0


def test_6_a_cancel_while_a_result_is_looked_at_keeps_the_result(box):
    m = mark()
    box.write("a.txt", "hello\n")
    config(box, post=[{"command": "sleep " + m, "timeout_seconds": 600}])
    g = box.serve()
    s = g.session()
    turn = g.start(s, "read_file", {"path": "a.txt"})
    until(lambda: processes_with("sleep\0" + m), "the hook runs")
    g.ok("POST", "/sessions/%s/cancel" % s)
    turn = g.turn(s, turn["turn_id"])
    assert turn["calls"][0]["is_error"] is False and turn["content"][0]["content"][0]["text"] == "hello\n"
    until(lambda: not processes_with(m), "nothing of the hook is left")


def test_6_what_a_hook_leaves_running_ends_with_it(box):
    m = mark()
    config(box, pre=[{"command": "sleep %s & true" % m}], post=[{"command": "setsid sleep %s & true" % m}])
    g = box.serve()
    result = g.call(g.session(), "list_dir", {"path": "."})
    assert not result.is_error, result.text
    until(lambda: not processes_with(m), "nothing of the hooks is left")


def test_6_bytes_that_are_no_text_are_a_reason_like_any(box):
    config(box, pre=[{"command": r"printf 'no \377\000\033[2J way' >&2; exit 2"}])
    g = box.serve()
    s = g.session()
    result = g.call(s, "list_dir", {"path": "."})
    assert result.is_error and result.text.startswith("aborted by hook: no "), result.text
    assert [h["outcome"] for h in hooked(g, s)] == ["blocked"]


def test_6_a_gateway_stops_while_hooks_run(box):
    m = mark()
    config(box, pre=[{"command": "sleep " + m, "timeout_seconds": 600}])
    g = box.serve()
    s = g.session()
    for _ in range(3):
        g.start(s, "list_dir", {"path": "."})
    until(lambda: len(processes_with("sleep\0" + m)) == 3, "the hooks run")
    g.stop()
    assert not processes_with(m)


# The file

def test_6_what_is_wrong_with_a_hook_is_told_with_its_line(box):
    rows = {
        "hooks: {PreToolUse: [{matcher: x}]}": "hooks.PreToolUse[0]: a hook has a command",
        "hooks:\n  PreToolUse:\n    - command: x\n      matcher: 'Notebook.*'": "line 4: hooks.PreToolUse[0].matcher: must be names",
        "hooks: {PreToolUse: [{command: x, timeout_seconds: 601}]}": "must be a whole number of seconds from 1 to 600",
        "hooks: {PreToolUse: [{command: ''}]}": "must be a command",
        "hooks: {PreToolUse: [{command: [1]}]}": "must be a command",
        "hooks: {PreToolUse: [{command: x, on_error: ignore}]}": "must be block or continue",
        "hooks: {PreToolUse: [{command: x, comand: y}]}": "no such key 'comand'",
        "hooks: {PreTool: []}": "hooks.PreTool: there is no such key",
        "hooks: {PreToolUse: [{hooks: [{type: prompt, command: x}]}]}": "hooks.PreToolUse[0].hooks[0].type: must be command",
        "hooks: {PreToolUse: {command: x}}": "must be a list",
        "hooks: []": "hooks: must be a mapping",
    }
    for text, says in rows.items():
        box.config(text + "\n")
        done = box.run("config", "check")
        assert done.returncode == 1 and says in done.stdout + done.stderr, (text, done.stdout, done.stderr)
    box.config("hooks: {Stop: [{hooks: [{type: command, command: x}]}], PreToolUse: [{command: ./here}]}\n")
    done = box.run("config", "check")
    assert done.returncode == 0, done.stderr
    assert "hooks.Stop: has no effect here" in done.stdout + done.stderr
    assert "where tools may write" in done.stdout + done.stderr


def test_6_a_reload_replaces_the_hooks(box):
    config(box, pre=[{"command": "exit 2"}])
    g = box.serve()
    s = g.session()
    assert g.call(s, "list_dir", {"path": "."}).is_error
    config(box)
    until(lambda: g.ok("GET", "/pipeline")["hooks"] == [], "the hooks are gone")
    assert not g.call(s, "list_dir", {"path": "."}).is_error


# The way of a call

def test_6_the_pipeline_is_printed_as_calls_walk_it(box):
    box.write("a.txt", "hello\n")
    config(box, pre=[{"matcher": "read_file", "command": "printf 'tool ' >>trace"}, {"command": "printf 'all ' >>trace"}],
           post=[{"matcher": "read_*", "command": "printf 'tool ' >>trace"}, {"command": "printf 'all ' >>trace"}])
    g = box.serve()
    s = g.session()
    for _ in range(2):
        assert not g.call(s, "read_file", {"path": "a.txt"}).is_error
    assert box.read("trace") == "all tool tool all " * 2, box.read("trace")
    assert g.call(s, "read_file", {"path": 7}).is_error  # goes as far as args
    done = box.run("pipeline", "--json")
    printed = json.loads(done.stdout)
    assert printed == {**g.ok("GET", "/pipeline")}
    assert [stage["name"] for stage in printed["stages"]] == STAGES
    assert all(stage["by"] == "holdfast" and stage["sentence"] for stage in printed["stages"])
    entries = {stage["name"]: stage["entries"] for stage in printed["stages"]}
    assert [entries[name] for name in STAGES] == [3] * 5 + [2] * 7, entries
    times = {stage["name"]: (stage["total_us"], stage["max_us"]) for stage in printed["stages"]}
    assert all(most <= total for total, most in times.values())
    assert times["hooks"][0] > times["policy"][0]  # three programs were waited for there
    assert [(h["event"], h["matcher"], h["by"]) for h in printed["hooks"]] == [
        ("PreToolUse", "*", "config"), ("PreToolUse", "read_file", "config"),
        ("PostToolUse", "read_*", "config"), ("PostToolUse", "*", "config")]
    done = box.run("pipeline")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(STAGES)]] == STAGES
    unit = {"us": 1, "ms": 1e3, "s": 1e6}
    for words in (line.split() for line in lines[1 : 1 + len(STAGES)]):
        assert float(words[2]) * unit[words[3]] <= float(words[4]) * unit[words[5]], words  # each, most
    assert "PreToolUse   *: printf 'all ' >>trace (config)" in lines


def test_6_a_hook_reaches_the_workspace_and_nothing_of_ours(box):
    if ctypes.CDLL(None).syscall(444, None, 0, 1) < 1:  # landlock_create_ruleset: which version?
        raise Skip("this kernel has no Landlock")
    outside = os.path.join(box.env["HOME"], "private.txt")
    with open(outside, "w") as out:
        out.write("private\n")
    config(box, pre=[{"command": "cat \"$HOME\"/private.txt \"$XDG_CONFIG_HOME\"/holdfast/config.yaml >got.txt; true"}])
    g = box.serve()
    assert not g.call(g.session(), "list_dir", {"path": "."}).is_error
    assert box.read("got.txt") == ""


def test_5_what_a_hook_took_is_in_the_time_of_every_call(box):
    """In a rush not every call is timed step by step; what it waits is."""
    box.config(json.dumps({"hooks": {"PostToolUse": [{"matcher": "read_file", "command": "sleep 1"}]}}))
    g = box.serve()
    sessions = [g.session() for _ in range(5)]
    for k in range(4):
        box.write("%d.txt" % k, "hi")
    for s in sessions:
        g.message(s, *[("read_file", {"path": "%d.txt" % k}) for k in range(4)], wait=False)

    def done():
        return [e["payload"]["latency_ms"] for s in sessions for e in g.events(s) if e["type"] == "tool.completed"]
    until(lambda: len(done()) == 20, "all are over")
    assert min(done()) >= 1000, done()
    stages = {s["name"]: s for s in g.ok("GET", "/pipeline")["stages"]}
    assert stages["hooks"]["total_us"] >= 20 * 1000000, stages["hooks"]
